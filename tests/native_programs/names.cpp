// Functions whose names take more than a word.
#include <cstdio>

int f(int x)
{
    return x + 1; // @int
}

int f(double x)
{
    return (int) x + 2; // @double
}

template <typename T> T twice(T x)
{
    return x + x; // @twice
}

namespace geo {
struct Sq {
    int side;
    int area(int times) const
    {
        return side * side * times; // @area
    }
    bool operator==(int other) const
    {
        return side == other; // @equal
    }
};
} // namespace geo

// As Go names its functions.
int add(int a, int b) asm("main.add");
int add(int a, int b)
{
    return a + b; // @add
}

int main()
{
    geo::Sq sq{3};
    int sum = f(1) + f(2.0) + twice(3) + (int) twice(1.5) + sq.area(2) + (sq == 3) + add(1, 2); // @main
    std::printf("%d\n", sum);
}
