/* What the native part of the benchmark debugs: a loop of short lines with a few locals. */
#include <stdio.h>

struct order { int number; double price; const char *customer; };

static double priced(struct order *order) { return order->price * (order->number % 3 + 1); }

int main(void)
{
    double total = 0;
    int numbers[20] = {0};
    for (int number = 0; number < 1000000; number++) {
        struct order order = {number, 2.5 * (number % 4), "somebody"}; /* @here */
        numbers[number % 20] = number;
        total += priced(&order);
        if (total > 1e12)
            total = 0;
    }
    printf("%f %d\n", total, numbers[3]);
    return 0;
}
