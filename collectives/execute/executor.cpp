// stretto_execute_v1: bind the arguments, agree with the other ranks, run the stages.
#include <algorithm>
#include <cstring>
#include <new>

#include "collectives/base/error.h"
#include "collectives/base/settings.h"
#include "collectives/comm/comm.h"
#include "collectives/execute/arena.h"
#include "collectives/execute/bind.h"
#include "collectives/execute/cache.h"
#include "collectives/execute/copy.h"
#include "collectives/execute/flight.h"
#include "collectives/execute/instance.h"
#include "collectives/execute/kernel_error.h"
#include "collectives/execute/sweep.h"

namespace stretto::runtime {
namespace {

constexpr size_t most_instances = 8;  // of one program: shapes that take turns, as the layers of a model do

// What a communicator keeps for its calls.
class Executor {
public:
    explicit Executor(stretto_comm_t &comm)
        : comm_(comm), t_(*comm.transport), arena_(if_messages(t_)), published_(&t_), bounced_(&t_), flights_(comm) {
        for (int q = 0; q < t_.ranks(); q++) hosts_.push_back(t_.host(q));
    }

    int run(const halide_buffer_t *plan_bytes, Dispatch dispatch, void **argv) {
        const char *name = "stretto_execute_v1";
        try {
            Program &program = cache_.find(plan_bytes, dispatch);
            name = program.plan.name.c_str();
            Instance &in = bind(program, argv);
            Execution x{comm_, program, in, dispatch, reserve(arena_, in.arena_bytes, "scratch"), flights_};
            // After a failure peers may still be in that call and load what this rank published: that is not touched again.
            if (in.windows)
                if (int status = t_.poll()) return status;
            place(x, argv);
            return perform(x, argv);
        } catch (const Refusal &refusal) { return refuse(refusal, name); }
    }

private:
    int perform(Execution &x, void **argv) {
        carry_on_messages(x);
        if (int status = enter(x, argv)) return status;
        if (int status = scalars(x, argv)) return status;
        if (int status = check_requires(x, argv)) return status;
        if (int status = stages(x)) return status;
        copy(x, argv, Out);
        return STRETTO_OK;
    }

    stretto_comm_t &comm_;
    Transport &t_;
    std::vector<int> hosts_;  // by rank
    PlanCache cache_;
    Arena arena_, published_, bounced_;
    Flights flights_;
    Shape shape_;
    // Where empty buffers are: Halide takes a null pointer for a question about bounds, and computes nothing.
    alignas(64) uint8_t nothing_[64] = {};
    std::vector<std::pair<int, uint64_t>> copies_;  // buffers that this call copies to where peers reach them, and where to

    // Nothing has been stored: where every rank refuses, whatever for, the communicator stays in use.
    int refuse(const Refusal &refusal, const std::string &name) {
        const std::string text = name + ": " + refusal.what();
        if (t_.ranks() > 1) {
            Descriptor d;
            strncpy(d.name, name.c_str(), sizeof d.name - 1);
            d.sequence = comm_.sequence - 1;
            d.refused = refusal.status;
            d.refusal = text.c_str();
            d.hash = hash_bytes(&d.sequence, sizeof d.sequence, hash_bytes("refused", 7));
            if (int broken = t_.enter(d, nullptr, 0)) return broken;
            if (int broken = t_.leave(false)) return broken;
        }
        return set_error_text(refusal.status, text);
    }

    // Where messages come to this rank's scratch, that is memory of which the transport knows.
    static Transport *if_messages(Transport &t) {
        for (int q = 0; q < t.ranks(); q++)
            if (!t.direct(q)) return &t;
        return nullptr;
    }

    static uint8_t *reserve(Arena &arena, uint64_t bytes, const char *what) {
        uint8_t *memory = arena.reserve(bytes);
        if (memory || !bytes) return memory;
        throw Refusal("no memory for " + std::to_string(bytes) + " bytes of " + what, STRETTO_NO_MEMORY);
    }

    static halide_buffer_t *buffer(void **argv, int argument) {
        return static_cast<halide_buffer_t *>(argv[argument]);
    }

    // ---- arguments

    Instance &bind(Program &program, void **argv) {
        read_shape(program.plan, argv, &shape_);
        auto &list = program.instances;
        size_t i = 0;
        while (i < list.size() && list[i]->shape != shape_) i++;
        if (i == list.size()) {
            auto made = prepare(program, shape_, argv, t_.rank(), hosts_);
            if (list.size() >= most_instances) list.pop_back();
            list.push_back(std::move(made));
            i = list.size() - 1;
        }
        if (i) std::rotate(list.begin(), list.begin() + long(i), list.begin() + long(i) + 1);
        Instance &in = *list[0];
        // The same addresses as in the last call have been checked.
        bool known = true;
        for (size_t a = 0; a < program.plan.arguments.size(); a++) {
            if (program.plan.arguments[a]->scalar) continue;
            halide_buffer_t *b = buffer(argv, int(a));
            known &= in.hosts[a] == b->host && b->host && !(b->flags & 2);
        }
        if (known) return in;
        check_memory(program.plan, argv, in.arguments);
        for (size_t a = 0; a < program.plan.arguments.size(); a++)
            if (!program.plan.arguments[a]->scalar) in.hosts[a] = buffer(argv, int(a))->host;
        return in;
    }

