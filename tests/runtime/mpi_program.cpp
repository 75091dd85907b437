// One rank of the tests of stretto_mpi, started by mpirun: mpi_program MODE. A line a rank, each
// one write.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <stretto/mpi.h>
#include "collectives/base/clock.h"
#include "collectives/comm/comm.h"
#include "tests/plan/plans.h"

using namespace stretto::runtime;

namespace {

int rank = 0, ranks = 0;

void say(const std::string &text) {
    std::string line = "rank " + std::to_string(rank) + ": " + text + "\n";
    if (write(1, line.data(), line.size()) != ssize_t(line.size())) _exit(3);
}

std::string text_of(int status) {
    return status ? std::string(stretto_status_name(status)) + " " + stretto_last_error() : "fine";
}

Descriptor call(uint64_t size) {
    Descriptor d;
    strcpy(d.name, "adam");
    d.sequence = 3;
    static const stretto::runtime::CallNames names{{"n"}, {}, {}};
    d.names = &names;
    d.size_count = 1;
    d.sizes[0] = size;
    d.hash = size;
    return d;
}

// Every rank to every rank and itself, lengths from nothing to several pieces; then agreement and
// barriers.
std::string exchange(stretto_comm_t *c) {
    Transport &t = *c->transport;
    for (int q = 0; q < ranks; q++)
        if (t.direct(q) != (q == rank)) return "direct() is wrong";
    for (int length : {0, 1, 1000, 4096, 4097, 10000}) {
        std::vector<std::vector<unsigned char>> in(static_cast<size_t>(ranks));
        std::vector<unsigned char> out(static_cast<size_t>(length));
        for (int i = 0; i < length; i++) out[size_t(i)] = static_cast<unsigned char>(i * 7 + rank);
        std::vector<Request> requests;
        if (int status = t.enter(call(uint64_t(length)), nullptr, 0)) return text_of(status);
        if (int status = t.agree()) return text_of(status);
        for (int q = 0; q < ranks; q++) {
            in[size_t(q)].assign(static_cast<size_t>(length), 0);
            requests.push_back(t.receive(q, 5, in[size_t(q)].data(), uint64_t(length)));
        }
        for (int q = 0; q < ranks; q++)
            requests.push_back(t.send(q, 5, out.data(), uint64_t(length)));
        if (int status = t.progress(requests.data(), int(requests.size()), true))
            return text_of(status);
        for (int q = 0; q < ranks; q++) {
            for (int i = 0; i < length; i++) {
                if (in[size_t(q)][size_t(i)] != static_cast<unsigned char>(i * 7 + q))
                    return "a wrong byte";
            }
        }
        if (int status = t.leave(true)) return text_of(status);
    }
    return "exchanged";
}

std::string disagree(stretto_comm_t *c) {
    int status = c->transport->enter(call(rank == 1 ? 5 : 4), nullptr, 0);
    return text_of(status ? status : c->transport->agree());
}

// Messages of the wrong length must not be received: they would not fit.
std::string sizes(stretto_comm_t *c) {
    stretto::test::Packed gather(stretto::test::all_gather(1, 0));
    int64_t n = rank == ranks - 1 ? 100000 : 20000, lo, hi;
    stretto_slice(n, rank, ranks, &lo, &hi);
    stretto::test::Floats x(hi - lo, 1);
    std::vector<float> out(size_t(2 * n), 5);
    stretto::View vx(x.data(), {hi - lo}, {lo}), vout(out.data(), {n});
    std::string text = text_of(gather(c, {vx.get(), vout.get()}));
    for (float f : out)
        if (f != 5) return "something was received";
    return text;
}

// Rank 1 fails, rank 0 waits for a message that never comes, the others for a barrier.
std::string fail(stretto_comm_t *c) {
    Transport &t = *c->transport;
    if (int status = t.enter(call(4), nullptr, 0)) return text_of(status);
    if (int status = t.agree()) return text_of(status);
    char byte;
    Request r;
    if (rank == 1) return text_of(t.fail(STRETTO_KERNEL, "kernel 1 returned -14"));
    if (rank != 0) return text_of(t.barrier());
    r = t.receive(1, 9, &byte, 1);
    return text_of(t.progress(&r, 1, true));
}

// Rank 1 comes late: past the others' deadline.
std::string late(stretto_comm_t *c) {
    if (rank == 1) sleep_microseconds(4'000'000);
    return text_of(stretto_barrier(c));
}

// Rank 1 lets the others wait: they sleep.
std::string waits(stretto_comm_t *c) {
    if (rank == 1) sleep_microseconds(1'000'000);
    rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    int status = stretto_barrier(c);
    getrusage(RUSAGE_THREAD, &after);
    return rank != 1 && after.ru_nvcsw == before.ru_nvcsw ? "it waited and never slept" : text_of(status);
}

// Rank 1 is stopped by rank 0 in the middle of a message to it, and woken when rank 0 has given everything back and uses the
// memory for something else.
std::string stopped(stretto_comm_t *c) {
    constexpr size_t bytes = 256 << 20;
    Transport &t = *c->transport;
    std::vector<int> pids(size_t(ranks), getpid());
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, pids.data(), 1, MPI_INT, MPI_COMM_WORLD);
    if (int status = t.enter(call(4), nullptr, 0)) return text_of(status);
    if (int status = t.agree()) return text_of(status);
    auto *data = static_cast<unsigned char *>(stretto_malloc(c, bytes, 0));
    memset(data, rank == 1 ? 0x55 : 0, bytes);
    Request r = rank == 1 ? t.send(0, 5, data, bytes) : t.receive(1, 5, data, bytes);
    if (rank == 1) {
        t.progress(&r, 1, true);
        sleep(600);  // mpirun ends it
    }
    volatile unsigned char *now = data;
    auto has_come = [&](size_t at) { return now[at] == 0x55; };
    while (!has_come(bytes / 16) && !t.progress(&r, 1, false)) continue;
    kill(pids[1], SIGSTOP);
    std::string text = text_of(t.progress(&r, 1, true));
    if (has_come(bytes - 1)) return "all has come";
    stretto_free(c, data);
    stretto_comm_free(c);
    std::vector<unsigned char *> others;
    for (int i = 0; i < 4; i++) {
        others.push_back(static_cast<unsigned char *>(malloc(bytes)));
        memset(others.back(), 0x11, bytes);
    }
    kill(pids[1], SIGCONT);
    for (double begin = seconds_now(); seconds_now() - begin < 3;) {  // MPI goes on with what it has
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    for (unsigned char *o : others)
        for (size_t k = 0; k < bytes; k++)
            if (o[k] != 0x11) return "other memory was overwritten";
    return text;
}

// Rank 1 is late because its last call took it past the others' deadline in the next one.
std::string slow(stretto_comm_t *c) {
    Transport &t = *c->transport;
    if (int status = t.enter(call(4), nullptr, 0)) return text_of(status);
    if (int status = t.agree()) return text_of(status);
    if (rank == 1) sleep_microseconds(4'000'000);
    if (int status = t.leave(false)) return text_of(status);
    return text_of(stretto_barrier(c));
}

// The all-reduce over a communicator of these ranks of the world is the sum in their order.
std::string sum_in_order(stretto_comm_t *c, const std::vector<int> &order) {
    constexpr int64_t n = 1000;
    stretto::test::Packed program(stretto::test::all_reduce(1, stretto::test::Carried::Auto));
    std::vector<float> g(n), out(n);
    for (int64_t i = 0; i < n; i++) g[size_t(i)] = stretto::test::value(rank, i);
    stretto::View vg(g.data(), {n}), vout(out.data(), {n});
    if (int status = program(c, {vg.get(), vout.get()})) return text_of(status);
    for (int64_t i = 0; i < n; i++) {
        float sum = stretto::test::value(order[0], i);
        for (size_t q = 1; q < order.size(); q++) sum += stretto::test::value(order[q], i);
        if (out[size_t(i)] != sum) return "a sum is wrong";
    }
    return "fine";
}

// All in turned order, and of that a pair and the others.
std::string sub(stretto_comm_t *c) {
    std::vector<int> order, some, places;
    for (int q = 0; q < ranks; q++) order.push_back((2 * ranks - 2 - q) % ranks);
    stretto_comm_t *turned, *part;
    if (int status = stretto_comm_sub(c, order.data(), ranks, &turned)) return text_of(status);
    const bool first = stretto_comm_rank(turned) < 2;
    for (int q = ranks; q-- > 0;)
        if ((q < 2) == first) places.push_back(q), some.push_back(order[size_t(q)]);
    if (int status = stretto_comm_sub(turned, places.data(), int(places.size()), &part)) return text_of(status);
    std::string text = sum_in_order(turned, order);
    if (text == "fine") text = sum_in_order(part, some);
    stretto_comm_free(turned);
    if (text == "fine") text = text_of(stretto_barrier(part));
    stretto_comm_free(part);
    return text;
}

}  // namespace

