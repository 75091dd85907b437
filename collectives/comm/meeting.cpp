// Rank 0 listens, the others come to it. Three rounds:
//     hello   rank -> 0   who I am; my heap's file and my process handle
//     plan    0 -> rank   the size of heaps; the control file; then everybody's file and handle,
//                         one message a rank
//     ready   rank -> 0   mapped, or why not;    go    0 -> rank   all are, or why not
#include "collectives/comm/meeting.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "collectives/base/clock.h"
#include "collectives/base/cores.h"
#include "collectives/base/error.h"
#include "collectives/base/limits.h"
#include "collectives/comm/local_socket.h"
#include "collectives/memory/window_memory.h"
#include "collectives/transport/mismatch.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace stretto::runtime {
namespace {

using Message = MeetingMessage;

constexpr double refusing = 1;  // seconds in which a rank that cannot take part tells so, at most

Message refusal(int rank, int status, const std::string &text) {
    Message m;
    m.rank = rank;
    m.status = status;
    snprintf(m.text, sizeof m.text, "%s", text.c_str());
    return m;
}

// It comes without descriptors, so what was received lacks some.
bool is_refusal(int status, const Message &m) {
    return (status == STRETTO_OK || status == STRETTO_SYSTEM) && m.magic == meeting_protocol && m.status;
}

// One rank's contribution and what it has gathered.
struct Member {
    Fd socket, heap, process;
    Message hello;
    bool arrived = false;
};

class Gathering {
public:
    Gathering(const Launch &launch, const std::string &name, const Settings &settings)
        : launch_(launch),
          name_(name),
          settings_(settings),
          deadline_(settings.timeout),
          members_(size_t(launch.ranks)),
          memory_(std::make_shared<WindowMemory>(launch.rank, launch.ranks)) {}
    ~Gathering() {
        if (control_memory_) munmap(control_memory_, control_bytes());
    }
    Gathering(const Gathering &) = delete;
    Gathering &operator=(const Gathering &) = delete;

    int run(WorldParts *world) {
        const int prepared = prepare();
        if (int status = launch_.rank == 0 ? host(prepared) : visit(prepared)) return explain(status);
        auto state = static_cast<WorldState *>(std::exchange(control_memory_, nullptr));
        uint64_t bytes = control_bytes();
        world->rank = launch_.rank;
        world->ranks = launch_.ranks;
        world->settings = settings_;
        world->state = std::shared_ptr<WorldState>(state, [bytes](WorldState *s) { munmap(s, bytes); });
        world->memory = memory_;
        for (Member &m : members_) {
            world->processes.push_back(std::make_unique<Process>(std::move(m.process), m.hello.pid));
        }
        return STRETTO_OK;
    }

private:
    // "torchrun: RANK=1, WORLD_SIZE=4: ranks 2, 3 did not come within 5 s"
    int explain(int status) {
        std::string text = last_error();
        return set_error_text(status, launch_.origin + ": " + text);
    }

    // The world's state, and behind it the lines of its ranks.
    uint64_t control_bytes() const { return WorldState::bytes(launch_.ranks) + Lines::bytes(launch_.ranks); }

    Member &self() { return members_[size_t(launch_.rank)]; }

    int prepare() {
        Member &me = self();
        // Said now and by every rank, not when some are missing in the middle: rank 0 needs most.
        const std::string all = std::to_string(launch_.ranks) + " ranks";
        if (int status = descriptors_.suffice(3 * launch_.ranks + 8, all.c_str())) return status;
        if (int status = make_memory_file("stretto-heap", &me.heap)) return status;
        me.process = Fd(int(syscall(SYS_pidfd_open, getpid(), 0)));
        if (!me.process.valid()) return set_system_error("pidfd_open, by which lost ranks are noticed (Linux 5.3)");
        if (int status = memory_->reserve(largest_stride())) return status;
        me.hello.rank = launch_.rank;
        me.hello.ranks = launch_.ranks;
        me.hello.pid = getpid();
        me.hello.stride = memory_->stride();
        me.hello.cores = allowed_cores();
        me.arrived = true;
        return STRETTO_OK;
    }

