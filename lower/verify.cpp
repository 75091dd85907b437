#include "lower/verify.h"
#include <algorithm>
#include <set>
#include "lang/expand.h"

namespace stretto {

namespace {

using namespace Halide::Internal;
using plan::From;
using plan::How;
using plan::Range;
using plan::StageKind;

// Names bound inside an expression, by order of appearance: bodies number them anew.
class LetsInOrder : public IRGraphMutator {
    std::map<std::string, std::string> names;

    std::string name(const std::string &old) {
        return names.emplace(old, "let." + std::to_string(names.size())).first->second;
    }

protected:
    using IRGraphMutator::visit;
    Expr visit(const Variable *v) override {
        return symbol_of(Expr(v)).kind == Symbol::Let ? Variable::make(v->type, name(v->name)) : Expr(v);
    }
    Expr visit(const Let *l) override {
        Expr value = mutate(l->value);
        return Let::make(name(l->name), value, mutate(l->body));
    }
};

// A body's expression as one of the graph, for node n.
class OfGraph : public LetsInOrder {
    const Stage &s;
    const Node &n;
    using LetsInOrder::visit;

    Expr visit(const Variable *v) override {
        if (int b = bound_number(Expr(v)); b >= 0)
            return access(s.body.bindings.at(size_t(b)).node, v->type, index_exprs(n.vars()));
        if (int loop = loop_number(Expr(v)); loop >= 0) return index(n.domain.at(size_t(loop)).name);
        Symbol symbol = symbol_of(Expr(v));
        if (symbol.kind == Symbol::PlanScalar) return plan_scalar(v->type, s.body.scalars.at(size_t(symbol.number)));
        return LetsInOrder::visit(v);
    }
    Expr visit(const Call *c) override {
        Expr e = IRGraphMutator::visit(c);
        const Call *a = as_access(e);
        if (!a) return e;
        return access(s.accesses.at(size_t(accessed(a))).read, a->type, indices_of(a));
    }

public:
    OfGraph(const Stage &s, const Node &n) : s(s), n(n) {}
};

// ---- what holds of a stage by itself

class StageRules {
    const Lowering &l;
    const Graph &g;
    const Stage &s;
    const std::string where;

    std::string fail(const char *rule, const std::string &why) const { return std::string(rule) + ": " + where + why; }
    const std::string &name(NodeId id) const { return g.at(id).name; }

    // ---- body

