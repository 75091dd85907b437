// One rank, started by the tests of processes: rank_program MODE [ARGUMENT].
// It prints "rank R: ..." lines; every line is one write, so lines of ranks do not mix.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include <stretto/runtime.h>
#include "collectives/base/clock.h"
#include "collectives/comm/comm.h"
#include "rank_program.h"

using namespace stretto::runtime;
using namespace stretto::test;

namespace stretto::test {

int rank = -1, ranks = 0;

void say(const char *format, ...) {
    char text[2048];
    int length = snprintf(text, sizeof text, "rank %d: ", rank);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(text + length, sizeof text - size_t(length) - 1, format, arguments);
    va_end(arguments);
    text[length++] = '\n';
    if (write(1, text, size_t(length)) != length) _exit(3);
}

int report(int status) {
    if (status) say("%s %s", stretto_status_name(status), stretto_last_error());
    return status;
}

}  // namespace stretto::test

namespace {

Descriptor call(uint32_t sequence) {
    Descriptor d;
    strcpy(d.name, "sweep");
    d.sequence = sequence;
    d.hash = sequence + 1;
    return d;
}

// ---- modes; 0, or what the process exits with

int hello(stretto_comm_t *c, int) {
    if (int status = stretto_barrier(c)) return report(status) ? 1 : 0;
    say("of %d", ranks);
    return 0;
}

// Barriers until something fails; says when that was noticed.
int loop(stretto_comm_t *c, int) {
    say("process %d", int(getpid()));
    for (;;) {
        if (int status = stretto_barrier(c)) {
            double now = seconds_now();
            say("at %.6f %s %s", now, stretto_status_name(status), stretto_last_error());
            return 0;
        }
    }
}

// Rank 0 leaves without a word after a barrier.
int exit_early(stretto_comm_t *c, int) {
    if (report(stretto_barrier(c))) return 1;
    if (rank == 0) _exit(86);
    report(stretto_barrier(c));
    return 0;
}

// Every rank stores into every other's heap memory, with barriers between; values must be what they
// have to.
int exchange(stretto_comm_t *c, int megabytes) {
    Transport &t = *c->transport;
    int64_t n = int64_t(megabytes ? megabytes : 1) << 17;
    auto *x = static_cast<int64_t *>(stretto_malloc(c, size_t(n) * 8, 0));
    if (!x) return report(STRETTO_NO_MEMORY);
    int local = 0;
    if (!t.reachable(x, uint64_t(n) * 8) || t.reachable(&local, sizeof local) ||
        !stretto_owns(c, x)) {
        say("reachable() is wrong");
        return 1;
    }
    for (uint32_t i = 0; i < 20; i++) {
        Place places[2] = {{nullptr, 0}, {x, uint64_t(n) * 8}};
        if (report(t.enter(call(i), places, 2))) return 1;
        if (t.at(0, 0)) say("a null place has an address");
        int64_t begin, end;
        stretto_slice(n, rank, ranks, &begin, &end);
        for (int q = 0; q < ranks; q++) {
            auto *theirs = static_cast<int64_t *>(t.at(q, 1));
            for (int64_t k = begin; k < end; k++) theirs[k] = k * 100 + i + rank;
        }
        if (report(t.leave(true))) return 1;
        for (int q = 0; q < ranks; q++) {
            stretto_slice(n, q, ranks, &begin, &end);
            for (int64_t k = begin; k < end; k++) {
                if (x[k] != k * 100 + i + q) {
                    say("element %" PRId64 " is %" PRId64, k, x[k]);
                    return 1;
                }
            }
        }
        if (report(t.barrier())) return 1;
    }
    stretto_free(c, x);
    say("exchanged");
    return 0;
}

// Rank 1 is stopped in the middle of storing into the others' memory and, once woken, goes on with
// it. The others have by then given that memory back and taken new.
int stop(stretto_comm_t *c, int) {
    constexpr uint64_t bytes = 1 << 20;
    Transport &t = *c->transport;
    auto *x = static_cast<unsigned char *>(stretto_malloc(c, bytes, 0));
    memset(x, 0, bytes);
    Place place{x, bytes};
    say("process %d", int(getpid()));
    for (uint32_t i = 0;; i++) {
        int status = t.enter(call(i), &place, 1);
        if (!status && rank == 1 && i == 5) raise(SIGSTOP);
        if (!status && rank == 1) {
            for (int q = 0; q < ranks; q++) memset(t.at(q, 0), 0x55, bytes);
            status = t.poll();
        }
        if (!status) status = t.leave(true);
        if (!status) {
            memset(x, 0, bytes);
            continue;
        }
        double now = seconds_now();
        if (rank == 1) {
            say("woken %s %s", stretto_status_name(status), stretto_last_error());
            return 0;
        }
        say("at %.6f %s %s", now, stretto_status_name(status), stretto_last_error());
        break;
    }
    stretto_free(c, x);
    std::vector<unsigned char *> others;
    for (int i = 0; i < 8; i++) {
        others.push_back(static_cast<unsigned char *>(stretto_malloc(c, bytes / 2, 0)));
        memset(others.back(), 0x11, bytes / 2);
    }
    say("ready");
    // x is no longer this rank's, but in a window it can still be read: are there late stores?
    volatile unsigned char *late = x;
    for (double begin = seconds_now(); late[bytes - 1] != 0x55 && seconds_now() - begin < 60;)
        sleep_microseconds(1000);
    bool stored = late[bytes - 1] == 0x55, clean = true;
    for (unsigned char *o : others) {
        for (uint64_t k = 0; k < bytes / 2; k++) clean = clean && o[k] == 0x11;
    }
    // Acknowledged now: the memory is in circulation again.
    for (double begin = seconds_now(); stretto_owns(c, x) && seconds_now() - begin < 60;) {
        stretto_free(c, stretto_malloc(c, 1, 0));
        sleep_microseconds(1000);
    }
    say("late stores: %s, other memory: %s, kept: %s", stored ? "seen" : "none",
        clean ? "clean" : "OVERWRITTEN", stretto_owns(c, x) ? "yes" : "no longer");
    return 0;
}

// Ranks in turned order on one heap: every rank stores into every place of every other, 200 of them.
int sub(stretto_comm_t *c, int) {
    constexpr int places = 200;
    std::vector<int> order;
    for (int q = 0; q < ranks; q++) order.push_back((2 * ranks - 2 - q) % ranks);
    stretto_comm_t *turned;
    if (report(stretto_comm_sub(c, order.data(), ranks, &turned))) return 1;
    auto *x = static_cast<int *>(stretto_malloc(c, sizeof(int) * size_t(places * ranks), 0));
    Transport &t = *turned->transport;
    for (uint32_t i = 0; i < 20; i++) {
        std::vector<Place> list;
        for (int k = 0; k < places; k++) {
            int place = (k + int(i) * 7) % places;
            list.push_back({x + place * ranks, sizeof(int) * size_t(ranks)});
        }
        if (report(t.enter(call(i), list.data(), places))) return 1;
        for (int q = 0; q < ranks; q++)
            for (int k = 0; k < places; k++)
                static_cast<int *>(t.at(q, k))[t.rank()] = int(i) * 1000000 + k * 1000 + rank;
        if (report(t.leave(true))) return 1;
        for (int k = 0; k < places; k++) {
            for (int q = 0; q < ranks; q++) {
                int is = x[(k + int(i) * 7) % places * ranks + q], right = int(i) * 1000000 + k * 1000 + order[size_t(q)];
                if (is == right) continue;
                say("place %d of rank %d has %d, not %d", k, q, is, right);
                return 1;
            }
        }
        if (report(stretto_barrier(c))) return 1;
    }
    stretto_free(turned, x);
    stretto_comm_free(c);
    if (report(stretto_barrier(turned))) return 1;
    stretto_comm_free(turned);
    say("turned");
    return -1;
}

// Two pairs, each in barriers of its own.
int pairs(stretto_comm_t *c, int) {
    int pair[2] = {rank / 2 * 2, rank / 2 * 2 + 1};
    stretto_comm_t *own;
    if (report(stretto_comm_sub(c, pair, 2, &own))) return 1;
    loop(own, 0);
    stretto_comm_free(own);
    return 0;
}

int two_communicators(stretto_comm_t *c, int) {
    stretto_comm_t *second;
    if (report(stretto_comm_from_env(&second))) return 1;
    for (int i = 0; i < 100; i++) {
        if (report(stretto_barrier(c)) || report(stretto_barrier(second)) ||
            report(stretto_barrier(second)))
            return 1;
    }
    stretto_comm_free(c);
    if (report(stretto_barrier(second))) return 1;
    stretto_comm_free(second);
    say("both");
    return -1;
}

int disagree(stretto_comm_t *c, int) {
    Descriptor d = call(4);
    const stretto::runtime::CallNames names{{"n"}, {}, {}};
    d.names = &names;
    d.size_count = 1;
    d.sizes[0] = rank == 1 ? 409598 : 409600;
    d.hash = d.sizes[0];
    report(c->transport->enter(d, nullptr, 0));
    return 0;
}

// The least that a barrier can be: a store, and a wait for each peer's, yielding. For comparison in
// the same run, since other programs may be running.
double bare_barrier(Transport &t, std::atomic<uint32_t> *mine, uint32_t *count, int rounds) {
    double begin = seconds_now();
    for (int i = 0; i < rounds; i++) {
        mine->exchange(++*count);
        for (int q = 0; q < ranks; q++) {
            auto *theirs = static_cast<std::atomic<uint32_t> *>(t.at(q, 0));
            for (int spin = 0; int32_t(theirs->load() - *count) < 0; spin++) {
                if (spin > 200 || ranks > 2) sched_yield();
            }
        }
    }
    return (seconds_now() - begin) / rounds * 1e6;
}

int latency(stretto_comm_t *c, int rounds) {
    auto *line = new (stretto_malloc(c, 128, 128)) std::atomic<uint32_t>(0);
    Place place{line, 128};
    uint32_t count = 0;
    for (int repeat = 0; repeat < 5; repeat++) {
        if (report(c->transport->enter(call(0), &place, 1))) return 1;
        double bare = bare_barrier(*c->transport, line, &count, rounds);
        double begin = seconds_now();
        for (int i = 0; i < rounds; i++) {
            if (report(c->transport->barrier())) return 1;
        }
        double barrier = (seconds_now() - begin) / rounds * 1e6;
        begin = seconds_now();
        for (int i = 0; i < rounds; i++) {
            if (report(c->transport->enter(call(0), nullptr, 0)) ||
                report(c->transport->leave(true)))
                return 1;
        }
        double sweep = (seconds_now() - begin) / rounds * 1e6;
        if (rank == 0) say("bare %.3f barrier %.3f sweep %.3f", bare, barrier, sweep);
    }
    return 0;
}

// Rank 1 has touched a gigabyte and dumps core into TEST_FOLDER.
int dump(stretto_comm_t *c, int) {
    constexpr uint64_t bytes = 1 << 30;
    void *x = stretto_malloc(c, bytes, 0);
    if (rank == 1 && x) memset(x, 1, bytes);
    int status = stretto_barrier(c);
    if (!status && rank == 1) {
        const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
        setrlimit(RLIMIT_CORE, &unlimited);
        if (chdir(getenv("TEST_FOLDER")) == 0) abort();
    }
    if (!status) status = stretto_barrier(c);
    say("%s %s", stretto_status_name(status), stretto_last_error());
    return 0;
}

// Ranks close what they find open and open other files, which are ready to be read; then rank 0 goes without a word.
int close_all(stretto_comm_t *c, int) {
    if (report(stretto_barrier(c))) return 1;
    for (int fd = 3; fd < 1000; fd++) close(fd);
    for (int i = 0; i < 20; i++)
        if (open("/dev/zero", O_RDONLY) < 0) return 1;
    if (rank == 0) sleep_microseconds(500'000);  // the others wait
    if (report(stretto_barrier(c))) return 1;
    say("alive");
    if (rank == 0) _exit(0);
    report(stretto_barrier(c));
    return 0;
}

// Rank 1 becomes another program.
int exec(stretto_comm_t *c, int) {
    if (report(stretto_barrier(c))) return 1;
    if (rank == 1) execlp("sleep", "sleep", "8", nullptr);
    report(stretto_barrier(c));
    return 0;
}

int fail_after_start(stretto_comm_t *, int code) {
    if (rank != 1) sleep(600);
    return code;
}

}  // namespace

int main(int argc, char **argv) {
    const std::map<std::string, std::function<int(stretto_comm_t *, int)>> modes = {
        {"hello", hello},
        {"loop", loop},
        {"exit_early", exit_early},
        {"exchange", exchange},
        {"stop", stop},
        {"no_memory", no_memory},
        {"gulp", gulp},
        {"memory", memory},
        {"two_communicators", two_communicators},
        {"sub", sub},
        {"pairs", pairs},
        {"disagree", disagree},
        {"latency", latency},
        {"dump", dump},
        {"close_all", close_all},
        {"exec", exec},
        {"fail", fail_after_start},
    };
    auto mode = modes.find(argc > 1 ? argv[1] : "");
    if (mode == modes.end()) return 2;
    stretto_comm_t *c;
    if (int status = stretto_comm_from_env(&c)) {
        printf("no communicator: %s %s\n", stretto_status_name(status), stretto_last_error());
        return 1;
    }
    rank = stretto_comm_rank(c);
    ranks = stretto_comm_ranks(c);
    int status = mode->second(c, argc > 2 ? atoi(argv[2]) : 0);
    if (status >= 0) stretto_comm_free(c);
    return status > 0 ? status : 0;
}
