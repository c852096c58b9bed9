/* Weighs orders; the second one has no items, which nobody noticed. */
#include <stdio.h>

struct item {
    const char *name;
    int weight;
};

struct order {
    int id;
    int count;
    struct item *items;
};

static int weigh(const struct item *item, int rounds) {
    int twice = rounds * 2;
    return item->weight * twice; // @crash
}

static int total(const struct order *order) {
    int sum = 0;
    for (int i = 0; i < order->count; i++) {
        const struct item *item = order->items ? &order->items[i] : NULL;
        sum += weigh(item, i + 1); // @caller
    }
    return sum; // @total
}

int main(void) {
    struct item goods[2] = {{"bolt", 3}, {"nut", 4}};
    struct order orders[2] = {{7, 2, goods}, {8, 1, NULL}};
    for (int i = 0; i < 2; i++) {
        printf("order %d\n", orders[i].id);
        fflush(stdout);
        int weight = total(&orders[i]); // @main
        printf("order %d weighs %d\n", orders[i].id, weight);
    }
    return 0;
}
