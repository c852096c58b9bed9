/* Writes what it was told, what it was given and every byte there is, exactly. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
    char folder[4096];
    for (int i = 1; i < argc; i++)
        printf("argument [%s]\n", argv[i]);
    printf("folder [%s]\n", getcwd(folder, sizeof folder) ? folder : "?");
    for (char **each = environ; *each; each++)
        printf("environment [%s]\n", *each);
    fflush(stdout);
    unsigned char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    write(2, bytes, 256);
    write(1, "tab\tcr\r\nno end", 14);
    return 0;
}
