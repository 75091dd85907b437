// A set of numbers, as ranges [begin, end) that are apart.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace stretto::runtime {

class Ranges {
public:
    using Range = std::pair<uint64_t, uint64_t>;

    void add(uint64_t begin, uint64_t end) {
        auto next = first_that_ends_from(begin);
        while (next != ranges_.end() && next->first <= end) {
            begin = std::min(begin, next->first);
            end = std::max(end, next->second);
            next = ranges_.erase(next);
        }
        ranges_[begin] = end;
    }
    void remove(uint64_t begin, uint64_t end) {
        for (auto [b, e] : in(begin, end)) {
            auto whole = std::prev(ranges_.upper_bound(b));
            const Range old = *whole;
            ranges_.erase(whole);
            if (old.first < b) ranges_[old.first] = b;
            if (e < old.second) ranges_[e] = old.second;
        }
    }
    // The parts of [begin, end) that are in the set, and those that are not.
    std::vector<Range> in(uint64_t begin, uint64_t end) const {
        std::vector<Range> parts;
        for (auto r = first_that_ends_from(begin); r != ranges_.end() && r->first < end; ++r)
            if (r->second > begin) parts.push_back({std::max(r->first, begin), std::min(r->second, end)});
        return parts;
    }
    std::vector<Range> outside(uint64_t begin, uint64_t end) const {
        std::vector<Range> parts;
        for (auto [b, e] : in(begin, end)) {
            if (begin < b) parts.push_back({begin, b});
            begin = e;
        }
        if (begin < end) parts.push_back({begin, end});
        return parts;
    }

private:
    using Map = std::map<uint64_t, uint64_t>;
    Map::const_iterator first_that_ends_from(uint64_t at) const {
        auto r = ranges_.upper_bound(at);
        return r != ranges_.begin() && std::prev(r)->second >= at ? std::prev(r) : r;
    }

    Map ranges_;
};

}  // namespace stretto::runtime
