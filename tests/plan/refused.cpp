// An error that every rank finds before anything is stored breaks nothing; one that only some find is everybody's, at once.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "collectives/comm/comm.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// The two-rank-or-more all-reduce of n elements, out with one element too many or not.
struct Call {
    Packed program{all_reduce(1, Carried::Auto)};
    std::string text;

    int operator()(stretto_comm_t *comm, int64_t n, bool wrong) {
        int rank = stretto_comm_rank(comm), ranks = stretto_comm_ranks(comm);
        Floats g(n), out(n + 1);
        for (int64_t i = 0; i < n; i++) g[i] = value(rank, i);
        View vg(g.data(), {n}), vout(out.data(), {wrong ? n + 1 : n});
        int status = program(comm, {vg.get(), vout.get()});
        text = status ? stretto_last_error() : "";
        if (status) {
            for (int64_t i = 0; i <= n; i++) CHECK(out[i] == -77);
        } else {
            for (int64_t i = 0; i < n; i++) CHECK(out[i] == sum_of_values(ranks, i));
        }
        return status;
    }
};

const std::string wrong_extent =
    "all_reduce: argument out: dimension 0 has extent 6; required is n = 5, as dimension 0 of g";

}  // namespace

TEST_CASE("a wrong extent on every rank: all refuse, and may call again") {
    for (World world : every_world) {
        for (int ranks : {2, 3, 5}) {
            on_ranks(world, ranks, [&](stretto_comm_t *comm) {
                Call call;
                for (int i = 0; i < 3; i++) {
                    CHECK(call(comm, 5, true) == STRETTO_INVALID);
                    CHECK(call.text == wrong_extent);
                    CHECK(call(comm, 5000, false) == 0);
                    CHECK(stretto_barrier(comm) == 0);
                }
            });
        }
    }
}

TEST_CASE("each rank for a reason of its own: each is told its own, and may call again") {
    for (World world : every_world) {
        on_ranks(world, 3, [&](stretto_comm_t *comm) {
            Call call;
            if (stretto_comm_rank(comm) == 1) {
                CHECK(call.program(comm, {nullptr, nullptr}) == STRETTO_INVALID);
                CHECK(std::string(stretto_last_error()) == "all_reduce: argument g is null");
            } else {
                CHECK(call(comm, 5, true) == STRETTO_INVALID);
                CHECK(call.text == wrong_extent);
            }
            CHECK(call(comm, 100, false) == 0);
        });
    }
}

TEST_CASE("on some ranks only: an error on every rank, that of one of them, and that is the end") {
    for (World world : every_world) {
        on_ranks(world, 4, [&](stretto_comm_t *comm) {
            Call call;
            int rank = stretto_comm_rank(comm);
            CHECK(call(comm, 5, rank == 1 || rank == 2) == STRETTO_INVALID);
            const std::string first = call.text;
            CHECK((first == "rank 1 failed: " + wrong_extent || first == "rank 2 failed: " + wrong_extent));
            for (bool wrong : {false, true}) {
                CHECK(call(comm, 5, wrong) == STRETTO_INVALID);  // as every call on a broken communicator
                CHECK(call.text == first);
            }
        });
    }
}

