#include "collectives/execute/flight.h"

#include <new>

#include "collectives/execute/copy.h"

namespace stretto::runtime {

void Flight::send(int peer, Tag tag, const uint8_t *base, const Geometry &g, const Box &region) {
    uint64_t bytes = uint64_t(region.elements()) * uint64_t(g.element);
    if (!bytes) return;
    send(peer, tag, contiguous(g, region) ? base + g.offset(region) : copy(base, g, region), bytes);
}

void Flight::send(int peer, Tag tag, const uint8_t *data, uint64_t bytes) {
    requests_.push_back(comm_->transport->send(peer, tag, data, bytes));
    comm_->stats.bytes_sent += bytes;
}

const uint8_t *Flight::copy(const uint8_t *base, const Geometry &g, const Box &region) {
    uint8_t *data = take(uint64_t(region.elements()) * uint64_t(g.element));
    copy_box(data, packed(region, g.element), base, g, region);
    return data;
}

void Flight::receive(int peer, Tag tag, uint8_t *base, const Geometry &g, const Box &region) {
    uint64_t bytes = uint64_t(region.elements()) * uint64_t(g.element);
    if (!bytes) return;
    uint8_t *data = base + g.offset(region);
    if (!contiguous(g, region)) {
        data = take(bytes);
        unpack_.push_back({base, g, region, data});
    }
    requests_.push_back(comm_->transport->receive(peer, tag, data, bytes));
}

uint8_t *Flight::receive(int peer, Tag tag, uint64_t bytes) {
    uint8_t *data = take(bytes);
    if (bytes) requests_.push_back(comm_->transport->receive(peer, tag, data, bytes));
    return data;
}

int Flight::wait() {
    if (requests_.empty()) return STRETTO_OK;
    int status = comm_->transport->progress(requests_.data(), int(requests_.size()), true);
    requests_.clear();
    if (status) return status;
    for (auto &u : unpack_)
        copy_box(u.base, u.geometry, u.data, packed(u.region, u.geometry.element), u.region);
    unpack_.clear();
    return STRETTO_OK;
}

int Flight::test() {
    if (requests_.empty()) return STRETTO_OK;
    return comm_->transport->progress(requests_.data(), int(requests_.size()), false);
}

uint8_t *Flight::take(uint64_t bytes) {
    if (used_ == pieces_.size()) pieces_.emplace_back(comm_->transport.get());
    Arena &piece = pieces_[used_++];
    uint8_t *data = piece.reserve(bytes);
    if (!data && bytes) throw std::bad_alloc();
    piece.release_old();
    return data;
}

}  // namespace stretto::runtime
