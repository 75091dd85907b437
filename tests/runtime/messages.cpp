// Messages are matched by peer and tag in order; a request is done when its buffer is free.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "collectives/base/tuning.h"
#include "collectives/transport/message_transport.h"
#include "ranks.h"
#include "tests/worlds/loopback.h"

using namespace stretto::test;
using stretto::runtime::Request;

TEST_CASE("messages: everybody to everybody, in order, several under way") {
    for (int ranks : {1, 2, 3, 5, 8}) {
        CAPTURE(ranks);
        World world(ranks, World::Messages);
        check_fine(world.each([&](int rank, stretto_comm_t *c) {
            Transport &t = *c->transport;
            constexpr int count = 4, n = 1000;
            std::vector<int> out(n), in(size_t(ranks * count * n), -1);
            std::iota(out.begin(), out.end(), rank * 10000);
            std::vector<Request> requests;
            for (int q = 0; q < ranks; q++) {
                for (int k = 0; k < count;
                     k++) {  // lengths tell the messages of one tag apart
                    requests.push_back(t.receive(q, k / 2, &in[size_t((q * count + k) * n)],
                                                 uint64_t(n - k) * 4));
                }
            }
            for (int q = 0; q < ranks; q++) {
                for (int k = 0; k < count; k++)
                    requests.push_back(t.send(q, k / 2, out.data(), uint64_t(n - k) * 4));
            }
            if (int status = t.progress(requests.data(), int(requests.size()), true))
                return result_of(status);
            for (Request &request : requests) {
                if (request.impl) return Result{1, "a request is not done"};
            }
            for (int q = 0; q < ranks; q++) {
                for (int k = 0; k < count; k++) {
                    for (int i = 0; i < n; i++) {
                        int expected = i < n - k ? q * 10000 + i : -1;
                        if (in[size_t((q * count + k) * n + i)] != expected)
                            return Result{1, "a wrong value"};
                    }
                }
            }
            return Result{};
        }));
    }
}

TEST_CASE("D2: a receive that cannot be ended keeps its buffer, also when that is freed and the communicator with it") {
    Variable timeout("STRETTO_TIMEOUT", "0.3");
    stretto::runtime::Settings settings;
    REQUIRE(stretto::runtime::read_settings(&settings) == 0);
    auto networks = make_loopback(2, true);
    auto *c = new stretto_comm_t(std::make_unique<stretto::runtime::MessageTransport>(
        std::make_shared<stretto::runtime::MessageWorld>(networks[0], settings, false)));
    constexpr size_t bytes = 1 << 20;
    auto *data = static_cast<unsigned char *>(stretto_malloc(c, bytes, 0));
    memset(data, 0, bytes);
    Request r = c->transport->receive(1, 5, data, bytes);
    CHECK(c->transport->progress(&r, 1, true) == STRETTO_PEER_STUCK);
    CHECK(std::string(stretto_last_error()).find("rank 1 is in the middle of a message") != std::string::npos);
    CHECK(stretto_barrier(c) == STRETTO_PEER_STUCK);  // for good
    stretto_free(c, data);
    CHECK_FALSE(stretto_owns(c, data));
    stretto_comm_free(c);
    std::vector<std::vector<unsigned char>> others(8, std::vector<unsigned char>(bytes, 0x11));
    // Rank 1 is woken, and goes on.
    std::vector<unsigned char> sent(bytes, 0x55);
    std::unique_ptr<stretto::runtime::Operation> late(networks[1]->start_send(0, 5, sent.data(), bytes));
    CHECK(late->test() == stretto::runtime::Operation::Done);
    CHECK(late->end());
    CHECK(data[bytes - 1] == 0x55);
    for (auto &other : others) CHECK(std::count(other.begin(), other.end(), 0x11) == bytes);
}