TEST_CASE("where one refuses and another does not, nobody waits for the others") {
    for (World world : every_world) {
        std::atomic<int> told{0};
        on_ranks(world, 4, [&](stretto_comm_t *comm) {
            Call call;
            int rank = stretto_comm_rank(comm);
            while (rank % 2 && told < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            CHECK(call(comm, 5, rank == 2) == STRETTO_INVALID);
            CHECK(call.text == "rank 2 failed: " + wrong_extent);
            told++;
        });
    }
}

TEST_CASE("a rank that refuses and one that calls something else") {
    for (World world : every_world) {
        on_ranks(world, 2, [&](stretto_comm_t *comm) {
            Call call;
            int status = stretto_comm_rank(comm) ? stretto_barrier(comm) : call(comm, 5, true);
            CHECK(status == STRETTO_INVALID);
            CHECK(std::string(stretto_last_error()) == "rank 0 failed: " + wrong_extent);
        });
    }
}

namespace {

// The text of the one error that both of two ranks are told; "" if both succeed.
std::string told_by(World world, const std::function<int(stretto_comm_t *)> &call) {
    std::string texts[2];
    on_ranks(world, 2, [&](stretto_comm_t *comm) {
        const int status = call(comm);
        if (status) texts[stretto_comm_rank(comm)] = std::string(stretto_status_name(status)) + ": " + stretto_last_error();
    });
    CHECK(texts[0] == texts[1]);
    return texts[0];
}

}  // namespace

TEST_CASE("D17: two roots of a broadcast: the text says which rank reads of which") {
    for (World world : {World::Threads, World::Messages}) {
        Packed from[2] = {Packed(broadcast(0)), Packed(broadcast(1))};
        CHECK(told_by(world, [&](stretto_comm_t *comm) {
                  Floats a(5), b(5);
                  View va(a.data(), {5}), vb(b.data(), {5});
                  return from[stretto_comm_rank(comm)](comm, {va.get(), vb.get()});
              }) ==
              "STRETTO_MISMATCH: ranks differ in the compiled program of broadcast: rank 0 has `reads a[i]@0`, "
              "rank 1 has `reads a[i]@1`");
    }
}

TEST_CASE("D4: a plan that leaves out a wait is refused, and one that gives a kernel other arguments") {
    plan::PlanT p = fused_momentum();
    p.syncs.clear();
    p.items.pop_back();
    Packed no_wait(p), good(fused_momentum());
    auto told = [](Packed &program) {
        return told_by(World::Threads, [&](stretto_comm_t *comm) {
            int64_t lo, hi;
            stretto_slice(5, stretto_comm_rank(comm), 2, &lo, &hi);
            Floats g(5, 1), x(5, 1), m(hi - lo, 1);
            float lr = 1;
            View vg(g.data(), {5}), vp(x.data(), {5}), vm(m.data(), {hi - lo}, {lo});
            return program(comm, {vg.get(), vp.get(), vm.get(), &lr});
        });
    };
    CHECK(told(good) == "");
    CHECK(told(no_wait) == "STRETTO_INVALID: momentum: the end needs a sync before it: another rank may be at g");
    const std::string other = "STRETTO_BAD_PLAN: stretto_execute_v1: the plan cannot be run: kernel: kernel ";
    auto damaged = [&](const std::function<void(plan::PlanT &)> &change) {
        plan::PlanT q = fused_momentum();
        change(q);
        Packed program(fused_momentum());
        program.bytes() = plan::pack(q);
        return told(program);
    };
    const std::string text = damaged([](plan::PlanT &q) { q.cpu->stages[0]->direct[0]->kernel->scalars.clear(); });
    CHECK(text.find(other) == 0);
    CHECK_MESSAGE(text.find(" was not compiled for what the plan gives it, sweep of 1 + 0 loops: 2 x float32[0] -> "
                            "float32[0] in place, float32[0] in place") != std::string::npos,
                  text);
    CHECK(damaged([](plan::PlanT &q) { q.stages[0]->accesses[0]->reach = {-1}; }).find(other) == 0);
    CHECK(damaged([](plan::PlanT &q) { q.scalars[0]->type = plan::Type::Float64; }).find(other) == 0);
    CHECK(damaged([](plan::PlanT &q) { q.cpu->stages[0]->kernel->id = momentum_scalars; }) ==
          other +
              "11 is the scalars' and used as sweep of 1 + 0 loops: float32, sum float32 -> float32[0] in place, "
              "float32[0] in place");
}

TEST_CASE("D4: a load of more than there is is refused") {
    plan::PlanT p = all_gather(1, 0);  // each rank's slice; now all of x on every rank
    p.stages[0]->loops[0] = plan::Loop(p.stages[0]->loops[0].extent(), plan::Range::Whole);
    p.stages[0]->accesses[1]->from = plan::From::Own;
    Packed program(p);
    on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
        int64_t lo, hi;
        stretto_slice(5, stretto_comm_rank(comm), 2, &lo, &hi);
        Floats x(hi - lo, 1), out(5);
        View vx(x.data(), {hi - lo}, {lo}), vout(out.data(), {5});
        CHECK(program(comm, {vx.get(), vout.get()}) == STRETTO_INVALID);
        CHECK(std::string(stretto_last_error()) == "all_gather: stage out loads [0, 5) of dimension 0 of x; rank " +
                                                       std::string(lo ? "1 has [2, 5)" : "0 has [0, 2)"));
    });
}

