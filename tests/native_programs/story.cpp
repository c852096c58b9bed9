/* Long texts: one of C, one of C++. */
#include <cstdio>
#include <string>

int main() {
    std::string story;
    for (int i = 0; i < 700; i++)
        story += "page" + std::to_string(i % 10);
    const char *tale = story.c_str();
    std::printf("%zu\n", story.size()); // @told
    return tale[0] != 'p';
}
