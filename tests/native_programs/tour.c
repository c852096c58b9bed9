/* A bit of everything that plain C has: structs, arrays, a list, strings, loops, recursion. Exits with 3. */
#include <stdio.h>
#include <string.h>

enum colour { RED, GREEN = 5, BLUE };

struct point {
    int x;
    double y;
};

struct node {
    int value;
    struct node *next;
};

union word {
    unsigned int number;
    unsigned char bytes[4];
};

static int counter = 40;

int add(int a, int b) {
    int sum = a + b;
    counter++; // @add
    return sum;
}

int factorial(int n) {
    if (n <= 1)
        return 1;
    return n * factorial(n - 1);
}

int length(const struct node *list) {
    int count = 0;
    for (; list; list = list->next)
        count++;
    return count;
}

int main(int argc, char **argv) {
    struct point corner = {3, 2.5};
    struct node third = {30, NULL}, second = {20, &third}, first = {10, &second};
    int squares[6] = {0, 1, 4, 9, 16, 25};
    int big[1000];
    char greeting[32] = "hello";
    const char *text = "line one\nsaid \"two\"";
    enum colour colour = BLUE;
    union word word = {0x01020304};
    int total = 0;
    for (int i = 0; i < 1000; i++)
        big[i] = i;
    strcat(greeting, ", world");
    for (int i = 0; i < 6; i++) {
        total = add(total, squares[i]); // @loop
    }
    printf("%s: total %d, %d! = %d, list of %d\n", greeting, total, argc, factorial(argc), length(&first)); // @print
    printf("%d %g %d %d %d %s\n", colour, corner.x + corner.y, word.bytes[0], big[999], counter, text);
    return argc > 1 ? argv[1][0] - '0' : 3; // @end
}
