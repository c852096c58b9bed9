/* Functions that do not come back when a debugger calls them, signals that mean nothing bad, and others that do. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned turns;
static volatile sig_atomic_t heard;
static int huge[500000];

int twice(int n) {
    int result = 2 * n; // @twice
    return result;
}

int forever(void) {
    for (;;)
        turns++; // @turn
}

int fall(void) {
    int *volatile nowhere = NULL;
    return *nowhere;
}

static void on_signal(int number) {
    heard = number;
}

static int deeper(int depth) {
    char room[1000];
    memset(room, depth, sizeof room);
    return depth < 0 ? 0 : deeper(depth + 1) + room[0]; // @deeper
}

int main(int argc, char **argv) {
    const char *wish = argc > 1 ? argv[1] : "";
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    huge[400000] = 4;
    int sum = 0; // @start
    for (int i = 1; i <= 10; i++) {
        sum += twice(i); // @call
    }
    printf("sum %d, heard %d\n", sum, heard == SIGUSR1); // @print
    fflush(stdout);
    if (!strcmp(wish, "abort"))
        abort(); // @abort
    if (!strcmp(wish, "forever"))
        forever();
    if (!strcmp(wish, "deeper"))
        deeper(0);
    if (!strcmp(wish, "wild")) {
        int *volatile wild = (int *)0x4141414141414141;
        raise(SIGTRAP);
        return *wild; // @wild
    }
    return 0; // @end
}
