/* The program of the EZ protocol's flows. */
#include <stdio.h>

struct pair {
    int first; // @declared
};

static int add(int a, int b) {
    int sum = a + b; // @inside
    return sum;      // @return
}

int main(void) {
    int x = 10;                // @entry
    int y = 20;                // @second
    int answer = add(x, y);    // @call
    printf("Result: %d\n", answer); // @print
    return 0;
}
