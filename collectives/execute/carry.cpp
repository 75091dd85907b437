// Small operands go with the enter.
#include <algorithm>

#include "collectives/base/tuning.h"
#include "collectives/execute/instance.h"

namespace stretto::runtime {
namespace {

using plan::From;
using plan::How;

// What the first stage sends first from one rank to another: whole operands, addends of the first chunk. Returns how many
// bytes that is; 0 if they do not go with the enter.
uint64_t first_messages(const plan::PlanT &p, const Instance &in, int from, int to,
                        std::vector<CarriedMessages::Operand> *list) {
    if (from == to || in.windows || in.stages.empty()) return 0;
    auto &stage = in.stages.front();
    std::vector<CarriedMessages::Operand> operands;
    uint64_t end = 0;
    for (size_t i = 0; i < stage.transfers.size(); i++) {
        auto &t = stage.transfers[i];
        if (!t.from(from, to) || (t.chunked && stage.count(to) == 0)) continue;
        Box region = t.chunked ? stage.piece(to, 0) : geometry_of(p, in, t.buffer, from).box();
        Geometry g = packed(region, in.buffers[size_t(t.buffer)].own.element);
        if (!g.bytes()) continue;
        operands.push_back({from == in.rank ? to : from, i, region, g, round_up(end)});
        end = operands.back().at + g.bytes();
    }
    if (end > uint64_t(carried_message_bytes)) return 0;
    list->insert(list->end(), operands.begin(), operands.end());
    return end;
}

}  // namespace

// Small operands that peers only load go with the enter: then nobody reads this rank's memory, and nobody waits at the end.
// All ranks have to find the same, hence no slices, which may differ in size.
void carry_operands(const plan::PlanT &p, Instance &in) {
    for (auto &s : in.stages)
        if (s.barrier || s.sends_results) return;
    uint64_t end = 0;
    std::vector<std::pair<int, uint64_t>> offsets;
    for (auto &s : in.stages)
        for (auto &a : s.plan->accesses) {
            if (a->how != How::Read || a->from == From::Own) continue;
            auto &b = *p.buffers[size_t(a->buffer)];
            uint64_t bytes = in.buffers[size_t(a->buffer)].own.bytes();
            if (b.argument < 0 || b.sliced >= 0 || bytes > uint64_t(carried_bytes)) return;
            auto same = [&](auto &o) { return o.first == a->buffer; };
            if (std::any_of(offsets.begin(), offsets.end(), same)) continue;
            offsets.push_back({a->buffer, end});
            end += (bytes + 7) / 8 * 8;
        }
    if (!end || end > uint64_t(carried_bytes)) return;
    for (auto &[buffer, offset] : offsets) in.buffers[size_t(buffer)].carried = int(offset);
    in.carried_bytes = end;
    in.leave = false;
}

void carry_messages(const plan::PlanT &p, Instance &in) {
    auto &carried = in.carried_messages;
    for (int q = 0; q < in.ranks; q++) {
        carried.out_bytes.push_back(first_messages(p, in, in.rank, q, &carried.out));
        carried.in_bytes.push_back(first_messages(p, in, q, in.rank, &carried.in));
    }
}

}  // namespace stretto::runtime