    // ---- where this rank's buffers are

    void place(Execution &x, void **argv) {
        Instance &in = x.instance;
        copies_.clear();
        uint8_t *scratch = reserve(published_, in.published_bytes, "scratch that peers reach");
        uint64_t copied = 0;
        for (int b = 0; b < int(in.buffers.size()); b++) {
            auto &buffer_ = in.buffers[size_t(b)];
            int argument = x.program.plan.buffers[size_t(b)]->argument;
            uint8_t *&base = in.base(in.rank, b);
            if (argument < 0) base = (buffer_.published ? scratch : x.arena) + buffer_.offset;
            else base = buffer(argv, argument)->host;
            if (!base) base = nothing_;
            if (argument < 0 || !buffer_.published || is_reachable(in, b, argument, base)) continue;
            if (heap_required()) refuse_copy(x, argument);
            copies_.push_back({b, copied});
            copied += round_up(buffer_.own.bytes());
        }
        if (!copies_.empty()) {
            uint8_t *memory = reserve(bounced_, copied, "copies of arguments that are not in the heap of stretto_malloc");
            for (auto &[b, offset] : copies_) in.base(in.rank, b) = memory + offset;
            copy(x, argv, In);
        }
        if (in.carried_bytes) {
            uint8_t *operands = static_cast<uint8_t *>(t_.carry(in.rank, in.carried_bytes));
            for (size_t b = 0; b < in.buffers.size(); b++)
                if (in.buffers[b].carried >= 0)
                    memcpy(operands + in.buffers[b].carried, in.base(in.rank, int(b)), in.buffers[b].own.bytes());
            return;
        }
        for (size_t i = 0; i < in.places.size(); i++) {
            int b = in.published[i];
            in.places[i] = {in.base(in.rank, b), in.buffers[size_t(b)].own.bytes()};
        }
    }

    bool is_reachable(const Instance &in, int b, int argument, const uint8_t *host) const {
        const Geometry &g = in.arguments[size_t(argument)];
        return in.buffers[size_t(b)].own.elements() == 0 ||
               (g.dense() && (in.carried_bytes || t_.reachable(host, g.bytes())));
    }

    [[noreturn]] static void refuse_copy(const Execution &x, int argument) {
        bool dense = x.instance.arguments[size_t(argument)].dense();
        throw Refusal("argument " + x.program.plan.arguments[size_t(argument)]->name +
                      (dense ? " is not in the heap of stretto_malloc" : " is not dense") +
                      " and would have to be copied, which STRETTO_REQUIRE_HEAP=1 forbids");
    }

    enum Direction { In,
                     Out };
    // Between the arguments and their copies: in what is read, before the call; out what is written, after it.
    void copy(Execution &x, void **argv, Direction direction) {
        for (auto &[b, offset] : copies_) {
            const int argument = x.program.plan.buffers[size_t(b)]->argument;
            const plan::Access access = x.program.plan.arguments[size_t(argument)]->access;
            if (access == (direction == In ? plan::Access::Output : plan::Access::Input)) continue;
            const Geometry &theirs = x.instance.arguments[size_t(argument)], &own = x.instance.buffers[size_t(b)].own;
            uint8_t *host = buffer(argv, argument)->host, *base = x.instance.base(x.instance.rank, b);
            if (direction == In) copy_box(base, own, host, theirs, own.box());
            else copy_box(host, theirs, base, own, theirs.box());
            comm_.stats.bytes_bounced += own.bytes();
        }
    }

    // ---- scalars

    int scalars(Execution &x, void **argv) {
        const auto &plan = x.program.plan;
        if (plan.cpu->scalar_kernel < 0) return STRETTO_OK;
        scalar_argv_.clear();
        for (size_t a = 0; a < plan.arguments.size(); a++)
            if (plan.arguments[a]->scalar) scalar_argv_.push_back(argv[a]);
        scalar_argv_.insert(scalar_argv_.end(), x.instance.scalar_argv.begin(), x.instance.scalar_argv.end());
        int code = x.dispatch(plan.cpu->scalar_kernel, scalar_argv_.data());
        if (code == 0) return STRETTO_OK;
        return fail(x, STRETTO_KERNEL,
                    "kernel " + std::to_string(plan.cpu->scalar_kernel) + ", of the scalars, returned " +
                        std::to_string(code));
    }
    std::vector<void *> scalar_argv_;

