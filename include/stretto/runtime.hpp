// C++17 over <stretto/runtime.h>: communicators that free themselves, ranks as threads, row-major
// views, exceptions.
//
//     stretto::run(stretto::threads(4), [&](stretto::Communicator &c) {
//         adam(c, stretto::view(g[c.rank()], {n}), ...);
//     });
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <stretto/runtime.h>

namespace stretto {

static_assert(sizeof(halide_buffer_t) == 56 && sizeof(halide_dimension_t) == 16 && sizeof(halide_type_t) == 4,
              "Halide's layout");

// What the C interface returned, and its text.
class RuntimeError : public std::runtime_error {
public:
    RuntimeError(int status, const std::string &text) : std::runtime_error(text), status_(status) {}
    int status() const { return status_; }  // a stretto_status

private:
    int status_;
};

// Throws unless status is 0: check(adam(comm, ...)).
inline void check_status(int status) {
    if (status)
        throw RuntimeError(status,
                           std::string(stretto_status_name(status)) + ": " + stretto_last_error());
}

// One rank's handle. Converts to the C handle, so it can be passed to compiled programs.
class Communicator {
public:
    Communicator() = default;
    explicit Communicator(stretto_comm_t *comm) : comm_(comm) {}  // takes it over
    Communicator(Communicator &&other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}
    Communicator &operator=(Communicator &&other) noexcept {
        std::swap(comm_, other.comm_);
        return *this;
    }
    ~Communicator() { stretto_comm_free(comm_); }

    // This process as a rank of the job it was started in.
    static Communicator from_env() {
        stretto_comm_t *comm = nullptr;
        check_status(stretto_comm_from_env(&comm));
        return Communicator(comm);
    }

    int rank() const { return stretto_comm_rank(comm_); }
    int ranks() const { return stretto_comm_ranks(comm_); }
    void barrier() { check_status(stretto_barrier(comm_)); }
    // Of these ranks in this order; called by them alone (stretto_comm_sub).
    Communicator sub(const std::vector<int> &ranks) {
        stretto_comm_t *comm = nullptr;
        check_status(stretto_comm_sub(comm_, ranks.data(), int(ranks.size()), &comm));
        return Communicator(comm);
    }
    stretto_comm_t *get() const { return comm_; }
    operator stretto_comm_t *() const { return comm_; }

    // Memory that peers reach without a copy, count elements, 64-byte aligned; back with
    // stretto_free(), or with the communicator.
    template <typename T>
    T *allocate(int64_t count) {
        if (count < 0 || uint64_t(count) > UINT64_MAX / sizeof(T)) {
            throw RuntimeError(STRETTO_NO_MEMORY,
                               "allocate: " + std::to_string(count) + " elements");
        }
        void *data = stretto_malloc(comm_, size_t(count) * sizeof(T), 0);
        if (!data) throw RuntimeError(STRETTO_NO_MEMORY, stretto_last_error());
        return static_cast<T *>(data);
    }
    void free(void *data) { stretto_free(comm_, data); }

    // [begin, end) of n elements that this rank owns.
    std::pair<int64_t, int64_t> slice(int64_t n) const {
        std::pair<int64_t, int64_t> s;
        stretto_slice(n, rank(), ranks(), &s.first, &s.second);
        return s;
    }
    stretto_stats stats() const {
        stretto_stats s;
        check_status(stretto_get_stats(comm_, &s));
        return s;
    }
    void reset_stats() { stretto_reset_stats(comm_); }

private:
    stretto_comm_t *comm_ = nullptr;
};

// n ranks in this process, one handle a rank, each for a thread of its own.
inline std::vector<Communicator> threads(int n) {
    std::vector<stretto_comm_t *> handles(size_t(n > 0 ? n : 0));
    check_status(stretto_comm_threads(n, handles.data()));
    return std::vector<Communicator>(handles.begin(), handles.end());
}

// Calls body(communicator) on a thread a rank and waits for all. A rank's handle is freed as soon
// as its body has returned or thrown, so that calls of the others fail instead of waiting for it;
// the first exception is thrown here.
template <typename Body>
void run(std::vector<Communicator> world, Body &&body) {
    std::mutex mutex;
    std::exception_ptr first;
    auto failed = [&] {
        std::lock_guard<std::mutex> lock(mutex);
        if (!first) first = std::current_exception();
    };
    std::vector<std::thread> ranks;
    try {
        for (Communicator &c : world) {
            ranks.emplace_back([&body, &failed, &c] {
                Communicator own = std::move(c);
                try {
                    body(own);
                } catch (...) { failed(); }
            });
        }
    } catch (...) {  // no more threads: the ranks that have none are gone
        failed();
        for (size_t r = ranks.size(); r < world.size(); r++)
            Communicator gone = std::move(world[r]);
    }
    for (std::thread &t : ranks) t.join();
    if (first) std::rethrow_exception(first);
}

// ---- Views: a halide_buffer_t of memory that the caller owns. Extents are given as the tensor is
// indexed, t(b, k) as {B, K}; the last one is contiguous, and is dimension 0 of the Halide buffer.

// 16-bit floats in memory, as their bits.
struct float16 {
    uint16_t bits;
};
struct bfloat16 {
    uint16_t bits;
};

namespace detail {

template <typename T>
halide_type_t type_of() {
    using U = std::remove_cv_t<T>;
    halide_type_t t{};
    t.bits = uint8_t(std::is_same_v<U, bool> ? 1 : sizeof(U) * 8);
    t.lanes = 1;
    if constexpr (std::is_same_v<U, float16>) t.code = halide_type_float;
    else if constexpr (std::is_same_v<U, bfloat16>) t.code = halide_type_bfloat;
    else if constexpr (std::is_floating_point_v<U>) t.code = halide_type_float;
    else {
        static_assert(std::is_integral_v<U>,
                      "elements are integers, bool, float, double, float16 or bfloat16");
        t.code = std::is_unsigned_v<U> ? halide_type_uint : halide_type_int;
    }
    return t;
}

}  // namespace detail

class View {
public:
    static constexpr int most_dimensions = 8;