    bool same(const Expr &of_body, const Expr &of_graph, const Node &n) const {
        return of_body.type() == of_graph.type() &&
               graph_equal(OfGraph(s, n).mutate(of_body), LetsInOrder().mutate(of_graph));
    }
    std::string binding(size_t i) const {
        const Binding &b = s.body.bindings[i];
        const Node &n = g.at(b.node);
        if (s.nodes.empty()) {  // a copy
            const Call *c = as_access(b.value);
            return b.over == Binding::Nothing && c && s.accesses.at(size_t(accessed(c))).read == b.node
                       ? ""
                       : fail("body", "the copy of " + n.name + " is something else");
        }
        if (i > 0 && s.body.bindings[i - 1].node == b.node) {  // the result of a reduction, rounded
            Expr sum = bound(s.body, int(i) - 1);
            bool rounds = graph_equal(LetsInOrder().mutate(b.value), LetsInOrder().mutate(round_to(n.type, sum)));
            return rounds && b.over == Binding::Nothing ? "" : fail("body", n.name + " is rounded otherwise");
        }
        const bool over_ranks = n.reduces_over_ranks(), over_loops = !n.rvars().empty();
        if (b.over != (over_ranks ? Binding::Ranks : over_loops ? Binding::Loops
                                                                : Binding::Nothing))
            return fail("body", n.name + " is reduced over something else");
        Expr value = n.value;
        if (b.over != Binding::Nothing) {
            if (b.op != n.reduce_op()) return fail("body", n.name + " has another reduction");
            if (over_loops && s.kind != StageKind::Fold && s.order != order_of(n))
                return fail("body", n.name + " is reduced in another order");
            value = Halide::cast(n.accumulator, value);
        }
        return same(b.value, value, n) ? "" : fail("body", n.name + " is computed otherwise");
    }
    static std::set<int> bindings_in(const Expr &e) {
        struct Names : IRGraphVisitor {
            using IRGraphVisitor::visit;
            std::set<int> found;
            void visit(const Variable *v) override {
                if (int k = bound_number(Expr(v)); k >= 0) found.insert(k);
            }
        } names;
        e.accept(&names);
        return names.found;
    }
    bool depends_on_ranks(const Expr &e) const {
        for (int k : bindings_in(e)) {
            const Binding &b = s.body.bindings[size_t(k)];
            if (b.over == Binding::Ranks || depends_on_ranks(b.value)) return true;
        }
        return false;
    }
    // Bindings are in order, and their reads are as the accesses have them.
    std::string uses(size_t i, std::set<int> &read) const {
        const Binding &b = s.body.bindings[i];
        const Node &n = g.at(b.node);
        for (int k : bindings_in(b.value))
            if (k >= int(i)) return fail("order", n.name + " reads what is computed after it");
        if (b.over == Binding::Ranks && depends_on_ranks(b.value))
            return fail("order", n.name + " is a sum over ranks of another that this sweep computes");
        std::string fault;
        for_each_access(b.value, [&](const Call *c) {
            const size_t k = size_t(accessed(c));
            if (!fault.empty()) return;
            if (k >= s.accesses.size() || s.accesses[k].read < 0) {
                fault = fail("region", n.name + " reads access " + std::to_string(k) + ", which is no read");
                return;
            }
            read.insert(int(k));
            const StageAccess &a = s.accesses[k];
            const bool loads = !s.nodes.empty() && n.loads_from_ranks();
            auto *of = loads ? &n.as<Communication>()->from : nullptr;
            From from = !of ? From::Own : of->kind == stretto::From::Shift ? From::Shift
                                                                           : From::Rank;
            if (b.over == Binding::Ranks) from = g.at(a.read).layout.is_replicated() ? From::Own : From::Each;
            bool gathers = a.written >= 0 && a.from == From::Each;  // reads its own element, stores to every rank
            const bool other_rank = (from == From::Rank || from == From::Shift) &&
                                    (a.rank != of->value || a.cyclic != of->cyclic);
            if ((a.from != from && !(gathers && from == From::Own)) || other_rank)
                fault = fail("region", n.name + " reads " + name(a.read) + " of other ranks than its access says");
            auto at = indices_of(c);
            for (size_t d = 0; d < at.size(); d++)
                if (a.reach.size() != at.size() || (a.reach[d] != any_element && a.reach[d] != loop_number(at[d])))
                    fault = fail("region", n.name + " reads other elements of " + name(a.read) + " than its access says");
        });
        return fault;
    }

    // ---- accesses

    std::string read(const StageAccess &a) const {
        const Node &t = g.at(a.read);
        const int d = t.layout.first_sliced();
        if (d < 0) return "";
        const bool gathers = a.written >= 0 && a.from == From::Each;
        const int at = a.reach.at(size_t(d));
        const Range range = at < 0 ? Range::Whole : s.loops.at(size_t(at)).range;
        const bool own = range == Range::Slice || (range == Range::Block && s.loops[0].range == Range::Slice);
        if ((a.from != From::Own && !gathers) || !own || s.loops[size_t(at)].extent != t.domain[size_t(d)].extent)
            return fail("slice", t.name + " is sliced, and is read elsewhere than at the own slice");
        return "";
    }
    std::string write(const StageAccess &a) const {
        const Buffer &b = l.buffers[size_t(a.buffer)];
        const Node &n = g.at(a.written);
        if (b.argument >= 0 && g.arguments[size_t(b.argument)].access == Access::Input)
            return fail("input", n.name + " is stored to the input " + b.name);
        Dims outputs;
        int cut = -1;
        bool any = false;
        for (int d = 0; d < s.outputs; d++) {
            const Loop &loop = s.loops[size_t(d)];
            outputs.push_back(loop.extent);
            if (loop.range == Range::Slice) cut = d;
            any |= loop.range == Range::AnySlice;
        }
        if (!is_own_element(s, a)) return fail("region", n.name + " is stored elsewhere than it is computed");
        const bool all = a.from == From::Each;
        if (all && cut < 0 && !any && s.outputs > 0)
            return fail("owner", n.name + " goes to every rank, and every rank computes all of it");
        if (a.from == From::Rank || a.from == From::Shift || b.dims != outputs || b.type != n.type || (any && !all) ||
            b.sliced != (all ? -1 : cut))
            return fail("shape", n.name + " is stored to " + b.name + ", which is placed otherwise");
        return "";
    }
    std::string pair(const StageAccess &a, const StageAccess &b) const {
        if (a.buffer != b.buffer || (a.written < 0 && b.written < 0)) return "";
        const std::string &buffer = l.buffers[size_t(a.buffer)].name;
        if (a.written >= 0 && b.written >= 0) return fail("version", "two values are stored to " + buffer);
        const StageAccess &reads = a.written < 0 ? a : b, &writes = a.written < 0 ? b : a;
        if (reads.from == From::Own && s.kind == StageKind::Sweep && is_own_element(s, reads))
            return fail("in place", name(writes.written) + " is computed from " + buffer + ", and its access says otherwise");
        return fail("race", name(reads.read) + " in " + buffer + " is read while " + name(writes.written) + " is stored there");
    }

public:
    StageRules(const Lowering &l, const Stage &s, const std::string &where) : l(l), g(l.graph), s(s), where(where) {}