    int map_control(const Fd &file) {
        void *p = mmap(nullptr, control_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        if (p == MAP_FAILED) return set_system_error("mapping the signal lines");
        control_memory_ = p;
        memory_->count_in(static_cast<WorldState *>(p)->taking);
        return STRETTO_OK;
    }

    int map_heaps(uint64_t stride) {
        if (stride != memory_->stride()) {
            if (int status = memory_->reserve(stride)) return status;
            if (memory_->stride() != stride) return set_error(STRETTO_NO_MEMORY, "no room for the heaps of all ranks");
        }
        if (int status = fix_size(self().heap, stride)) return status;
        for (int q = 0; q < launch_.ranks; q++) {
            if (int status = memory_->map(q, members_[size_t(q)].heap)) return status;
        }
        return STRETTO_OK;
    }

    // ---- rank 0

    int host(int prepared) {
        const std::string text = prepared ? last_error() : "";
        Fd listener;
        int status = listen_at(name_, &listener);
        if (prepared) return refuse_all(prepared, text, listener);
        if (!status) status = gather(listener);
        if (!status) status = distribute();
        return status ? refuse_all(status, last_error(), listener) : STRETTO_OK;
    }

    // Nobody is waited for: who reads nothing is not told.
    static void refuse(const Fd &socket, const Message &bad) {
        Deadline now(0);
        send_message(socket, &bad, sizeof bad, {}, now);
    }

    // Those who have come are told, and those who are about to come: they need not wait for the deadline.
    int refuse_all(int status, const std::string &text, const Fd &listener) {
        const Message bad = refusal(0, status, text);
        int missing = 0;
        for (Member &m : members_) {
            if (m.socket.valid()) refuse(m.socket, bad);
            missing += !m.arrived && &m != &self();
        }
        Deadline deadline(status == STRETTO_TIMEOUT ? 0 : std::min(refusing, settings_.timeout));
        while (missing > 0 && listener.valid() && !deadline.passed()) {
            if (strangers_.empty()) {
                pollfd p{listener.get(), POLLIN, 0};
                if (poll(&p, 1, deadline.nap_milliseconds()) > 0)
                    strangers_.emplace_back(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
                continue;
            }
            // What is unread when a socket is closed takes what was sent on it along.
            Message hello;
            receive_message(strangers_.back(), &hello, sizeof hello, 2, nullptr, deadline);
            refuse(strangers_.back(), bad);
            strangers_.pop_back();
            missing--;
        }
        return set_error_text(status, text);
    }

    int missing() {
        std::vector<int> ranks;
        for (int q = 0; q < launch_.ranks; q++) {
            if (!members_[size_t(q)].arrived) ranks.push_back(q);
        }
        return set_error(STRETTO_TIMEOUT,
                         "%s did not come within %g s (STRETTO_TIMEOUT); is each a process on this host that "
                         "makes the same communicator?",
                         rank_list(ranks).c_str(), settings_.timeout);
    }

    int gather(const Fd &listener) {
        for (int arrived = 1; arrived < launch_.ranks;) {
            std::vector<pollfd> events{{listener.get(), POLLIN, 0}};
            for (Fd &s : strangers_) events.push_back({s.get(), POLLIN, 0});
            size_t first_member = events.size();
            std::vector<int> who;
            for (int q = 1; q < launch_.ranks; q++) {
                if (!members_[size_t(q)].arrived) continue;
                events.push_back({members_[size_t(q)].socket.get(), POLLIN, 0});
                who.push_back(q);
            }
            if (deadline_.passed()) return missing();
            if (poll(events.data(), events.size(), deadline_.nap_milliseconds()) < 0) {
                if (errno == EINTR) continue;
                return set_system_error("poll");
            }
            for (size_t i = first_member; i < events.size(); i++) {  // it has nothing to say now: it has ended
                if (events[i].revents) {
                    return set_error(STRETTO_PEER_LOST, "rank %d lost: its process ended while ranks were gathering",
                                     who[i - first_member]);
                }
            }
            for (size_t i = strangers_.size(); i-- > 0;) {
                if (!events[i + 1].revents) continue;
                Fd socket = std::move(strangers_[i]);
                strangers_.erase(strangers_.begin() + long(i));
                if (int status = welcome(std::move(socket), &arrived)) return status;
            }
            if (events[0].revents) {
                Fd socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
                if (!socket.valid() && (errno == EMFILE || errno == ENFILE))
                    return set_system_error("accepting a rank: the limit on open files (ulimit -n)");
                if (socket.valid() && is_own_user(socket)) strangers_.push_back(std::move(socket));
            }
        }
        return STRETTO_OK;
    }

    // A process that has come and says who it is. One that does not speak the protocol is sent away, no more.
    int welcome(Fd socket, int *arrived) {
        Message hello;
        std::vector<Fd> fds;
        int status = receive_message(socket, &hello, sizeof hello, 2, &fds, deadline_);
        if (is_refusal(status, hello)) {
            if (hello.rank > 0 && hello.rank < launch_.ranks) members_[size_t(hello.rank)].arrived = true;
            return set_error(hello.status, "rank %d: %s", hello.rank, hello.text);
        }
        if (status || hello.magic != meeting_protocol) return STRETTO_OK;
        if (hello.ranks != launch_.ranks) {
            status = set_error(STRETTO_INVALID, "rank %d was told that there are %d ranks, rank 0 that there are %d",
                               hello.rank, hello.ranks, launch_.ranks);
        } else if (hello.rank < 0 || hello.rank >= launch_.ranks || members_[size_t(hello.rank)].arrived) {
            status = set_error(
                STRETTO_INVALID, "two processes (%d and %d) say that they are rank %d", int(hello.pid),
                hello.rank >= 0 && hello.rank < launch_.ranks ? int(members_[size_t(hello.rank)].hello.pid) : 0,
                hello.rank);
        }
        if (status) {
            refuse(socket, refusal(0, status, last_error()));
            return status;
        }
        Member &m = members_[size_t(hello.rank)];
        m.socket = std::move(socket);
        m.heap = std::move(fds[0]);
        m.process = std::move(fds[1]);
        m.hello = hello;
        m.arrived = true;
        ++*arrived;
        return STRETTO_OK;
    }

    int distribute() {
        Message plan;
        plan.ranks = launch_.ranks;
        plan.stride = self().hello.stride;
        plan.first_epoch = settings_.first_epoch;
        cpu_set_t all;
        CPU_ZERO(&all);
        for (Member &m : members_) {  // launchers bind each rank to cores of its own
            plan.stride = std::min(plan.stride, m.hello.stride);
            CPU_OR(&all, &all, &m.hello.cores);
        }
        plan.usable_cores = usable_cores(all);

        Fd control;
        if (int status = make_memory_file("stretto-control", &control)) return status;
        if (int status = fix_size(control, control_bytes())) return status;
        if (int status = map_control(control)) return status;
        if (!take_pages(control_memory_, control_bytes())) return set_system_error("memory for the signal lines");
        auto *state = static_cast<WorldState *>(control_memory_);
        state->usable_cores = plan.usable_cores;
        Lines::make(lines_of_all(*state, launch_.ranks), launch_.ranks, settings_.first_epoch);
        if (int status = map_heaps(plan.stride)) return status;

        // One rank after the other: the kernel limits how many descriptors may be under way.
        Deadline deadline(settings_.timeout);
        for (int q = 1; q < launch_.ranks; q++) {
            const Fd &socket = members_[size_t(q)].socket;
            int status = send_message(socket, &plan, sizeof plan, {control.get()}, deadline);
            for (size_t i = 0; !status && i < members_.size(); i++) {
                Member &m = members_[i];
                status = send_message(socket, &m.hello, sizeof m.hello, {m.heap.get(), m.process.get()}, deadline);
            }
            Message ready;
            if (!status) status = receive_message(socket, &ready, sizeof ready, 0, nullptr, deadline);
            if (status == STRETTO_PEER_LOST || status == STRETTO_TIMEOUT) {
                return set_error(status, "rank %d %s while ranks were mapping each other's heaps", q,
                                 status == STRETTO_TIMEOUT ? "did not answer" : "lost: its process ended");
            }
            if (status) return status;
            if (ready.status) return set_error(ready.status, "rank %d: %s", q, ready.text);
        }
        Message go;
        for (int q = 1; q < launch_.ranks; q++) {
            if (int status = send_message(members_[size_t(q)].socket, &go, sizeof go, {}, deadline)) return status;
        }
        return STRETTO_OK;
    }

    // ---- the others

    int from_host(const Fd &socket, Message *message, size_t descriptors, std::vector<Fd> *fds, Deadline &deadline) {
        int status = receive_message(socket, message, sizeof *message, descriptors, fds, deadline);
        if (is_refusal(status, *message)) return set_error_text(message->status, message->text);
        if (status == STRETTO_PEER_LOST) return set_error(status, "rank 0 lost: it ended while ranks were gathering");
        if (status == STRETTO_TIMEOUT) return set_error(status, "rank 0 did not answer within %g s", settings_.timeout);
        if (status) return status;
        if (message->magic != meeting_protocol) return set_error(STRETTO_INVALID, "rank 0 has another version of the runtime");
        return STRETTO_OK;
    }

    int visit(int prepared) {
        Fd socket;
        if (prepared) {  // so that rank 0 need not wait for this one
            Message bad = refusal(launch_.rank, prepared, last_error());
            Deadline deadline(std::min(refusing, settings_.timeout));
            if (connect_to(name_, deadline, &socket) == STRETTO_OK) refuse(socket, bad);
            return set_error_text(prepared, bad.text);
        }
        if (int status = connect_to(name_, deadline_, &socket)) {
            if (status != STRETTO_TIMEOUT) return status;
            return set_error(status,
                             "rank 0 did not come within %g s (STRETTO_TIMEOUT); is each rank a "
                             "process on this host "
                             "that makes the same communicator?",
                             settings_.timeout);
        }
        // Rank 0 has deadlines for everybody; this is for the case that it is stopped.
        Deadline deadline(2 * settings_.timeout + 1);
        Member &me = self();
        if (int status = send_message(socket, &me.hello, sizeof me.hello, {me.heap.get(), me.process.get()}, deadline))
            return status;
        Message plan;
        std::vector<Fd> control;
        if (int status = from_host(socket, &plan, 1, &control, deadline)) return status;
        settings_.first_epoch = plan.first_epoch;
        for (Member &m : members_) {
            std::vector<Fd> fds;
            Message hello;
            if (int status = from_host(socket, &hello, 2, &fds, deadline)) return status;
            if (&m != &me) {
                m.heap = std::move(fds[0]);
                m.hello = hello;
                m.process = std::move(fds[1]);
            }
        }
        int status = map_control(control[0]);
        if (!status) status = map_heaps(plan.stride);
        Message ready = status ? refusal(launch_.rank, status, last_error()) : Message{};
        if (int sent = send_message(socket, &ready, sizeof ready, {}, deadline)) return status ? status : sent;
        if (status) return set_error_text(status, ready.text);
        Message go;
        return from_host(socket, &go, 0, nullptr, deadline);
    }

    const Launch &launch_;
    const std::string &name_;
    Settings settings_;
    const MoreDescriptors descriptors_;
    Deadline deadline_;  // for all to come
    std::vector<Member> members_;
    std::vector<Fd> strangers_;  // have connected, not yet said who they are
    const std::shared_ptr<WindowMemory> memory_;
    void *control_memory_ = nullptr;
};

}  // namespace

int meet(const Launch &launch, const std::string &name, const Settings &settings, WorldParts *world) {
    return Gathering(launch, name, settings).run(world);
}

}  // namespace stretto::runtime
