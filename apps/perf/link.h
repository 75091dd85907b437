// The line between the program that measures and one rank: messages of fixed size over a unix socket. A rank that is not
// asked for anything sleeps in read(2): ranks of MPI would spin, and take the cores from those that are being timed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace perf {

enum class Verb : int32_t {
    Allocate,  // memory for up to `count` elements
    Start,     // a fresh state for `schedule` and `count`; `steps` steps, then compare the results with the expected ones
    Time,      // `steps` steps by the clock
    Stop
};

struct Request {
    Verb verb = Verb::Stop;
    int32_t steps = 0;
    int64_t count = 0;
    char schedule[32] = {};
};

struct Reply {
    int32_t rank = 0, ranks = 0;
    int32_t failed = 0;                                         // text says why
    int64_t wrong = 0;                                          // elements, of Start
    double seconds = 0;                                         // of all steps, of Time
    double bytes_sent = 0, bytes_loaded = 0, bytes_stored = 0;  // a step, by the runtime's counters; of Start
    char text[512] = {};
};

// One end. Errors of the system are std::runtime_error.
class Link {
public:
    explicit Link(int fd) : fd_(fd) {}
    Link(Link &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    Link &operator=(Link &&) = delete;
    ~Link();
    // Connects to the Listener of that name.
    explicit Link(const std::string &name);

    int fd() const { return fd_; }
    template <class Message>
    void send(const Message &m) { send_bytes(&m, sizeof m); }
    // False when the other end is closed.
    template <class Message>
    bool receive(Message *m) { return receive_bytes(m, sizeof *m); }

private:
    int fd_ = -1;
    void send_bytes(const void *, size_t);
    bool receive_bytes(void *, size_t);
};

// Where ranks that are processes connect: an abstract name, so that nothing is left on the disk.
class Listener {
public:
    explicit Listener(int most);
    Listener(const Listener &) = delete;
    ~Listener();
    const std::string &name() const { return name_; }
    // The next rank that connects, or -1 after `milliseconds`.
    int accept(int milliseconds);

private:
    int fd_ = -1;
    std::string name_;
};

}  // namespace perf
