/* Built as a library (-shared -DLIBRARY), and as the program that loads it when it runs. */
#ifdef LIBRARY
int triple(int n) { return 3 * n; } // @triple
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (argc < 2 || !library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*triple)(int) = (int (*)(int))dlsym(library, "triple");
    printf("%d\n", triple(14));
    return 0; // @end
}
#endif