    std::string check() const {
        std::string fault;
        std::set<int> read_by_body;
        for (size_t i = 0; i < s.body.bindings.size() && fault.empty(); i++) {
            fault = uses(i, read_by_body);
            if (fault.empty()) fault = binding(i);
        }
        for (size_t k = 0; k < s.accesses.size() && fault.empty(); k++) {
            const StageAccess &a = s.accesses[k];
            if (a.buffer < 0 || a.buffer >= int(l.buffers.size())) return fail("stored", "an access has no buffer");
            if ((a.read >= 0) != (read_by_body.count(int(k)) > 0)) {
                return fail(a.written >= 0 ? "in place" : "region",
                            "nothing reads " + l.buffers[size_t(a.buffer)].name + ", and its access says otherwise");
            }
            if (a.read >= 0) fault = read(a);
            if (a.written >= 0 && fault.empty()) fault = write(a);
            if (a.written >= 0 && a.read >= 0 && (s.kind != StageKind::Sweep) && fault.empty())
                fault = fail("race", name(a.read) + " is updated in place by what is no sweep");
            for (size_t j = 0; j < k && fault.empty(); j++) fault = pair(s.accesses[j], a);
        }
        std::set<int> stored;
        for (auto &st : s.body.stored) {
            const StageAccess &a = s.accesses.at(size_t(st.access));
            if (!fault.empty()) break;
            if (!stored.insert(st.access).second || a.written != s.body.bindings.at(size_t(st.binding)).node ||
                (st.binding + 1 < int(s.body.bindings.size()) &&
                 s.body.bindings[size_t(st.binding) + 1].node == a.written))  // not yet rounded
                fault = fail("body", "another value than " + (a.written < 0 ? "none" : name(a.written)) + " is stored");
        }
        for (size_t k = 0; k < s.accesses.size() && fault.empty(); k++)
            if (s.accesses[k].written >= 0 && !stored.count(int(k)))
                fault = fail("body", name(s.accesses[k].written) + " is not stored");
        return fault;
    }
};

// ---- what holds from stage to stage

// What a buffer holds on each rank.
struct Contents {
    NodeId value = -1;
    enum Part { Nothing,
                OwnPart,
                All } part = Nothing;
    bool arriving = false;  // the peers' parts are on their way until the next wait
    int slice = -1;         // of which dimension the own part is, if that is known
};

// One path through the choices.
class Path {
    const Lowering &l;
    const Graph &g;
    const std::vector<bool> &two_phases;  // by choice
    std::vector<Contents> contents;
    struct Touched {
        bool write = false, peer = false;
        int slice = -1;  // of which dimension, on the rank that does it; -1: more than one slice
    };
    std::vector<std::vector<Touched>> touched;  // by buffer, since the last wait
    int number = 0;                             // of the stage
    std::string fault;

    bool fail(const char *rule, const std::string &why) {
        if (fault.empty()) fault = std::string(rule) + ": stage " + std::to_string(number) + ", " + why;
        return false;
    }
    const std::string &name(NodeId id) const { return g.at(id).name; }

