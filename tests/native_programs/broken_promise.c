/* Ends by an assertion that does not hold. */
#include <assert.h>

static void check(int answer) {
    assert(answer == 42); // @assert
}

int main(void) {
    int answer = 41;
    check(answer); // @call
    return 0;
}
