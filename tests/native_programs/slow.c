/* Counts slowly, for a minute at most or until somebody sets `enough`. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

volatile int enough = 0;

static void rest(void) {
    struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
}

int main(void) {
    int count = 0;
    printf("ready %d\n", getpid());
    fflush(stdout);
    while (!enough && count < 12000) {
        count++; // @count
        rest();
    }
    printf("done\n");
    return enough;
}
