// Memory that the executor keeps between calls and lets grow.
#pragma once
#include <cstdint>
#include <cstdlib>

#include "collectives/execute/geometry.h"
#include "collectives/transport/transport.h"

namespace stretto::runtime {

// Memory of this rank alone, or, with a transport, memory that peers can reach or that messages come to.
class Arena {
public:
    explicit Arena(Transport *transport = nullptr) : transport_(transport) {}
    ~Arena() {
        release_old();
        release(data_);
    }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    // At least that much, or null. The contents are lost when it grows; what it was before stays valid until
    // release_old(), which is to be called when no peer can be in an earlier call any more.
    uint8_t *reserve(uint64_t bytes) {
        if (bytes <= bytes_ || !bytes) return data_;
        release_old();
        void *grown = transport_ ? transport_->allocate(bytes) : std::aligned_alloc(64, round_up(bytes));
        if (!grown) return nullptr;
        old_ = data_;
        data_ = static_cast<uint8_t *>(grown);
        bytes_ = bytes;
        return data_;
    }

    void release_old() {
        if (old_) release(old_);
        old_ = nullptr;
    }

private:
    Transport *transport_;
    uint8_t *data_ = nullptr, *old_ = nullptr;
    uint64_t bytes_ = 0;

    void release(void *data) {
        if (!data) return;
        if (transport_) transport_->release(data);
        else std::free(data);
    }
};

}  // namespace stretto::runtime