TEST_CASE("messages: empty ones match too; progress without waiting returns") {
    World world(2, World::Messages);
    auto results = world.each([](int rank, stretto_comm_t *c) {
        Transport &t = *c->transport;
        Request r = rank ? t.receive(0, 7, nullptr, 0) : t.send(1, 7, nullptr, 0);
        Request never = t.receive(1 - rank, 8, nullptr, 0);
        if (int status = t.progress(&r, 1, true)) return result_of(status);
        if (int status = t.progress(&never, 1, false)) return result_of(status);
        return Result{never.impl ? 0 : 1, ""};
    });
    for (Result &r : results) CHECK(r.status == 0);
}

TEST_CASE("messages: two lengths") {
    World world(2, World::Messages);
    auto results = world.each([](int rank, stretto_comm_t *c) {
        Transport &t = *c->transport;
        char data[16] = "";
        Request r = rank ? t.receive(0, 1, data, 8) : t.send(1, 1, data, 16);
        return result_of(t.progress(&r, 1, true));
    });
    for (Result &r : results) {
        CHECK(r.status == STRETTO_SYSTEM);
        CHECK(r.text.find("16 bytes were sent where 8 are expected") != std::string::npos);
    }
}

TEST_CASE("messages: after a failure no receive writes any more") {
    World world(2, World::Messages);
    char buffer[8] = "before";
    auto results = world.each([&](int rank, stretto_comm_t *c) {
        Transport &t = *c->transport;
        if (rank == 0) {
            Request r = t.receive(1, 1, buffer, sizeof buffer);
            t.fail(STRETTO_KERNEL, "no");
            return result_of(t.progress(&r, 1, true));
        }
        while (t.poll() == 0) std::this_thread::yield();
        char text[8] = "after";
        Request r = t.send(0, 1, text, sizeof text);
        return result_of(t.progress(&r, 1, true));
    });
    for (Result &r : results) {
        CHECK(r.status == STRETTO_KERNEL);
        CHECK(r.text == "rank 0 failed: no");
    }
    CHECK(std::string(buffer) == "before");
}

TEST_CASE("messages: each peer's operands come with the enter, of any length up to the limit") {
    constexpr uint64_t most = stretto::runtime::carried_message_bytes;
    for (int ranks : {2, 3, 5}) {
        CAPTURE(ranks);
        World world(ranks, World::Messages);
        auto results = world.each([&](int rank, stretto_comm_t *c) {
            Transport &t = *c->transport;
            // Nothing goes with the first, and what went with an earlier one does not come again.
            for (uint64_t bytes : {uint64_t(0), uint64_t(1), uint64_t(1000), most - uint64_t(ranks), uint64_t(0)}) {
                auto length = [&](int from, int to) { return bytes ? bytes + uint64_t((from + 2 * to) % ranks) : 0; };
                for (int q = 0; q < ranks; q++)
                    if (q != rank && bytes) memset(t.carry(q, length(rank, q)), 16 * rank + q + 1, length(rank, q));
                if (int status = agree(t, hashed(describe(uint32_t(bytes))))) return result_of(status);
                for (int q = 0; q < ranks; q++) {
                    if (q == rank) continue;
                    const uint64_t n = length(q, rank);
                    auto *data = static_cast<const unsigned char *>(t.carried(q, n));
                    if (!data || reinterpret_cast<uintptr_t>(data) % 64) return Result{1, "no operands"};
                    for (uint64_t i = 0; i < n; i++)
                        if (data[i] != 16 * q + rank + 1) return Result{1, "a wrong byte"};
                    if (t.carried(q, n + 1)) return Result{1, "operands of another length"};
                }
                if (int status = t.leave(false)) return result_of(status);
            }
            return Result{};
        });
        check_fine(results);
    }
}

TEST_CASE("messages: ranks that differ tell each other, whatever goes with the enter") {
    World world(3, World::Messages);
    auto results = world.each([](int rank, stretto_comm_t *c) {
        Transport &t = *c->transport;
        if (rank == 1) memset(t.carry(0, 2000), 1, 2000), memset(t.carry(2, 8), 1, 8);
        Descriptor d = describe(3);
        d.sizes[0] += uint64_t(rank == 1);
        return result_of(agree(t, hashed(d)));
    });
    for (Result &r : results) {
        CHECK(r.status == STRETTO_MISMATCH);
        CHECK(r.text == results[0].text);
    }
}
