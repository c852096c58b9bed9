// Classes, containers and exceptions of C++.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

class Shape {
public:
    explicit Shape(std::string name) : name(std::move(name)) {}
    virtual ~Shape() = default;
    virtual double area() const = 0;
    std::string name;
};

class Square : public Shape {
public:
    explicit Square(double side) : Shape("square"), side(side) {
        if (side < 0)
            throw std::invalid_argument("negative side"); // @throw
    }
    double area() const override {
        return side * side; // @area
    }

private:
    double side;
};

namespace geometry {
double total(const std::vector<std::unique_ptr<Shape>> &shapes, int = 0) {
    double sum = 0;
    for (const auto &shape : shapes)
        sum += shape->area();
    return sum; // @total
}
} // namespace geometry

template <typename T> T doubled(T value) {
    return value + value; // @doubled
}

int main() {
    std::vector<int> sides{2, 3, -1};
    std::string title = "shapes";
    std::map<std::string, int> seen{{"good", 0}, {"bad", 0}};
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int side : sides) {
        try {
            try {
                shapes.push_back(std::make_unique<Square>(side)); // @make
            } catch (...) {
                throw; // @again: the same one, no other stop
            }
            seen["good"]++;
        } catch (const std::invalid_argument &error) {
            seen["bad"]++; // @caught
            std::printf("%s: %s\n", title.c_str(), error.what());
        }
    }
    double area = (doubled(geometry::total(shapes)) + doubled(0)) / 2;
    std::unordered_map<int, std::string> words{{7, "seven"}};
    int &second = sides[1];
    Shape *first = shapes[0].get();
    auto times = [&](int number) { return number * second; };
    std::printf("%zu of area %g, %d bad\n", shapes.size(), area, seen["bad"]); // @print
    return times(0) + (first == nullptr) + (words.size() != 1);
}
