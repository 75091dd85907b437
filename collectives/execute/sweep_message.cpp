// Loads from and stores to peers as messages, except those whose memory is reached by address. Matched by (peer, tag) in
// order, so all ranks post them in one order: chunk by chunk, in a chunk transfer by transfer. Nobody waits for a message
// that its sender has not posted: addends of chunk c + 1 are posted before those of chunk c are waited for, results of
// chunk c before those of chunk c - window + 1 are. What is sent first goes with the enter, or overtakes the agreement on
// the call; nothing is received or computed before that.
#include <algorithm>

#include "collectives/base/tuning.h"
#include "collectives/execute/copy.h"
#include "collectives/execute/flight.h"
#include "collectives/execute/sweep.h"

namespace stretto::runtime {
namespace {

constexpr int64_t window = Flights::window;

class MessageSweep {
public:
    MessageSweep(Execution &x, StageInstance &stage)
        : x_(x), in_(x.instance), stage_(stage), addends_(x.flights.addends), results_(x.flights.results) {}

    int run() {
        int64_t rounds = 0;
        for (int q = 0; q < in_.ranks; q++) rounds = std::max(rounds, stage_.count(q));
        Flight &whole = x_.flights.whole;
        send_whole(whole);
        send_addends(0);
        if (int status = agree()) return status;
        receive_whole(whole);
        receive_addends(0);
        if (int status = whole.wait()) return status;
        if (int status = begin_riders(x_, stage_)) return status;
        for (int64_t c = 0; c < rounds; c++) {
            send_addends(c + 1);
            receive_addends(c + 1);
            if (int status = addends_[c % 2].wait()) return status;
            show_addends(c);
            if (int status = compute_chunk(c)) return status;
            Flight &results = results_[c % window];
            if (int status = results.wait()) return status;
            post_results(c, results);
            if (c + 1 < rounds)
                if (int status = results.test()) return status;
        }
        for (int64_t k = 0; k < window; k++)
            if (int status = results_[k].wait()) return status;
        if (stage_.streamed) finish_streamed();
        x_.comm.stats.bytes_loaded += stage_.bytes_loaded;
        x_.comm.stats.bytes_stored += stage_.bytes_stored;
        return STRETTO_OK;
    }

private:
    Execution &x_;
    Instance &in_;
    StageInstance &stage_;
    Flight *addends_, *results_;

    bool is_first() const { return &stage_ == &in_.stages.front(); }
    bool goes_with_enter(int q) const { return is_first() && in_.carried_messages.out_bytes[size_t(q)]; }
    bool comes_with_enter(int q) const { return is_first() && in_.carried_messages.in_bytes[size_t(q)]; }

    // Those that are reached by messages.
    template <class F>
    void for_peers(F f) {
        for (int i = 1, q = in_.rank; i < in_.ranks; i++) {
            if (++q == in_.ranks) q = 0;
            if (!in_.near[size_t(q)]) f(q);
        }
    }
    // f(transfer, this rank's geometry of its buffer, peer) for the transfers that go chunk by chunk, or the others.
    template <class F>
    void for_transfers(bool chunked, F f) {
        for (auto &t : stage_.transfers)
            if (t.chunked == chunked)
                for_peers([&](int q) { f(t, in_.buffers[size_t(t.buffer)].own, q); });
    }
    // And shows what has come with it.
    int agree() {
        if (int status = x_.transport().agree()) return status;
        if (!is_first()) return STRETTO_OK;
        for (auto &operand : in_.carried_messages.in) {
            const uint64_t bytes = in_.carried_messages.in_bytes[size_t(operand.peer)];
            auto *data = static_cast<const uint8_t *>(x_.transport().carried(operand.peer, bytes));
            if (!data) {
                return fail(x_, STRETTO_SYSTEM,
                            "rank " + std::to_string(operand.peer) + " sent other operands than the plan has");
            }
            data += operand.at;
            Transfer &t = stage_.transfers[operand.transfer];
            if (t.chunked) {
                t.chunks[0][size_t(operand.peer)] = data;
                continue;
            }
            for (View *v : t.views[size_t(operand.peer)]) v->buffer.host = const_cast<uint8_t *>(data);  // loaded only
        }
        return STRETTO_OK;
    }

