// What the passes of lower.cpp hand to each other: what a scheduled program touches and does, stage by stage. Neutral between
// back ends; barriers, storage, kernels, the plan and Verify are made from this alone.
#pragma once
#include <variant>
#include "collectives/plan/plan_generated.h"
#include "lang/order.h"

namespace stretto {

// Memory of one tensor on one rank.
struct Buffer {
    std::string name;
    Type type;
    Dims dims;
    int sliced = -1;           // the dimension of which a rank holds its block
    ArgumentId argument = -1;  // -1: scratch
};

struct Loop {
    std::string name;  // the user's
    Dim extent;
    plan::Range range = plan::Range::Whole;
    bool operator==(const Loop &o) const { return extent == o.extent && range == o.range; }
};

// What a stage does with one buffer. Each: a read of every rank's, a write to every rank's. Shift: a write to those ranks that
// would read this one's. reach: for each dimension the loop at whose index the element lies, or any_element.
constexpr int any_element = -1;
struct StageAccess {
    NodeId read = -1, written = -1;  // the values: one of them, or both where an element is updated in place
    plan::From from = plan::From::Own;
    int rank = 0;            // of From::Rank and Shift
    bool cyclic = false;     // of From::Shift
    std::vector<int> reach;  // row-major
    int buffer = -1;         // assign_storage finds it

    plan::How how() const {
        return written < 0 ? plan::How::Read : read < 0 ? plan::How::Write
                                                        : plan::How::Update;
    }
    bool stores_to_ranks() const { return written >= 0 && from != plan::From::Own; }
    bool same_ranks(const StageAccess &o) const { return from == o.from && rank == o.rank && cyclic == o.cyclic; }
};

// One value at the loops' indices, bound to a name. Its expression reads accesses (load), loops (loop_index), earlier bindings
// (bound) and plan scalars (plan_scalar, numbered by Body::scalars).
struct Binding {
    enum Over { Nothing,
                Ranks,  // `value` is the addend of the rank that is loaded from; reduced in rank order, in value's type
                Loops   // the same over the stage's reduced loops, in the order of the stage's kind
    };
    NodeId node = -1;
    Expr value;
    Over over = Nothing;
    ReduceOp op = Sum;
};
struct Stored {
    int binding, access;
};
struct Body {
    std::vector<int> scalars;  // of the graph
    std::vector<Binding> bindings;
    std::vector<Stored> stored;  // in the order of accesses
};

// Element `indices` (row-major) of what access k of the stage reads: a read as the graph has them, by number.
inline Expr load(int k, const Type &t, const std::vector<Expr> &indices) { return access(k, t, indices); }
std::string loop_name(int loop);       // in bodies loops have names of their own, so that bodies can be compared
std::string binding_name(int number);  // for Halide's Let
inline Expr loop_index(int loop) { return index(loop_name(loop)); }
int loop_number(const Expr &);  // -1 if it is no loop's index
Expr bound(const Body &, int number);
int bound_number(const Expr &);  // -1 if it is no binding's name

struct Stage {
    plan::StageKind kind = plan::StageKind::Sweep;
    std::vector<NodeId> nodes;  // in the order of computation
    std::vector<Loop> loops;    // the first `outputs` are the result's dimensions, the rest is reduced
    int outputs = 0;
    std::vector<StageAccess> accesses;
    Body body;
    Order order = Order::Chain;  // of a reduction over loops
    int vectorize = 0;           // lanes asked for; 0: the target's
    bool rides = false;          // block sums that follow the sweep before them chunk by chunk
};

// Where ranks wait for each other before the next item, if it and what came before clash in one of the buffers.
struct Sync {
    std::vector<int> buffers;
    bool always = true;  // they do on every path through earlier choices
};

// Two stages that compute the same, of which the runtime takes one by bytes and ranks.
struct Choice {
    Stage one_shot, two_phases;
};
using Item = std::variant<Stage, Sync, Choice>;

struct Lowering {
    Graph graph;
    std::vector<Buffer> buffers;
    std::vector<Item> items;
};

// Every stage, those of choices one after the other.
template <class Items, class F>
void for_each_stage(Items &items, const F &f) {
    for (auto &item : items) {
        if (auto *s = std::get_if<Stage>(&item)) f(*s);
        if (auto *c = std::get_if<Choice>(&item)) {
            f(c->one_shot);
            f(c->two_phases);
        }
    }
}
// The stage at items[at] and those that ride in it.
std::vector<const Stage *> with_riders(const std::vector<Item> &, size_t at);

// Is the element that a stage computes the one that it accesses?
bool is_own_element(const Stage &, const StageAccess &);
// Does this loop of a stage run over the rank's slice, or over the rank's block?
bool at_own_slice(const Stage &, const Loop &);

}  // namespace stretto
