#include "rank.h"

#include <sched.h>

#include <chrono>
#include <cstring>
#include <exception>

namespace perf {
namespace {

// A core for each rank where there are enough, so that the kernel does not move ranks while they are timed.
void pin(int rank, int ranks) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < ranks) return;
    for (int core = 0, k = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &allowed) || k++ != rank) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

void start(Rank &r, const Request &request, Reply *reply) {
    r.select(request.schedule, request.count, true);
    Counters sum;
    for (int k = 0; k < request.steps; k++) {
        r.rewrite();
        r.barrier();
        Counters before = r.counters();
        r.step();
        Counters after = r.counters();
        sum.sent += after.sent - before.sent;
        sum.loaded += after.loaded - before.loaded;
        sum.stored += after.stored - before.stored;
    }
    if (!request.steps) return;
    reply->wrong = r.wrong(request.steps);
    reply->bytes_sent = sum.sent / request.steps;
    reply->bytes_loaded = sum.loaded / request.steps;
    reply->bytes_stored = sum.stored / request.steps;
}

double time(Rank &r, const Request &request) {
    r.select(request.schedule, request.count, false);
    double total = 0;
    for (int k = 0; k < request.steps; k++) {
        r.rewrite();
        r.barrier();
        double begin = seconds_now();
        r.step();
        total += seconds_now() - begin;
    }
    return total;
}

}  // namespace

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void serve(Rank &r, Link link) {
    pin(r.rank(), r.ranks());
    Reply hello;
    hello.rank = r.rank();
    hello.ranks = r.ranks();
    link.send(hello);
    Request request;
    while (link.receive(&request) && request.verb != Verb::Stop) {
        Reply reply = hello;
        try {
            if (request.verb == Verb::Allocate) r.allocate(request.count);
            if (request.verb == Verb::Start) start(r, request, &reply);
            if (request.verb == Verb::Time) reply.seconds = time(r, request);
        } catch (const std::exception &e) {
            reply.failed = 1;
            strncpy(reply.text, e.what(), sizeof reply.text - 1);
        }
        link.send(reply);
    }
}

}  // namespace perf
