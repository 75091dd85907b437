#include "collectives/world/world.h"

#include <algorithm>
#include <cstdio>

namespace stretto::runtime {

bool World::report(int status, uint32_t sequence, const std::string &text) {
    if (aborted()) return false;
    char *mine = state_.text(rank()).text;
    snprintf(mine, sizeof(WorldState::Text), "%s", text.c_str());
    uint64_t nothing = 0, word = uint64_t(uint16_t(-status)) << 48 | uint64_t(uint16_t(rank())) << 32 | sequence;
    return state_.abort.compare_exchange_strong(nothing, word, std::memory_order_seq_cst);
}

int World::status() const { return -int(state_.abort.load(std::memory_order_acquire) >> 48); }

std::string World::text() const {
    return state_.text(int(state_.abort.load(std::memory_order_acquire) >> 32 & 0xffff)).text;
}

std::string World::fate(int rank) const {
    if (!ended(rank)) return "";
    const Process &process = *parts_.processes[size_t(rank)];
    return "its process " + std::to_string(process.pid()) + " " + process.fate();
}

void *World::allocate(uint64_t bytes, uint64_t align) {
    look_at_held();
    return parts_.memory->allocate(bytes, align);
}

void World::release(void *data) {
    look_at_held();
    {
        std::lock_guard<std::mutex> lock(mutex_);
        uintptr_t begin = uintptr_t(data), end = begin + parts_.memory->size(data);
        for (Held &h : held_) {
            for (auto &[held_begin, held_end] : h.ranges) {
                if (begin >= held_end || held_begin >= end) continue;
                h.released.push_back(data);
                return;
            }
        }
    }
    parts_.memory->release(data);
}

void World::release_when_unused(void *data, std::function<bool()> in_use) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        held_.push_back({{}, {data}, std::move(in_use)});
    }
    look_at_held();
}

void World::hold(std::vector<std::pair<uintptr_t, uintptr_t>> ranges, std::function<bool()> in_use) {
    std::lock_guard<std::mutex> lock(mutex_);
    held_.push_back({std::move(ranges), {}, std::move(in_use)});
}

void World::look_at_held() {
    std::lock_guard<std::mutex> lock(mutex_);
    auto unused = [&](Held &h) {
        if (h.in_use()) return false;
        for (void *data : h.released) parts_.memory->release(data);
        return true;
    };
    held_.erase(std::remove_if(held_.begin(), held_.end(), unused), held_.end());
}

}  // namespace stretto::runtime