    // After enter, when all ranks are known to have the same scalars: so all of them refuse, and may call again.
    int check_requires(Execution &x, void **argv) {
        const auto &plan = x.program.plan;
        for (auto &r : plan.requires_) {
            if (x.instance.scalars[size_t(r->scalar)] & 0xff) continue;
            std::string values;
            for (int a : r->arguments) {
                values += (values.empty() ? " (" : ", ") + plan.arguments[size_t(a)]->name + " = " +
                          scalar_text(plan.arguments[size_t(a)]->type, argv[a]);
            }
            if (!x.alone())
                if (int status = t_.leave(false)) return status;
            return set_error_text(STRETTO_REQUIRE,
                                  plan.name + ": " + r->text + values + (values.empty() ? "" : ")"));
        }
        return STRETTO_OK;
    }

    // ---- with the other ranks

    int enter(Execution &x, void **argv) {
        Instance &in = x.instance;
        if (x.alone()) {
            if (int status = t_.poll()) return status;
        } else {
            describe(x, argv);
            const size_t places = in.carried_bytes ? 0 : in.places.size();
            if (int status = t_.enter(in.descriptor, in.places.data(), int(places))) return status;
            comm_.stats.barriers++;
            for (int q = 0; q < in.ranks; q++) {
                if (q == in.rank || !in.near[size_t(q)]) continue;
                for (size_t i = 0; i < places; i++) {
                    void *theirs = t_.at(q, int(i));
                    in.base(q, in.published[i]) = theirs ? static_cast<uint8_t *>(theirs) : nothing_;
                }
            }
        }
        // Every rank has come, so none is in an earlier call and uses what was there before.
        published_.release_old();
        bounced_.release_old();
        arena_.release_old();
        for (auto &slot : in.slots) {
            const int carried = in.buffers[size_t(slot.buffer)].carried;
            if (carried >= 0 && slot.rank != in.rank) {
                auto *operands = static_cast<const uint8_t *>(t_.carried(slot.rank, in.carried_bytes));
                slot.view->buffer.host = const_cast<uint8_t *>(operands) + carried;  // loaded only
            } else {
                slot.view->buffer.host = in.base(slot.rank, slot.buffer);
            }
        }
        return STRETTO_OK;
    }

    void describe(Execution &x, void **argv) {
        Instance &in = x.instance;
        Descriptor &d = in.descriptor;
        const auto &plan = x.program.plan;
        d.sequence = comm_.sequence - 1;
        d.mxcsr = floating_point_mode();
        in.hashed[1] = d.mxcsr;
        uint64_t *scalars = in.hashed.data() + in.hashed.size() - size_t(d.scalar_count);
        int n = 0;
        for (size_t a = 0; a < plan.arguments.size(); a++) {
            if (!plan.arguments[a]->scalar) continue;
            scalars[n] = scalar_bits(plan.arguments[a]->type, argv[a]);
            if (n < 16) d.scalars[n] = scalars[n];
            n++;
        }
        d.hash = hash_bytes(in.hashed.data(), in.hashed.size() * sizeof(uint64_t), d.sequence);
    }

    int stages(Execution &x) {
        for (auto &stage : x.instance.stages) {
            if (stage.plan->rides) continue;  // in the one before it
            if (stage.barrier) {
                comm_.stats.barriers++;
                if (int status = t_.barrier()) return status;
            }
            if (int status = x.instance.messages ? run_on_messages(x, stage) : run_on_windows(x, stage)) return status;
        }
        if (x.alone()) return STRETTO_OK;
        comm_.stats.barriers += x.instance.leave;
        return t_.leave(x.instance.leave);
    }
};

}  // namespace
}  // namespace stretto::runtime

using namespace stretto::runtime;

extern "C" int stretto_execute_v1(stretto_comm_t *comm, const halide_buffer_t *plan,
                                  int (*dispatch)(int kernel, void **argv), void **argv) {
    CommUse use(comm, "stretto_execute_v1");
    if (use.status()) return use.status();
    KeepKernelErrors keep;
    comm->sequence++;
    comm->stats.calls++;
    try {
        if (!comm->executor_state) comm->executor_state = std::make_shared<Executor>(*comm);
        return static_cast<Executor *>(comm->executor_state.get())->run(plan, dispatch, argv);
    } catch (const std::bad_alloc &) {
        const char *text = "stretto_execute_v1: no memory to prepare the program";
        Transport &t = *comm->transport;
        return t.ranks() == 1 ? set_error(STRETTO_NO_MEMORY, "%s", text) : t.fail(STRETTO_NO_MEMORY, text);
    }
}
