// Every lowering of the shared programs verifies; and each way of breaking one is caught by the rule that names it.
#include "lower/verify.h"
#include <doctest/doctest.h>
#include <algorithm>
#include "../programs.h"
#include "lower/kernels.h"
#include "lower/lower.h"

using namespace stretto;

namespace {

test::ScheduledProgram program(const std::string &wanted) {
    for (auto &[name, make] : test::all_programs())
        if (name == wanted) return make();
    throw Error("no program " + wanted);
}

Lowering lowering(const std::string &name, const std::string &schedule) {
    test::ScheduledProgram p = program(name);
    for (auto &[n, s] : p.schedules)
        if (n == schedule) return lower_to_stages(s.graph());
    throw Error("no schedule " + schedule);
}

int buffer_named(const Lowering &l, const std::string &name) {
    for (size_t b = 0; b < l.buffers.size(); b++)
        if (l.buffers[b].name == name) return int(b);
    throw Error("no buffer " + name);
}

// The stage that computes a tensor, and its access that stores or reads one.
Stage &stage_of(Lowering &l, const std::string &node) {
    Stage *found = nullptr;
    const NodeId id = l.graph.find(node)->id;
    for_each_stage(l.items, [&](Stage &s) {
        if (!found && std::count(s.nodes.begin(), s.nodes.end(), id)) found = &s;
    });
    REQUIRE(found);
    return *found;
}
StageAccess &store_of(Lowering &l, const std::string &node) {
    const NodeId id = l.graph.find(node)->id;
    for (auto &a : stage_of(l, node).accesses)
        if (a.written == id) return a;
    throw Error("no store of " + node);
}
StageAccess &read_in(Stage &s, const Lowering &l, const std::string &node) {
    for (auto &a : s.accesses)
        if (a.read >= 0 && l.graph.at(a.read).name == node) return a;
    throw Error("no read of " + node);
}
Binding &binding_of(Lowering &l, const std::string &node) {
    const NodeId id = l.graph.find(node)->id;
    for (auto &b : stage_of(l, node).body.bindings)
        if (b.node == id) return b;
    throw Error("no binding of " + node);
}
template <class T>
T *first(Lowering &l) {
    for (auto &item : l.items)
        if (auto *x = std::get_if<T>(&item)) return x;
    throw Error("no such item");
}
void drop_syncs(Lowering &l, bool last_too) {
    for (size_t i = l.items.size(); i-- > 0;)
        if (std::holds_alternative<Sync>(l.items[i]) && (last_too || i + 1 < l.items.size()))
            l.items.erase(l.items.begin() + long(i));
}

// `broken` must be refused by `rule`.
void caught(const Lowering &broken, const std::string &rule) {
    std::string fault = verify(broken);
    CHECK_MESSAGE(fault.substr(0, fault.find(':')) == rule, "expected " << rule << ", got '" << fault << "'");
}

}  // namespace

TEST_CASE("lowerings of all programs and schedules verify") {
    int count = 0;
    for (auto &[name, make] : test::all_programs()) {
        test::ScheduledProgram p = make();
        for (auto &[schedule, s] : p.schedules) {
            INFO(name << ", " << schedule);
            CHECK(verify(lower_to_stages(s.graph())) == "");
            count++;
        }
    }
    CHECK(count > 30);
}

