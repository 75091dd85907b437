// Every lowering of the shared programs verifies; and each way of breaking one is caught by the rule that names it.
#include "lower/verify.h"
#include <doctest/doctest.h>
#include "../programs.h"
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

StageStore &store_of(Lowering &l, const std::string &node) {
    for (auto &s : l.stages)
        for (auto &st : s.stores)
            if (l.graph.at(st.node).name == node) return st;
    throw Error("no store of " + node);
}

Stage &stage_of(Lowering &l, const std::string &node) {
    return l.stages[l.stage_of.at(l.graph.find(node)->id)];
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
        l.stages.pop_back();
        caught(l, "once");
    }
    SUBCASE("a node is computed twice") {
        Lowering l = lowering("sgd", "default");
        l.stages[1].nodes.insert(l.stages[1].nodes.begin(), l.stages[0].nodes[0]);
        caught(l, "once");
    }
    SUBCASE("two nodes of a sweep change places") {
        Lowering l = lowering("adam", "fused");
        std::swap(l.stages[0].nodes[1], l.stages[0].nodes[2]);
        caught(l, "order");
    }
    SUBCASE("a gathered value is read inside of the sweep that gathers it") {
        Lowering l = lowering("sgd", "split");
        for (NodeId id : l.stages[1].nodes) l.stages[0].nodes.push_back(id);
        for (NodeId id : l.stages[2].nodes) l.stages[0].nodes.push_back(id);
        l.stages.resize(1);
        caught(l, "order");
    }
    SUBCASE("a value that another stage reads is not stored") {
        Lowering l = lowering("sgd", "default");
        l.buffer_of.erase(l.graph.find("gsum")->id);
        caught(l, "stored");
    }
    SUBCASE("stages change places") {
        Lowering l = lowering("sgd", "default");
        std::swap(l.stages[0], l.stages[1]);
        caught(l, "version");
    }
    SUBCASE("an argument is overwritten while its value at entry is needed") {
        Lowering l = lowering("exchange", "default");
        // The copies at the end go; the values are stored straight into the arguments.
        NodeId p1 = l.graph.find("p1")->id, q1 = l.graph.find("q1")->id;
        for (auto &s : l.stages)
            for (auto &st : s.stores) {
                if (st.node == p1) st.buffer = l.buffer_of[p1] = buffer_named(l, "p");
                if (st.node == q1) st.buffer = l.buffer_of[q1] = buffer_named(l, "q");
            }
        CHECK(verify(l) != "");
    }
    SUBCASE("two values share a buffer") {
        Lowering l = lowering("adam", "fused");
        store_of(l, "m1").buffer = store_of(l, "v1").buffer;
        caught(l, "version");
    }
    SUBCASE("the gather does not reach the other ranks") {
        Lowering l = lowering("adam", "fused");
        store_of(l, "p1.ag").all = false;
        caught(l, "shape");
    }
    SUBCASE("every rank stores everything to every rank") {
        Lowering l = lowering("sgd", "fused");
        Stage &s = stage_of(l, "p1.ag");
        s.slice = -1;
        s.ranges[0] = plan::Range::Whole;
        caught(l, "owner");
    }
    SUBCASE("in place is not declared") {
        Lowering l = lowering("adam", "fused");
        store_of(l, "m1").in_place = false;
        caught(l, "in place");
    }
    SUBCASE("in place is declared where nothing is read") {
        Lowering l = lowering("sgd", "default");
        store_of(l, "gsum").in_place = true;
        caught(l, "in place");
    }
    SUBCASE("a whole vector goes where a slice belongs") {
        Lowering l = lowering("adam", "fused");
        l.buffers[buffer_named(l, "m")].sliced = -1;
        caught(l, "shape");
    }
    SUBCASE("an input is written") {
        Lowering l = lowering("sgd", "fused");
        l.graph.arguments[1].access = Access::Input;
        caught(l, "input");
    }
    SUBCASE("a buffer that peers load is not marked") {
        Lowering l = lowering("sgd", "fused");
        l.buffers[buffer_named(l, "g")].peers = false;
        caught(l, "peers");
    }
    SUBCASE("the barrier after a two-phase all-reduce is gone") {
        Lowering l = lowering("sgd", "default");
        for (auto &s : l.stages) s.barrier_two_phase = false;
        caught(l, "barrier");
    }
    SUBCASE("the barrier after a gather is gone") {
        Lowering l = lowering("sgd", "split");
        for (auto &s : l.stages) s.barrier_one_shot = s.barrier_two_phase = false;
        caught(l, "barrier");
    }
    SUBCASE("no barrier at the end, after peers loaded the gradient") {
        Lowering l = lowering("sgd", "fused");
        l.leave_one_shot = false;
        caught(l, "leave");
    }
    SUBCASE("a result is not stored") {
        Lowering l = lowering("adam", "fused");
        auto &stores = l.stages[0].stores;
        for (size_t i = 0; i < stores.size(); i++)
            if (l.graph.at(stores[i].node).name == "v1") stores.erase(stores.begin() + long(i--));
        caught(l, "result");
    }
    SUBCASE("peers push into what another element's computation reads") {
        Lowering l = lowering("neighbour", "on_slices");
        // Fuse by hand what the verb refuses: p is read at i - 1 and pushed to every rank in one sweep.
        Stage &last = l.stages.back();
        CHECK(last.nodes.size() >= 1);
        NodeId p1 = l.graph.find("p1")->id;
        Stage &s = stage_of(l, "p1");
        NodeId gather = l.graph.find("p1.ag")->id;
        s.nodes.push_back(gather);
        s.stores.clear();
        s.stores.push_back({gather, buffer_named(l, "p"), true, false});
        l.buffer_of[gather] = buffer_named(l, "p");
        l.buffers[buffer_named(l, "p")].peers = true;
        (void)p1;
        caught(l, "race");
    }
}
