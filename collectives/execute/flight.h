// Messages on their way. A communicator keeps its flights: their memory is used again by the next call, and after a failure
// it outlives the requests that were never done.
#pragma once
#include <deque>
#include <vector>

#include "collectives/comm/comm.h"
#include "collectives/execute/arena.h"
#include "collectives/execute/geometry.h"

namespace stretto::runtime {

enum Tag { whole_tag = 1,
           addend_tag = 2,
           result_tag = 3 };

// Messages that are waited for together, with the memory they need until then.
class Flight {
public:
    void use(stretto_comm_t &comm) { comm_ = &comm; }

    // The region of a buffer, from the buffer itself where it lies in one piece there. `base`: its first element.
    void send(int peer, Tag tag, const uint8_t *base, const Geometry &g, const Box &region);
    // From where the data is.
    void send(int peer, Tag tag, const uint8_t *data, uint64_t bytes);

    // A copy of the region, densely, valid until clear().
    const uint8_t *copy(const uint8_t *base, const Geometry &g, const Box &region);

    // Into the buffer, at once or when the flight is waited for.
    void receive(int peer, Tag tag, uint8_t *base, const Geometry &g, const Box &region);

    // Into memory of the flight's own, valid until clear().
    uint8_t *receive(int peer, Tag tag, uint64_t bytes);

    int wait();
    int test();

    // Begins anew: nothing is on its way, the memory is used again.
    void clear() {
        used_ = 0;
        unpack_.clear();
    }

private:
    struct Unpack {
        uint8_t *base;
        Geometry geometry;
        Box region;
        const uint8_t *data;
    };

    stretto_comm_t *comm_ = nullptr;
    std::vector<Request> requests_;
    std::vector<Unpack> unpack_;
    std::deque<Arena> pieces_;  // aligned to cache lines, as a kernel loads from them
    size_t used_ = 0;

    uint8_t *take(uint64_t bytes);
};

struct Flights {
    static constexpr int64_t window = 4;  // chunks whose results are on their way
    Flight whole, addends[2], results[window];

    explicit Flights(stretto_comm_t &comm) {
        whole.use(comm);
        for (auto &f : addends) f.use(comm);
        for (auto &f : results) f.use(comm);
    }
};

}  // namespace stretto::runtime