TEST_CASE("mutated lowerings are caught") {
    SUBCASE("a stage is missing") {
        Lowering l = lowering("sgd", "default");
        l.items.erase(l.items.begin());
        caught(l, "once");
    }
    SUBCASE("a node is computed twice") {
        Lowering l = lowering("sgd", "default");
        l.items.insert(l.items.begin(), l.items[0]);
        caught(l, "once");
    }
    SUBCASE("a node is computed and bound nowhere") {
        Lowering l = lowering("adam", "fused");
        stage_of(l, "avg").nodes.pop_back();
        caught(l, "once");
    }
    SUBCASE("two nodes of a sweep change places") {
        Lowering l = lowering("adam", "fused");
        auto &bindings = stage_of(l, "avg").body.bindings;
        std::swap(bindings[1], bindings[2]);
        caught(l, "order");
    }
    SUBCASE("what is passed on goes to another rank, or to none") {
        for (int change = 0; change < 3; change++) {
            Lowering l = lowering("passed_on", "ends");
            StageAccess &a = store_of(l, "kept");
            if (change == 0) a.rank = 2;
            if (change == 1) a.cyclic = true;
            if (change == 2) a.from = plan::From::Own;
            caught(l, "owner");
        }
    }
    SUBCASE("nobody waits for what is passed on") {
        Lowering l = lowering("passed_on", "ends");
        drop_syncs(l, false);
        caught(l, "barrier");
    }
    SUBCASE("a value that another stage reads is not stored") {
        Lowering l = lowering("sgd", "default");
        auto &arm = first<Choice>(l)->one_shot;
        arm.body.stored.clear();
        caught(l, "body");
    }
    SUBCASE("a value has no buffer") {
        Lowering l = lowering("sgd", "split");
        store_of(l, "gsum.rs").buffer = -1;
        caught(l, "stored");
    }
    SUBCASE("stages change places") {
        Lowering l = lowering("adam", "on_slices");
        Stage &a = stage_of(l, "gsum.rs"), &b = stage_of(l, "avg");
        std::swap(a, b);
        caught(l, "version");
    }
    SUBCASE("an argument is overwritten while its value at entry is needed") {
        Lowering l = lowering("exchange", "default");
        // The copies at the end go; the values are stored straight into the arguments.
        store_of(l, "p1").buffer = buffer_named(l, "p");
        store_of(l, "q1").buffer = buffer_named(l, "q");
        CHECK(verify(l) != "");
    }
    SUBCASE("two values share a buffer") {
        Lowering l = lowering("adam", "fused");
        store_of(l, "m1").buffer = store_of(l, "v1").buffer;
        caught(l, "version");
    }
    SUBCASE("the gather does not reach the other ranks") {
        Lowering l = lowering("adam", "fused");
        store_of(l, "p1.ag").from = plan::From::Own;
        caught(l, "shape");
    }
    SUBCASE("every rank stores everything to every rank") {
        Lowering l = lowering("sgd", "fused");
        stage_of(l, "p1.ag").loops[0].range = plan::Range::Whole;
        caught(l, "owner");
    }
    SUBCASE("in place is not declared") {
        Lowering l = lowering("adam", "fused");
        Stage &s = stage_of(l, "m1");
        StageAccess write = store_of(l, "m1");
        for (size_t k = 0; k < s.accesses.size(); k++) {
            if (s.accesses[k].written != write.written) continue;
            for (auto &stored : s.body.stored)
                if (stored.access == int(k)) stored.access = int(s.accesses.size());
            s.accesses[k].written = -1;
        }
        write.read = -1;
        s.accesses.push_back(write);
        caught(l, "in place");
    }
    SUBCASE("in place is declared where nothing is read") {
        Lowering l = lowering("sgd", "default");
        for (Stage *arm : {&first<Choice>(l)->one_shot, &first<Choice>(l)->two_phases})
            arm->accesses.back().read = l.graph.find("p")->id;
        caught(l, "in place");
    }
    SUBCASE("a whole vector goes where a slice belongs") {
        Lowering l = lowering("adam", "fused");
        l.buffers[size_t(buffer_named(l, "m"))].sliced = -1;
        caught(l, "shape");
    }
    SUBCASE("an input is written") {
        Lowering l = lowering("sgd", "fused");
        l.graph.arguments[1].access = Access::Input;
        caught(l, "input");
    }
    SUBCASE("the sync after a two-phase all-reduce is gone") {
        Lowering l = lowering("sgd", "default");
        drop_syncs(l, false);
        caught(l, "barrier");
    }
    SUBCASE("the sync after a gather is gone") {
        Lowering l = lowering("sgd", "split");
        drop_syncs(l, false);
        caught(l, "barrier");
    }
    SUBCASE("a sync orders another buffer than the one that clashes") {
        Lowering l = lowering("sgd", "split");
        first<Sync>(l)->buffers = {buffer_named(l, "g")};
        caught(l, "barrier");
    }
    SUBCASE("no sync at the end, after peers loaded the gradient") {
        Lowering l = lowering("sgd", "fused");
        drop_syncs(l, true);
        caught(l, "leave");
    }
    SUBCASE("a result is not stored") {
        Lowering l = lowering("adam", "fused");
        Stage &s = stage_of(l, "v1");
        StageAccess &a = store_of(l, "v1");
        const int k = int(&a - s.accesses.data());
        for (size_t i = 0; i < s.body.stored.size(); i++)
            if (s.body.stored[i].access == k) s.body.stored.erase(s.body.stored.begin() + long(i--));
        a.written = -1;
        caught(l, "result");
    }
    SUBCASE("peers push into what another element's computation reads") {
        Lowering l = lowering("neighbour", "on_slices");
        // By hand what the verb fuse refuses: p is read at i - 1 and pushed to every rank in one sweep.
        Stage &s = stage_of(l, "p1");
        StageAccess push = store_of(l, "p1");
        push.buffer = buffer_named(l, "p");
        push.from = plan::From::Each;
        store_of(l, "p1") = push;
        caught(l, "race");
        (void)s;
    }
    // ---- accesses and bodies
    SUBCASE("an access says less than the body reads") {
        Lowering l = lowering("neighbour", "default");
        read_in(stage_of(l, "p1"), l, "p").reach = {0};
        caught(l, "region");
    }
    SUBCASE("an access of no read") {
        Lowering l = lowering("sgd", "default");
        Stage &s = stage_of(l, "p1");
        s.accesses.push_back(read_in(s, l, "gsum"));
        caught(l, "region");
    }
    SUBCASE("the gradient is loaded from the own rank only") {
        Lowering l = lowering("sgd", "fused");
        read_in(stage_of(l, "p1"), l, "g").from = plan::From::Own;
        caught(l, "region");
    }
    SUBCASE("a slice is read as if it were whole") {
        Lowering l = lowering("adam", "on_slices");
        Stage &s = stage_of(l, "avg");
        for (auto &loop : s.loops) loop.range = plan::Range::Whole;
        caught(l, "slice");
    }
    SUBCASE("a sum over ranks is missing in a body") {
        Lowering l = lowering("sgd", "fused");
        for (auto &b : stage_of(l, "p1").body.bindings) b.over = Binding::Nothing;
        caught(l, "region");  // its load is of every rank still
    }
    SUBCASE("a contraction is missing in a body") {
        Lowering l = lowering("row_parallel", "default");
        binding_of(l, "y").over = Binding::Nothing;
        caught(l, "body");
    }
    SUBCASE("a sum is a maximum") {
        Lowering l = lowering("sgd", "fused");
        binding_of(l, "gsum.rs").op = Max;
        caught(l, "body");
    }
    SUBCASE("a value is computed otherwise") {
        Lowering l = lowering("adam", "fused");
        Binding &b = binding_of(l, "avg");
        b.value = b.value + 1.0f;
        caught(l, "body");
    }
    SUBCASE("a body has another plan scalar") {
        Lowering l = lowering("adam", "fused");
        auto &scalars = stage_of(l, "avg").body.scalars;
        std::swap(scalars[0], scalars[1]);
        caught(l, "body");
    }
    SUBCASE("another value is stored than the access says") {
        Lowering l = lowering("adam", "fused");
        auto &stored = stage_of(l, "m1").body.stored;
        std::swap(stored[0].binding, stored[1].binding);
        caught(l, "body");
    }
    // ---- choices
    SUBCASE("both arms of a choice store to the own rank") {
        Lowering l = lowering("sgd", "default");
        first<Choice>(l)->two_phases.accesses.back().from = plan::From::Own;
        caught(l, "shape");
    }
    SUBCASE("an arm in one shot stores to every rank") {
        Lowering l = lowering("sgd", "default");
        first<Choice>(l)->one_shot.accesses.back().from = plan::From::Each;
        caught(l, "owner");
    }
    SUBCASE("an arm computes another tensor") {
        Lowering l = lowering("sgd", "default");
        first<Choice>(l)->two_phases = stage_of(l, "p1");
        CHECK(verify(l) != "");
    }
}

