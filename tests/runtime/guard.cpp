// One thread at a time uses a handle; a forked child uses none of its parent's.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "ranks.h"

using namespace stretto::test;

TEST_CASE("guard: six threads on communicators of their own") {
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    std::vector<World *> worlds;
    for (int i = 0; i < 3; i++) worlds.push_back(new World(2));
    for (World *w : worlds) {
        for (stretto_comm_t *c : w->comms) {
            threads.emplace_back([&failures, c] {
                for (int i = 0; i < 500; i++) failures += stretto_barrier(c) != 0;
            });
        }
    }
    for (std::thread &t : threads) t.join();
    CHECK(failures == 0);
    for (World *w : worlds) delete w;
}

TEST_CASE("guard: six threads on one handle: one is inside, the others are told") {
    World world(2);
    std::atomic<int> done{0}, busy{0};
    std::string text;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++) {
        threads.emplace_back([&] {
            int status =
                stretto_barrier(world.comms[0]);  // waits for rank 1, so the first one stays inside
            if (status == 0) done++;
            if (status == STRETTO_BUSY && busy++ == 0) text = stretto_last_error();
        });
    }
    while (busy < 5) std::this_thread::yield();
    CHECK(stretto_barrier(world.comms[1]) == 0);
    for (std::thread &t : threads) t.join();
    CHECK(done == 1);
    CHECK(busy == 5);
    CHECK(text ==
          "stretto_barrier: the communicator of rank 0 is inside another call; one thread may use "
          "a handle at a time");
}

TEST_CASE("D12: a handle that is freed inside a call lives until that ends") {
    World world(2);
    Result waited;
    std::thread inside([&] { waited = result_of(stretto_barrier(world.comms[0])); });
    while (!world.comms[0]->use) std::this_thread::yield();
    for (int again = 0; again < 2; again++) {
        stretto_comm_free(world.comms[0]);
        CHECK(std::string(stretto_last_error()) ==
              "stretto_comm_free: the communicator is inside a call; it is freed when that ends");
    }
    CHECK(stretto_barrier(world.comms[1]) == 0);
    inside.join();
    CHECK(waited.status == 0);
    world.comms[0] = nullptr;
    CHECK(stretto_barrier(world.comms[1]) == STRETTO_PEER_LOST);
    CHECK(std::string(stretto_last_error()).find("it has freed its communicator") != std::string::npos);
}

TEST_CASE("guard: a forked child is refused, and its exit hurts nobody") {
    World world(2);
    int pipe_[2];
    REQUIRE(pipe(pipe_) == 0);
    pid_t child = fork();
    if (child == 0) {
        int status = stretto_barrier(world.comms[0]);
        std::string text = std::to_string(status) + " " + stretto_last_error();
        if (stretto_malloc(world.comms[0], 64, 0)) text = "memory for a forked child";
        stretto_comm_free(world.comms[0]);
        _exit(write(pipe_[1], text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
    }
    close(pipe_[1]);
    char text[512] = "";
    ssize_t length = read(pipe_[0], text, sizeof text - 1);
    close(pipe_[0]);
    waitpid(child, nullptr, 0);
    REQUIRE(length > 0);
    CHECK(std::string(text) == std::to_string(STRETTO_FORKED) +
                                   " stretto_barrier: the communicator of rank 0 belongs to the "
                                   "parent process; a forked child "
                                   "must make its own");
    for (Result &r :
         world.each([](int, stretto_comm_t *c) { return result_of(stretto_barrier(c)); }))
        CHECK(r.status == 0);
}

TEST_CASE("guard: a null handle") {
    CHECK(stretto_barrier(nullptr) == STRETTO_INVALID);
    CHECK(std::string(stretto_last_error()) == "stretto_barrier: the communicator is null");
    CHECK(stretto_comm_rank(nullptr) == STRETTO_INVALID);
    CHECK(stretto_malloc(nullptr, 8, 0) == nullptr);
    stretto_comm_free(nullptr);
}