    // Operands of which not only the region of a chunk is read.
    void send_whole(Flight &flight) {
        flight.clear();
        for_transfers(false, [&](const Transfer &t, const Geometry &own, int q) {
            if (t.from(in_.rank, q) && !goes_with_enter(q))
                flight.send(q, whole_tag, in_.base(in_.rank, t.buffer), own, own.box());
        });
    }
    void receive_whole(Flight &flight) {
        for_transfers(false, [&](const Transfer &t, const Geometry &, int q) {
            if (!t.from(q, in_.rank) || comes_with_enter(q)) return;
            uint8_t *to = x_.arena + t.offsets[size_t(q)];
            Geometry g = dense_geometry(x_.program.plan, in_, t.buffer, q);
            flight.receive(q, whole_tag, to, g, g.box());
            for (View *v : t.views[size_t(q)]) v->buffer.host = to;
        });
    }

    void send_addends(int64_t c) {
        Flight &flight = addends_[c % 2];
        flight.clear();
        for_transfers(true, [&](const Transfer &t, const Geometry &own, int q) {
            if (t.from(in_.rank, q) && c < stage_.count(q) && !(c == 0 && goes_with_enter(q)))
                flight.send(q, addend_tag, in_.base(in_.rank, t.buffer), own, stage_.piece(q, c));
        });
    }
    void receive_addends(int64_t c) {
        for_transfers(true, [&](Transfer &t, const Geometry &own, int q) {
            if (!t.from(q, in_.rank) || c >= stage_.count(in_.rank) || (c == 0 && comes_with_enter(q))) return;
            uint64_t bytes = uint64_t(stage_.piece(in_.rank, c).elements()) * uint64_t(own.element);
            t.chunks[c % 2][size_t(q)] = addends_[c % 2].receive(q, addend_tag, bytes);
        });
    }

    void show_addends(int64_t c) {
        if (c >= stage_.count(in_.rank)) return;
        for (auto &t : stage_.transfers) {
            if (!t.chunked) continue;
            Geometry g = packed(stage_.piece(in_.rank, c), in_.buffers[size_t(t.buffer)].own.element);
            for_peers([&](int q) {
                if (!t.from(q, in_.rank)) return;
                auto *data = const_cast<uint8_t *>(t.chunks[c % 2][size_t(q)]);  // loaded only
                for (View *v : t.views[size_t(q)]) v->show(g, data);
            });
        }
    }

    int compute_chunk(int64_t c) {
        if (c >= stage_.count(in_.rank)) return STRETTO_OK;
        const Box region = stage_.piece(in_.rank, c);
        if (int status = compute(x_, stage_, region)) return status;
        copy_to_near(x_, stage_, region);
        return STRETTO_OK;
    }

    void send_results(Flight &flight, const StoreInstance &store, const Geometry &own, const Box &region) {
        const uint8_t *base = stored_at(x_, store);
        const uint64_t bytes = uint64_t(region.elements()) * uint64_t(own.element);
        const bool copies = bytes > fetched_message_bytes && bytes <= copied_message_bytes;
        const uint8_t *copied = copies ? flight.copy(base, own, region) : nullptr;
        for_peers([&](int q) {
            if (!store.to[size_t(q)]) return;
            if (copied) flight.send(q, result_tag, copied, bytes);
            else flight.send(q, result_tag, base, own, region);
        });
    }

    // After the addends of the chunk have left: its results may come back to where those were.
    void post_results(int64_t c, Flight &flight) {
        flight.clear();
        for (auto &store : stage_.stores) {
            const Geometry &own = in_.buffers[size_t(store.buffer)].own;
            uint8_t *base = in_.base(in_.rank, store.buffer);
            if (c < stage_.count(in_.rank)) send_results(flight, store, own, stage_.piece(in_.rank, c));
            for_peers([&](int q) {
                if (store.from[size_t(q)] && c < stage_.count(q)) flight.receive(q, result_tag, base, own, stage_.piece(q, c));
            });
        }
    }
};

}  // namespace

int run_on_messages(Execution &x, StageInstance &stage) { return MessageSweep(x, stage).run(); }

void carry_on_messages(Execution &x) {
    Instance &in = x.instance;
    uint8_t *data = nullptr;
    int peer = -1;
    for (auto &operand : in.carried_messages.out) {
        if (operand.peer != peer) {
            peer = operand.peer;
            data = static_cast<uint8_t *>(x.transport().carry(peer, in.carried_messages.out_bytes[size_t(peer)]));
            if (!data) return;  // enter() says why
        }
        int buffer = in.stages.front().transfers[operand.transfer].buffer;
        copy_box(data + operand.at, operand.packed, in.base(in.rank, buffer), in.buffers[size_t(buffer)].own,
                 operand.region);
        x.comm.stats.bytes_sent += operand.packed.bytes();
    }
}

}  // namespace stretto::runtime