TEST_CASE("a wait that one combination of four choices needs") {
    Size n{"n"}, m{"m"};
    Var i{"i"};
    Input<Tensor> g0{"g0", f32, {n}, partial(Sum)}, g2{"g2", f32, {n}, partial(Sum)};
    Input<Tensor> g1{"g1", f32, {m}, partial(Sum)}, g3{"g3", f32, {m}, partial(Sum)};
    Output<Tensor> y{"y", f32, {n}}, z{"z", f32, {m}};
    Tensor s0{"s0"}, s1{"s1"}, s2{"s2"}, s3{"s3"};
    s0 = all_reduce(g0);
    s1 = all_reduce(g1);
    s2 = all_reduce(g2);
    s3 = all_reduce(g3);
    y(i) = s0(i) + s2(i);
    z(i) = s1(i) + s3(i);
    Lowering l = lower_to_stages(Schedule(Program{"sums", {g0, g1, g2, g3, y, z}}).graph());
    CHECK(std::count_if(l.items.begin(), l.items.end(), [](auto &x) { return std::holds_alternative<Choice>(x); }) == 4);
    CHECK(verify(l) == "");
    // Now nobody waits where s0 goes in two phases and s2 in one shot.
    auto &waits = first<Sync>(l)->buffers;
    waits.erase(std::remove(waits.begin(), waits.end(), buffer_named(l, "s0")), waits.end());
    caught(l, "barrier");
}

