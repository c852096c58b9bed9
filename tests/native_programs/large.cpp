/* Containers that are too large to be looked at as a whole, texts that are too long, and pointers that go round. */
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

struct Node {
    int value;
    Node *next;
};

int main() {
    std::vector<int> numbers(3000000);
    std::vector<bool> bits(1000000);
    std::deque<int> queue(1000000);
    std::list<int> chain;
    std::set<int> unique;
    std::map<int, int> squares;
    std::unordered_map<int, int> hashed;
    for (int i = 0; i < 3000; i++) {
        chain.push_back(i);
        unique.insert(i);
        squares[i] = i * 2;
        hashed[i] = i * 3;
    }
    for (int i = 0; i < 1000000; i++)
        queue[i] = numbers[i] = i;
    bits[999999] = true;
    std::string text(300000, 'x');
    text[1] = 'y';
    Node one{1, nullptr}, two{2, &one};
    one.next = &two;
    std::printf("%d %d\n", numbers[2999999], one.next->value); // @stop
}