    void wait() {
        touched.assign(l.buffers.size(), {});
        for (auto &c : contents)
            if (c.arriving) {
                c.arriving = false;
                c.part = Contents::All;
            }
    }
    std::vector<Touched> touches(const Stage &s, const StageAccess &a) const {
        Touched t;
        const Dims &dims = l.buffers[size_t(a.buffer)].dims;
        for (size_t d = 0; d < dims.size(); d++)
            for (size_t k = 0; k < s.loops.size(); k++) {
                const Loop &loop = s.loops[k];
                const bool own = loop.range == Range::Slice || (loop.range == Range::Block && s.loops[0].range == Range::Slice);
                if (a.reach[d] == int(k) && own && loop.extent == dims[d]) t.slice = int(d);
            }
        std::vector<Touched> all;
        const bool stores = a.written >= 0, ranks = a.from != From::Own;
        if (a.read >= 0) all.push_back({false, ranks && !stores, t.slice});
        if (stores) all.push_back({true, false, t.slice});
        if (stores && ranks) all.push_back({true, true, t.slice});
        return all;
    }
    bool clash(int buffer, const std::vector<Touched> &next) const {
        for (auto &b : touched[size_t(buffer)])
            for (auto &t : next)
                if ((b.write || t.write) && (b.peer || t.peer) && (b.slice < 0 || b.slice != t.slice)) return true;
        return false;
    }
    const Stage *stage_of(const Item &item, size_t choice) const {
        if (auto *c = std::get_if<Choice>(&item)) return two_phases.at(choice) ? &c->two_phases : &c->one_shot;
        return std::get_if<Stage>(&item);
    }

    bool stage(const Stage &s) {
        for (auto &a : s.accesses) {
            Contents &c = contents[size_t(a.buffer)];
            const std::string &buffer = l.buffers[size_t(a.buffer)].name;
            if (a.read >= 0) {
                if (c.value != a.read)
                    return fail("version", "it reads " + name(a.read) + ", but " + buffer + " holds " +
                                               (c.value < 0 ? "nothing yet" : name(c.value)));
                // A value that is still arriving is complete on its owner only.
                const int slice = touches(s, a)[0].slice;
                const bool at_own = slice >= 0 && slice == c.slice && a.from == From::Own;
                if (!at_own && !g.at(a.read).layout.is_sliced() && (c.part != Contents::All || c.arriving))
                    return fail(c.arriving ? "barrier" : "complete",
                                "it reads all of " + name(a.read) + ", of which a part is here");
                if (c.part == Contents::Nothing) return fail("complete", "it reads " + name(a.read) + " before it is computed");
            }
            if (clash(a.buffer, touches(s, a)))
                return fail("barrier", "a wait is needed before it: another rank is at " + buffer);
        }
        for (auto &a : s.accesses) {
            for (auto &t : touches(s, a)) touched[size_t(a.buffer)].push_back(t);
            const bool sends = a.from == From::Each;
            if (a.written >= 0) contents[size_t(a.buffer)] = {a.written, sends ? Contents::OwnPart : Contents::All, sends,
                                                              touches(s, a)[0].slice};
        }
        return true;
    }
    // Does the runtime wait here? Only where the next stage, or what rides in it, clashes on this path.
    bool waits(const Sync &sync, size_t next, size_t choice) const {
        if (next == l.items.size())
            return std::any_of(sync.buffers.begin(), sync.buffers.end(), [&](int b) { return clash(b, {{true, false, -1}}); });
        for (size_t k = next; k < l.items.size(); k++) {
            const Stage *s = stage_of(l.items[k], choice);
            if (!s || (k > next && !s->rides)) break;
            for (auto &a : s->accesses)
                if (std::count(sync.buffers.begin(), sync.buffers.end(), a.buffer) &&
                    clash(a.buffer, touches(*s, a)))
                    return true;
        }
        return false;
    }

public:
    Path(const Lowering &l, const std::vector<bool> &two_phases) : l(l), g(l.graph), two_phases(two_phases) {}