    // mins: the first index in each dimension, for slices their global begin; 0 where not given.
    // Throws RuntimeError (STRETTO_INVALID) for more than 8 dimensions, negative extents, or
    // extents and strides past 31 bits.
    template <typename T>
    View(T *data, std::initializer_list<int64_t> extents, std::initializer_list<int64_t> mins = {})
        : View(const_cast<std::remove_cv_t<T> *>(data), detail::type_of<T>(), extents.begin(),
               int(extents.size()), mins.begin(), int(mins.size())) {}
    template <typename T>
    View(T *data, const std::vector<int64_t> &extents, const std::vector<int64_t> &mins = {})
        : View(const_cast<std::remove_cv_t<T> *>(data), detail::type_of<T>(), extents.data(),
               int(extents.size()), mins.data(), int(mins.size())) {}

    // The buffer points into the view, so a copy points into itself.
    View(const View &other) : buffer_(other.buffer_) { copy_dimensions(other); }
    View &operator=(const View &other) {
        buffer_ = other.buffer_;
        copy_dimensions(other);
        return *this;
    }

    halide_buffer_t *get() { return &buffer_; }
    operator halide_buffer_t *() { return &buffer_; }

private:
    View(void *data, halide_type_t type, const int64_t *extents, int count, const int64_t *mins,
         int min_count) {
        auto refuse = [](const std::string &why) {
            throw RuntimeError(STRETTO_INVALID, "view: " + why);
        };
        if (count > most_dimensions) refuse(std::to_string(count) + " dimensions; 8 are possible");
        if (min_count && min_count != count) refuse("as many mins as extents are needed, or none");
        buffer_.host = static_cast<uint8_t *>(data);
        buffer_.type = type;
        buffer_.dimensions = count;
        buffer_.dim = dim_;
        int64_t stride = 1;
        for (int i = count - 1, d = 0; i >= 0; i--, d++) {
            int64_t min = min_count ? mins[i] : 0;
            if (extents[i] < 0 || extents[i] > INT32_MAX || min > INT32_MAX || min < INT32_MIN ||
                stride > INT32_MAX) {
                refuse("dimension " + std::to_string(i) + " has extent " +
                       std::to_string(extents[i]) + ", min " + std::to_string(min) +
                       " and stride " + std::to_string(stride) + "; each must fit in 31 bits");
            }
            dim_[d].min = int32_t(min);
            dim_[d].extent = int32_t(extents[i]);
            dim_[d].stride = int32_t(stride);
            stride *= std::max<int64_t>(extents[i], 1);
        }
    }
    void copy_dimensions(const View &other) {
        std::copy(other.dim_, other.dim_ + most_dimensions, dim_);
        buffer_.dim = dim_;
    }

    halide_buffer_t buffer_{};
    halide_dimension_t dim_[most_dimensions]{};
};

// A temporary may be passed where a halide_buffer_t * is wanted: it lives until the call has
// returned.
template <typename T>
View view(T *data, std::initializer_list<int64_t> extents,
          std::initializer_list<int64_t> mins = {}) {
    return View(data, extents, mins);
}
template <typename T>
View view(T *data, const std::vector<int64_t> &extents, const std::vector<int64_t> &mins = {}) {
    return View(data, extents, mins);
}

// An index-free value's buffer: zero dimensions.
template <typename T>
View view(T *data) { return View(data, std::initializer_list<int64_t>{}); }

}  // namespace stretto
