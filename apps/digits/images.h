// The handwritten digits: reading, distorting, shuffling. All that is random is a function of a key, so that ranks agree.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace digits {

constexpr int side = 8, pixels = side * side, classes = 10;

struct Images {
    std::vector<float> values;    // pixels a image, row by row, 0 to 1
    std::vector<int32_t> digits;  // 0 to 9
    int64_t count() const {
        return int64_t(digits.size());
    }
    const float *image(int64_t n) const {
        return values.data() + n * pixels;
    }
};

struct Data {
    Images training, test;  // test: the last 360 of the file
};

// A file with lines of 64 pixels, 0 to 16, and a digit, with commas between. Throws std::runtime_error with the line's number.
Data read_images(const std::string &path);

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
    uint64_t state;

public:
    explicit Random(uint64_t key) : state(key) {
    }
    uint64_t next();
    float uniform(float low, float high);
    int64_t below(int64_t n);
};

// One key of several numbers.
uint64_t key_of(uint64_t seed, uint64_t a, uint64_t b = 0);

// The image turned, stretched, sheared and moved a little, as if by another writer, with noise. out: pixels floats.
void distort(const float *image, uint64_t key, float *out);

// 0 to n-1 in a random order.
std::vector<int32_t> shuffled(int64_t n, uint64_t key);

}  // namespace digits
