/* Containers before they have a value: any size, and pointers that lead anywhere; and a list that breaks off. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

template <class T> T &wild(int byte) {
    static T kept; // so that all of the class is described
    (void)kept;
    auto *memory = std::malloc(sizeof(T));
    std::memset(memory, byte, sizeof(T));
    return *static_cast<T *>(memory);
}

struct Vector {
    int *start, *end, *room;
};

int main() {
    auto &list = wild<std::list<int>>(0x41);
    auto &map = wild<std::map<int, int>>(0x41);
    auto &set = wild<std::set<int>>(0x41);
    auto &hashed = wild<std::unordered_map<int, int>>(0x41);
    auto &queue = wild<std::deque<int>>(0x41);
    auto &vector = wild<std::vector<int>>(0);
    reinterpret_cast<Vector &>(vector).end = reinterpret_cast<int *>(0x7ffffffffff0);
    auto &pointer = wild<std::shared_ptr<int>>(0x41);
    std::list<int> broken{1, 2, 3, 4};
    reinterpret_cast<void **>(&*std::next(broken.begin()))[-2] = reinterpret_cast<void *>(0x4141414141414140);
    std::list<int> chain(200000, 7);
    const void *all[] = {&list, &map, &set, &hashed, &queue, &pointer};
    std::printf("%zu\n", sizeof all); // @stop
    std::_Exit(0);
}
