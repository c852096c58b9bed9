/* Functions that a debugger may call, for better or worse. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int many[500000];
enum size { SMALL, LARGE = 4 } size;

int twice(int number) {
    number *= 2;
    return number; // @twice
}

int half(int number) { return number / 2; } // @half

int crashes(int *nowhere) {
    return *nowhere;
}

int never_returns(int number) {
    for (;;)
        number++;
    return number;
}

int sleeps(void) {
    sleep(100);
    return 1;
}

int aborts(void) {
    abort();
}

int main(int argc, char **argv) {
    int number = argc; // @first
    number = twice(number); // @second
    number += twice(20);
    number = half(number) + half(number); // @halves
    printf("%s %d\n", argc > 1 ? argv[1] : "-", number); // @print
    return number;
}
