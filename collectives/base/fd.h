// A file descriptor that closes itself.
#pragma once
#include <unistd.h>

#include <utility>

namespace stretto::runtime {

class Fd {
public:
    Fd() = default;
    explicit Fd(int value) : value_(value) {}
    Fd(Fd &&other) noexcept : value_(std::exchange(other.value_, -1)) {}
    Fd &operator=(Fd &&other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Fd() {
        if (value_ >= 0) close(value_);
    }
    int get() const { return value_; }
    int release() { return std::exchange(value_, -1); }
    bool valid() const { return value_ >= 0; }

private:
    int value_ = -1;
};

}  // namespace stretto::runtime
