// stretto_comm_create: processes that find each other by the caller's own all-gather.
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "ranks.h"

using namespace stretto::test;

namespace {

// Shared by a test's forked ranks: an all-gather, and where each leaves its result.
struct Board {
    std::atomic<int> arrived, left;
    char data[8][256], out[8][512];
};

struct Context {
    Board *board;
    int rank, ranks;
    int times;
};

int allgather(void *context, const void *in, void *out, size_t bytes) {
    auto *c = static_cast<Context *>(context);
    c->times++;
    memcpy(c->board->data[c->rank], in, bytes);
    c->board->arrived++;
    while (c->board->arrived < c->ranks) usleep(100);
    for (int q = 0; q < c->ranks; q++)
        memcpy(static_cast<char *>(out) + size_t(q) * bytes, c->board->data[q], bytes);
    return 0;
}

// Forks the ranks; body returns a rank's line.
std::vector<std::string> fork_ranks(int ranks, const std::function<std::string(Context &)> &body) {
    auto *board = static_cast<Board *>(
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(board != MAP_FAILED);
    std::vector<pid_t> pids;
    for (int r = 0; r < ranks; r++) {
        pids.push_back(fork());
        if (pids.back() == 0) {
            alarm(20);
            Context context{board, r, ranks, 0};
            snprintf(board->out[r], sizeof board->out[r], "%s", body(context).c_str());
            _exit(0);
        }
    }
    std::vector<std::string> lines;
    for (pid_t pid : pids) waitpid(pid, nullptr, 0);
    for (int r = 0; r < ranks; r++) lines.push_back(board->out[r]);
    munmap(board, sizeof(Board));
    return lines;
}

std::string text_of(int status) {
    return std::string(stretto_status_name(status)) + " " + stretto_last_error();
}

}  // namespace

TEST_CASE("comm_create: a working communicator for 1 to 5 ranks") {
    for (int ranks : {1, 2, 3, 5}) {
        for (std::string &line : fork_ranks(ranks, [](Context &context) -> std::string {
                 stretto_comm_t *c;
                 if (int status =
                         stretto_comm_create(context.rank, context.ranks, allgather, &context, &c))
                     return text_of(status);
                 auto *x = static_cast<int *>(stretto_malloc(c, sizeof(int), 0));
                 Place place{x, sizeof(int)};
                 *x = context.rank + 10;
                 if (int status = c->transport->enter(hashed(describe()), &place, 1))
                     return text_of(status);
                 int sum = 0;
                 for (int q = 0; q < context.ranks; q++)
                     sum += *static_cast<int *>(c->transport->at(q, 0));
                 if (int status = c->transport->leave(true)) return text_of(status);
                 stretto_comm_free(c);
                 int n = context.ranks;
                 return sum == 10 * n + n * (n - 1) / 2 ? "right" : "wrong sum";
             })) {
            CHECK(line == "right");
        }
    }
}

TEST_CASE("comm_create: ranks that were told different things") {
    for (std::string &line : fork_ranks(2, [](Context &context) {
             stretto_comm_t *c;
             return text_of(stretto_comm_create(0, 2, allgather, &context, &c));  // both say 0
         })) {
        CHECK(line ==
              "STRETTO_INVALID stretto_comm_create: place 1 of the all-gather is from rank 0; it "
              "must be in rank order, each "
              "rank once");
    }
}

TEST_CASE("comm_create: an all-gather that fails, arguments that cannot be") {
    stretto_comm_t *c;
    auto failing = [](void *, const void *, void *, size_t) { return 5; };
    CHECK(stretto_comm_create(0, 2, failing, nullptr, &c) == STRETTO_SYSTEM);
    CHECK(std::string(stretto_last_error()) ==
          "stretto_comm_create: the caller's all-gather returned 5");
    CHECK(stretto_comm_create(2, 2, failing, nullptr, &c) == STRETTO_INVALID);
    CHECK(std::string(stretto_last_error()) ==
          "stretto_comm_create: rank 2 of 2 ranks; legal are 1 to 1024 ranks, numbered from 0");
    CHECK(stretto_comm_create(0, 2'000'000'000, failing, nullptr, &c) == STRETTO_INVALID);
    CHECK(std::string(stretto_last_error()) ==
          "stretto_comm_create: rank 0 of 2000000000 ranks; legal are 1 to 1024 ranks, numbered from 0");
    CHECK(stretto_comm_create(0, 2, nullptr, nullptr, &c) == STRETTO_INVALID);
    CHECK(stretto_comm_create(0, 2, failing, nullptr, nullptr) == STRETTO_INVALID);
}