TEST_CASE("D5: scratch of more than any address space is refused; what no stage needs takes none") {
    for (bool used : {false, true}) {
        plan::PlanT p = broadcast(0);
        auto big = std::make_unique<plan::StageT>();
        for (int64_t n : {int64_t(INT32_MAX), int64_t(4096)})
            big->loops.push_back({{plan::ExtentKind::Constant, n}, plan::Range::Whole});
        big->outputs = 2;
        for (int k = 0; k < 3; k++) {  // 2^45 bytes each
            auto access = std::make_unique<plan::StageAccessT>();
            access->buffer = int(p.buffers.size());
            access->how = plan::How::Write;
            access->reach = {0, 1};
            big->accesses.push_back(std::move(access));
            auto b = std::make_unique<plan::BufferT>();
            b->name = "s" + std::to_string(k);
            b->type = plan::Type::Float32;
            for (auto &loop : big->loops) b->extents.push_back(loop.extent());
            p.buffers.push_back(std::move(b));
        }
        if (used) {
            p.items.insert(p.items.begin(), {plan::ItemKind::Stage, int(p.stages.size())});
            p.stages.push_back(std::move(big));
            p.cpu->stages.push_back(std::make_unique<plan::StageKernelsT>());
            p.cpu->stages.back()->kernel = std::make_unique<plan::KernelT>();
        }
        Packed program(p);
        const std::string text = told_by(World::Threads, [&](stretto_comm_t *comm) {
            Floats a(5), b(5);
            View va(a.data(), {5}), vb(b.data(), {5});
            return program(comm, {va.get(), vb.get()});
        });
        CHECK(text == (used ? "STRETTO_INVALID: broadcast: its scratch would have more than 2^46 bytes" : ""));
    }
}

#if defined(__SSE__)
#include <xmmintrin.h>

TEST_CASE("D12: ranks may differ in which floating-point exceptions trap, not in flush-to-zero or rounding") {
    constexpr unsigned invalid_is_masked = 0x80, flush_to_zero = 0x8000, rounding_up = 0x4000;
    auto with = [](unsigned change) {
        Packed program(all_reduce(1, Carried::Auto));
        return told_by(World::Threads, [&](stretto_comm_t *comm) {
            const unsigned before = _mm_getcsr();
            if (stretto_comm_rank(comm)) _mm_setcsr(before ^ change);
            Floats g(5, 1), out(5);
            View vg(g.data(), {5}), vout(out.data(), {5});
            const int status = program(comm, {vg.get(), vout.get()});
            _mm_setcsr(before);
            return status;
        });
    };
    CHECK(with(0) == "");
    CHECK(with(invalid_is_masked) == "");
    const std::string differ =
        "STRETTO_MISMATCH: ranks differ in the floating-point mode (MXCSR) of all_reduce: "
        "rank 0 has 0x0, rank 1 has ";
    CHECK(with(flush_to_zero) == differ + "0x8000 (flush to zero)");
    CHECK(with(rounding_up) == differ + "0x4000 (rounding up)");
}
#endif
