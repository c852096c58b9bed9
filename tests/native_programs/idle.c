/* Crashes while four other threads wait for nothing. */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#define IDLE 4

static pthread_barrier_t all_there;

static void *idle(void *argument) {
    pthread_barrier_wait(&all_there);
    for (;;)
        pause();
    return argument;
}

int main(void) {
    pthread_t threads[IDLE];
    int *volatile nowhere = NULL;
    pthread_barrier_init(&all_there, NULL, IDLE + 1);
    for (int i = 0; i < IDLE; i++)
        pthread_create(&threads[i], NULL, idle, NULL);
    pthread_barrier_wait(&all_there);
    return *nowhere; // @crash
}
