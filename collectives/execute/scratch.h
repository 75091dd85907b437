// Memory that is needed from one stage of a call to another: what is never needed at the same time shares it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace stretto::runtime {

class Scratch {
public:
    // Needed from stage `first` to stage `last`, both included. *offset is set by place().
    void need(uint64_t bytes, int first, int last, uint64_t *offset) {
        needs_.push_back({(bytes + 63) / 64 * 64, first, last, offset});
    }

    // Finds offsets, multiples of 64, and returns how many bytes that takes.
    uint64_t place() {
        uint64_t end = 0;
        for (size_t i = 0; i < needs_.size(); i++) {
            Need &n = needs_[i];
            std::vector<const Need *> others;  // placed, and needed at the same time
            for (size_t j = 0; j < i; j++)
                if (needs_[j].first <= n.last && n.first <= needs_[j].last) others.push_back(&needs_[j]);
            std::sort(others.begin(), others.end(), [](auto *a, auto *b) { return *a->offset < *b->offset; });
            *n.offset = 0;
            for (auto *o : others) {
                if (*n.offset + n.bytes <= *o->offset) break;
                *n.offset = std::max(*n.offset, *o->offset + o->bytes);
            }
            end = std::max(end, *n.offset + n.bytes);
        }
        return end;
    }

private:
    struct Need {
        uint64_t bytes;
        int first, last;
        uint64_t *offset;
    };
    std::vector<Need> needs_;
};

}  // namespace stretto::runtime
