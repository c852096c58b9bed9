/* A value that changes in several functions, and a text to look at in memory. */
#include <stdio.h>

static int balance = 100;
static char note[16] = "paid";

void pay(int amount) {
    balance -= amount; // @pay
}

int main(void) {
    int total = 0;
    for (int i = 1; i <= 4; i++) { // @start
        pay(i * 10);
        total += balance; // @add
    }
    printf("%d %d %s\n", balance, total, note); // @print
    return 0;
}
