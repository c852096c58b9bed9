// Whatever is called in here leaves a trace: a line in the file that the environment names.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static void trace(const char *what)
{
    std::FILE *file = std::fopen(std::getenv("TRACE"), "a");
    std::fprintf(file, "%s\n", what);
    std::fclose(file);
}

struct Loud {
    int n;
    int operator[](int index) { trace("[]"); return n + index; }
    int operator+(int other) { trace("+"); return n + other; }
    bool operator==(int other) { trace("=="); return n == other; }
    int operator*() { trace("*"); return n; }
    Loud *operator&() { trace("&"); return this; }
    Loud *operator->() { trace("->"); return this; }
    int operator-() { trace("-"); return -n; }
    bool operator!() { trace("!"); return !n; }
    operator long() { trace("long"); return n; }
};

struct Shout : std::runtime_error {
    using std::runtime_error::runtime_error;
    const char *what() const noexcept override { trace("what"); return "shout"; }
};

struct Node { int value; Node *next; };

namespace inner { int depth = 3; }

int total = 5;
#define RESET (total = 0)
#define EVIL $_shell("touch " SHELL_TRACE)
#define SETS ($ocdb_set = 5)
#define short EVIL
#define MORE (total + 1)
#define PLACE items[index].value
#define total total

int touched() { trace("touched"); return 1; } // @touched

int main()
{
    Loud loud{4};
    long used = loud[1] + (loud + 1) + (loud == 1) + *loud + (&loud)->n + loud->n + -loud + !loud + (long)loud;
    Node last{2, nullptr}, first{1, &last};
    Node *p = &first;
    Node items[3] = {{10, p}, {20, p}, {30, p}};
    std::vector<int> numbers{7, 8, 9};
    std::unique_ptr<Node> own(new Node{6, nullptr});
    std::string text = "hello";
    int index = 2;
    used += touched() + items[index].value + p->value + (long)numbers.size() + own->value + (long)text.size();
    used += inner::depth;
    std::remove(std::getenv("TRACE"));
    std::printf("%d %ld\n", total, used); // @stop
    try {
        throw Shout("shout"); // @throw
    } catch (const std::exception &) {
        RESET;
    }
    return 0;
}
