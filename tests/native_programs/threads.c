/* Three workers that are all there before the first one works. */
#include <pthread.h>
#include <stdio.h>

#define WORKERS 3

struct job {
    int number;
    int result;
};

static pthread_barrier_t all_there;
static pthread_barrier_t all_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;

int is_odd(int number) { return number % 2; }

static int square(int number) {
    int result = number * number;
    return result; // @square
}

static void *worker(void *argument) {
    struct job *job = argument;
    pthread_barrier_wait(&all_there);
    job->result = square(job->number); // @worker
    pthread_mutex_lock(&lock);
    finished++;
    pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&all_done);
    return NULL;
}

int main(void) {
    pthread_t threads[WORKERS];
    struct job jobs[WORKERS];
    int sum = 0;
    pthread_barrier_init(&all_there, NULL, WORKERS + 1);
    pthread_barrier_init(&all_done, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = (struct job){i + 1, 0};
        pthread_create(&threads[i], NULL, worker, &jobs[i]);
    }
    pthread_barrier_wait(&all_there); // @together
    pthread_barrier_wait(&all_done);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        sum += jobs[i].result;
    }
    printf("%d finished, sum %d\n", finished, sum); // @sum
    return 0;
}
