// People who know each other: a ring, a pair of parent and child, and one who knows himself by a reference.
#include <cstdio>

struct Person {
    int age;
    const Person *next;
    Person *first_child;
    Person &self;
};

int main() {
    Person ann{30, nullptr, nullptr, ann}, bob{40, &ann, nullptr, bob}, *who = &bob;
    ann.next = &bob;
    ann.first_child = new Person{3, &ann, nullptr, bob};
    std::printf("%d\n", who->next->next->age); // @known
    delete ann.first_child;
}