int main(int argc, char **argv) {
    stretto_comm_t *c;
    if (stretto_comm_from_mpi(MPI_COMM_WORLD, &c) != STRETTO_INVALID) return 4;  // before MPI_Init
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "late_start") {
        if (rank == 1) sleep(30);
        rusage before, after;
        getrusage(RUSAGE_THREAD, &before);
        const int status = stretto_comm_from_mpi(MPI_COMM_WORLD, &c);
        getrusage(RUSAGE_THREAD, &after);
        if (rank == 0) say((after.ru_nvcsw == before.ru_nvcsw ? "it never slept " : "") + text_of(status));
        _exit(0);
    }
    if (int status = stretto_comm_from_mpi(MPI_COMM_WORLD, &c)) {
        say(text_of(status));
        MPI_Finalize();
        return 1;
    }
    ranks = stretto_comm_ranks(c);
    if (mode == "stopped") {
        say(stopped(c));
        _exit(0);  // with what cannot be ended MPI_Finalize would wait
    }
    say(mode == "exchange"   ? exchange(c)
        : mode == "disagree" ? disagree(c)
        : mode == "sizes"    ? sizes(c)
        : mode == "fail"     ? fail(c)
        : mode == "slow"     ? slow(c)
        : mode == "sub"      ? sub(c)
        : mode == "waits"    ? waits(c)
                             : late(c));
    if (mode != "exchange" && mode != "sub") say("again: " + text_of(stretto_barrier(c)));
    stretto_comm_free(c);
    MPI_Finalize();
    return 0;
}
