// A library for programs in Python: counts up.

static long total;

long add(long number) {
    total += number; // @add
    return total;
}
