/* Asks for lines and says them back, until there are no more. */
#include <stdio.h>
#include <string.h>

int main(void) {
    char line[256];
    int count = 0;
    for (;;) {
        printf("name? ");
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin)) // @read
            break;
        line[strcspn(line, "\n")] = 0;
        count++;
        printf("hello %s\n", line); // @said
        fflush(stdout);
    }
    fprintf(stderr, "%d lines\n", count);
    return count;
}
