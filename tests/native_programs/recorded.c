// What gdb can record, and an instruction that it cannot.
#include <stdio.h>
#include <string.h>

static int encrypted(void)
{
    __asm__ volatile("aesenc %%xmm0, %%xmm1" : : : "xmm1");
    return 1;
}

int main(int argc, char **argv)
{
    char text[40];
    int count = argc; // @start
    snprintf(text, sizeof text, "%s %d", "formatted by the C library", count);
    count += (int)strlen(text); // @formatted
    if (argc > 1)
        count += encrypted(); // @unknown
    printf("%s\n", text); // @end
    return count;
}