TEST_CASE("a tensor that is read at its own element and at another one is accessed at any") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> y{"y", f32, {n}};
    y(i) = x(i) - x(max(i - 1, 0));
    Lowering l = lower_to_stages(Schedule(Program{"differences", {x, y}}).graph());
    const StageAccess &read = read_in(stage_of(l, "y"), l, "x");
    CHECK(read.reach == std::vector<int>{any_element});
}

TEST_CASE("kernels are shared by equal bodies only") {
    const Lowering good = lowering("adam", "fused");
    auto with = [&](const std::function<void(Stage &)> &change) {
        Lowering l = good;
        Stage other = stage_of(l, "avg");
        change(other);
        return equal_bodies(l, stage_of(l, "avg"), other);
    };
    CHECK(with([](Stage &) {}));
    CHECK(with([](Stage &s) { s.loops[0].extent = Dim{Dim::Constant, 7}; }));
    CHECK(!with([](Stage &s) { s.loops.push_back(s.loops[0]); }));
    CHECK(!with([](Stage &s) { s.outputs = 0; }));
    CHECK(!with([](Stage &s) { s.vectorize = 4; }));
    CHECK(!with([](Stage &s) { s.kind = plan::StageKind::Fold; }));
    CHECK(!with([](Stage &s) { s.accesses[0].from = plan::From::Own; }));
    CHECK(!with([](Stage &s) { s.accesses[0].reach = {any_element}; }));
    CHECK(!with([](Stage &s) { s.accesses.back().read = -1; }));
    CHECK(!with([](Stage &s) { s.body.stored.pop_back(); }));
    CHECK(!with([](Stage &s) { s.body.bindings[0].op = Max; }));
    CHECK(!with([](Stage &s) { s.body.bindings[0].over = Binding::Nothing; }));
    CHECK(!with([](Stage &s) { s.body.bindings[1].value = s.body.bindings[1].value * 1.0000001f; }));
    CHECK(!with([](Stage &s) { std::swap(s.body.bindings[1], s.body.bindings[2]); }));
    // The number of ranks may be a constant of the kernel; which other scalar it is does not matter.
    CHECK(!with([&](Stage &s) { s.body.scalars[0] = s.body.scalars[1]; }));
    CHECK(with([&](Stage &s) { s.body.scalars[1] = s.body.scalars[2]; }));
}
