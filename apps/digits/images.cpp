#include "images.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace digits {

namespace {

constexpr int64_t held_out = 360;

void read_line(const std::string &line, Images &to) {
    std::istringstream in(line);
    for (int k = 0; k <= pixels; k++) {
        int value = -1, largest = k < pixels ? 16 : classes - 1;
        char comma = ',';
        if ((k > 0 && !(in >> comma)) || comma != ',' || !(in >> value) || value < 0 || value > largest)
            throw std::runtime_error("number " + std::to_string(k + 1) + " is not 0 to " + std::to_string(largest));
        if (k < pixels)
            to.values.push_back(float(value) / 16);
        else
            to.digits.push_back(value);
    }
}

}  // namespace

Data read_images(const std::string &path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (int64_t(lines.size()) <= held_out)
        throw std::runtime_error(path + ": " + std::to_string(lines.size()) +
                                 " images; the last 360 are for testing, more are needed");
    Data d;
    for (size_t n = 0; n < lines.size(); n++) {
        try {
            read_line(lines[n], n + held_out < lines.size() ? d.training : d.test);
        } catch (const std::runtime_error &e) {
            throw std::runtime_error(path + ":" + std::to_string(n + 1) + ": " + e.what());
        }
    }
    return d;
}

uint64_t Random::next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

float Random::uniform(float low, float high) {
    return low + (high - low) * (float(next() >> 40) / float(1 << 24));
}

int64_t Random::below(int64_t n) {
    return int64_t(next() % uint64_t(n));
}

uint64_t key_of(uint64_t seed, uint64_t a, uint64_t b) {
    return Random(Random(Random(seed).next() + a).next() + b).next();
}

void distort(const float *image, uint64_t key, float *out) {
    Random r(key);
    const float turn = r.uniform(-0.25f, 0.25f), wide = r.uniform(0.8f, 1.2f), high = r.uniform(0.8f, 1.2f);
    const float shear = r.uniform(-0.25f, 0.25f), right = r.uniform(-0.7f, 0.7f), down = r.uniform(-0.7f, 0.7f);
    const float cosine = std::cos(turn), sine = std::sin(turn), centre = (side - 1) / 2.0f;
    auto pixel = [&](int row, int column) {
        return row < 0 || row >= side || column < 0 || column >= side ? 0.0f : image[row * side + column];
    };
    for (int row = 0; row < side; row++) {
        for (int column = 0; column < side; column++) {
            float u = float(column) - centre, v = float(row) - centre;
            float from_u = wide * cosine * u + (shear - sine) * v + right + centre;
            float from_v = sine * u + high * cosine * v + down + centre;
            float left = std::floor(from_u), top = std::floor(from_v), fu = from_u - left, fv = from_v - top;
            int l = int(left), t = int(top);
            float value = (pixel(t, l) * (1 - fu) + pixel(t, l + 1) * fu) * (1 - fv) +
                          (pixel(t + 1, l) * (1 - fu) + pixel(t + 1, l + 1) * fu) * fv;
            // Also the pixels of the edge, white in all images, have a gradient: see leaky() of the generator.
            out[row * side + column] = value + r.uniform(-0.05f, 0.05f);
        }
    }
}

std::vector<int32_t> shuffled(int64_t n, uint64_t key) {
    std::vector<int32_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    Random r(key);
    for (int64_t i = n; i > 1; i--) std::swap(order[size_t(i - 1)], order[size_t(r.below(i))]);
    return order;
}

}  // namespace digits