    std::string run() {
        contents.resize(l.buffers.size());
        for (size_t b = 0; b < l.buffers.size(); b++)
            if (int argument = l.buffers[b].argument; argument >= 0 && g.arguments[size_t(argument)].node >= 0)
                contents[b] = {g.arguments[size_t(argument)].node, Contents::All, false, -1};
        wait();  // entering a call is one
        size_t choice = 0;
        for (size_t i = 0; i < l.items.size(); i++) {
            if (auto *sync = std::get_if<Sync>(&l.items[i])) {
                if (waits(*sync, i + 1, choice)) wait();
                continue;
            }
            if (!stage(*stage_of(l.items[i], choice))) return fault;
            choice += std::holds_alternative<Choice>(l.items[i]);
            number++;
        }
        for (size_t b = 0; b < l.buffers.size(); b++)
            if (clash(int(b), {{true, false, -1}}))
                return "leave: another rank may be at " + l.buffers[b].name + " when the call returns";
        for (auto &r : g.results)
            for (size_t b = 0; b < l.buffers.size(); b++) {
                if (l.buffers[b].argument != r.argument) continue;
                if (contents[b].value != r.node || contents[b].part != Contents::All)
                    return "result: " + g.arguments[size_t(r.argument)].name + " should hold " + name(r.node) +
                           " at the end, and holds " + (contents[b].value < 0 ? "nothing" : name(contents[b].value));
            }
        return "";
    }
};

// All paths where there are few choices; else none, all and every other one in two phases.
std::vector<std::vector<bool>> paths(size_t choices) {
    std::vector<std::vector<bool>> all;
    if (choices <= 3) {
        for (size_t bits = 0; bits < size_t(1) << choices; bits++) {
            all.emplace_back();
            for (size_t c = 0; c < choices; c++) all.back().push_back(bits >> c & 1);
        }
        return all;
    }
    for (int kind = 0; kind < 4; kind++) {
        all.emplace_back();
        for (size_t c = 0; c < choices; c++) all.back().push_back(kind == 1 || (kind >= 2 && (c & 1) == size_t(kind & 1)));
    }
    return all;
}

// Do these block sums go along with the sweep? Of what it stores they read the same element, and nobody else is at it.
bool rides_well(const Stage &s, const Stage *sweep) {
    if (!sweep || sweep->kind != StageKind::Sweep || s.kind != StageKind::BlockSum) return false;
    if (s.loops.size() != sweep->loops.size() + 1 || s.loops[1].range != Range::Block) return false;
    for (size_t d = 0; d < sweep->loops.size(); d++) {
        const Loop &loop = sweep->loops[d];
        if (loop.extent != s.loops[d + 1].extent || loop.range != (d ? Range::Whole : s.loops[0].range)) return false;
    }
    for (auto &a : s.accesses)
        for (auto &of_sweep : sweep->accesses)
            for (size_t d = 0; a.buffer == of_sweep.buffer && of_sweep.written >= 0 && d < a.reach.size(); d++)
                if (a.reach[d] != int(d) + 1) return false;
    return true;
}

std::string check_stages(const Lowering &l, size_t *choices) {
    std::set<NodeId> computed;
    std::string fault;
    int number = 0;
    auto check = [&](const Stage &s) {
        std::set<NodeId> bound;
        for (auto &b : s.body.bindings)
            if (!s.nodes.empty()) bound.insert(b.node);
        if (fault.empty() && bound != std::set<NodeId>(s.nodes.begin(), s.nodes.end()))
            fault = "once: stage " + std::to_string(number) + " has other bindings than nodes";
        if (fault.empty()) fault = StageRules(l, s, "stage " + std::to_string(number) + ", ").check();
    };
    const Stage *sweep = nullptr;
    for (auto &item : l.items) {
        const Stage *s = std::get_if<Stage>(&item);
        if (s && s->rides && fault.empty() && !rides_well(*s, sweep))
            fault = "rides: stage " + std::to_string(number) + " does not go along with the one before it";
        if (!s || !s->rides) sweep = s;
        if (auto *c = std::get_if<Choice>(&item)) {
            s = &c->one_shot;
            check(c->two_phases);
            if (fault.empty() && c->one_shot.nodes != c->two_phases.nodes)
                fault = "once: the arms of stage " + std::to_string(number) + " compute different tensors";
            ++*choices;
        }
        if (!s) continue;
        check(*s);
        for (NodeId id : s->nodes)
            if (fault.empty() && !computed.insert(id).second) fault = "once: " + l.graph.at(id).name + " is computed twice";
        number++;
    }
    for (auto &n : l.graph.nodes)
        if (fault.empty() && !n.is_argument() && !computed.count(n.id)) fault = "once: " + n.name + " is computed by no stage";
    return fault;
}

}  // namespace

std::string verify(const Lowering &l) {
    size_t choices = 0;
    std::string fault = check_stages(l, &choices);
    for (auto &path : paths(choices))
        if (fault.empty()) fault = Path(l, path).run();
    return fault;
}

}  // namespace stretto
