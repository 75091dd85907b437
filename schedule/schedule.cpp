#include "schedule/schedule.h"
#include <algorithm>
#include "schedule/refuse.h"

namespace stretto {

const Node *find_node(const Graph &g, const std::string &name) {
    const Node *n = g.find(name);
    return n && !is_part(g, *n) ? n : nullptr;
}

Names node_names(const Graph &g) {
    Names names;
    for (auto &n : g.nodes)
        if (!is_part(g, n)) names.push_back(n.name);
    return names;
}

Names tensor_arguments(const Graph &g) {
    Names names;
    for (auto &a : g.arguments)
        if (!a.scalar) names.push_back(a.name);
    return names;
}

std::string legal_names(const std::string &written, const Names &known) {
    std::string nearest = nearest_name(written, known);
    Names names = known;
    auto it = std::find(names.begin(), names.end(), nearest);
    if (it != names.end()) {
        names.erase(it);
        names.insert(names.begin(), nearest + (names.empty() ? "" : " (nearest)"));
    }
    return "Legal: " + join(names);
}

namespace {

// Why no node has this name.
std::string no_such_tensor(const Graph &g, const std::string &name) {
    std::string what = g.program + " has no tensor " + name;
    if (g.find_argument(name)) return name + " is an output argument, and the program has no node of that name.";
    for (size_t id = 0; id < g.identities.size(); id++) {
        auto gone = g.became.find(NodeId(id));
        if (g.identities[id].name != name) continue;
        if (gone != g.became.end())
            return name + " was split, and nothing uses " + g.identities[size_t(gone->second)].name + " any more.";
        if (g.identities[id].origin.role == Role::AllGather) return what + ", or nothing uses it any more.";
    }
    return what + " that a result needs.";
}

// The name of what a verb made of node `of`.
std::string name_made(const Graph &g, Role role, NodeId of) {
    for (auto &i : g.identities)
        if (i.origin.role == role && i.origin.of == of) return i.name;
    return "";
}

// A node in C++.
std::string spelled(const Graph &g, NodeId id) {
    auto &[name, origin] = g.identities[size_t(id)];
    if (origin.role == Role::NewValue) return "s.new_value_of(" + g.arguments[size_t(origin.ordinal)].name + ")";
    if (origin.of < 0) return name;
    std::string of = spelled(g, origin.of);
    if (origin.role == Role::ReduceScatter) return of + "_rs";
    return g.became.count(origin.of) ? of + "_ag" : "s.gather_of(" + of + ")";
}

std::string names_text(const std::vector<Tensor> &set) {
    Names names;
    for (auto &t : set) names.push_back(t.name());
    return "{" + join(names) + "}";
}

}  // namespace

Schedule::Schedule(const Program &p) : now(p.graph()), definitions(p.definitions()) {
}

void Schedule::check_tensor(const Tensor &t) const {
    auto any = [&](auto f) { return std::any_of(definitions.begin(), definitions.end(), f); };
    bool of_program = any([&](auto &d) { return d == t.definition(); });
    if (!of_program && any([&](auto &d) { return d->name == t.name(); }))
        throw Error("  This " + t.name() + " is another tensor than the " + t.name() + " of " + program() +
                    ".\nLegal: the " + t.name() +
                    " that " + program() + " was made of");
}

NodeId Schedule::resolve(const Tensor &t) const {
    check_tensor(t);
    if (const Node *n = find_node(now, t.name())) return n->id;
    throw Error("  " + no_such_tensor(now, t.name()) + "\n" + legal_names(t.name(), node_names(now)));
}

NodeIds Schedule::resolve(const std::vector<Tensor> &set) const {
    NodeIds ids;
    for (auto &t : set) ids.push_back(resolve(t));
    return ids;
}

Tensor Schedule::handle(NodeId id) const {
    const Node &n = now.at(id);
    auto d = std::make_shared<Definition>();
    d->name = n.name;
    d->defined = true;
    d->type = n.type;
    d->vars = n.vars();
    return Tensor(d);
}

void Schedule::perform(const std::string &written, const std::string &where, const std::function<Verb()> &make) {
    try {
        Verb verb = make();
        Graph next = stretto::apply(now, verb);
        steps.push_back({verb, std::move(now)});
        now = std::move(next);
    } catch (const Error &e) {
        throw Error("In schedule for " + program() + where + ": cannot s." + written + ".\n" + e.what());
    }
}

void Schedule::add(const Verb &verb, const std::string &where) {
    perform(to_string(now, verb), where, [&] { return verb; });
}

SplitResult Schedule::split(const Tensor &t, int dim) {
    perform("split(" + t.name() + ", " + std::to_string(dim) + ")", "", [&] { return Split{resolve(t), dim}; });
    NodeId split = std::get<Split>(steps.back().verb).tensor;
    return {handle(now.made(Role::ReduceScatter, split)), handle(now.made(Role::AllGather, split))};
}

void Schedule::reorder(const Tensor &gather, const std::vector<Tensor> &set) {
    perform("reorder(" + gather.name() + ", " + names_text(set) + ")", "",
            [&] { return Reorder{resolve(gather), resolve(set)}; });
}

void Schedule::slice(const Tensor &t, int dim) {
    perform("slice(" + t.name() + ", " + std::to_string(dim) + ")", "", [&] { return Slice{resolve(t), dim}; });
}

void Schedule::as_slice(const Tensor &argument) {
    perform("as_slice(" + argument.name() + ")", "", [&] {
        check_tensor(argument);
        for (ArgumentId a = 0; a < int(now.arguments.size()); a++)
            if (now.arguments[a].name == argument.name() && !now.arguments[a].scalar) return AsSlice{a};
        throw Error("  " + argument.name() + " is not an argument of " + program() + ".\n" +
                    legal_names(argument.name(), tensor_arguments(now)));
    });
}

Group Schedule::fuse(const std::vector<Tensor> &set) {
    perform("fuse(" + names_text(set) + ")", "", [&] { return Fuse{resolve(set)}; });
    return groups_of(now).back();
}

std::vector<Group> Schedule::fuse_all() {
    int first = now.next_group;
    perform("fuse_all()", "", [&] { return FuseAll{}; });
    std::vector<Group> made;
    for (auto &group : groups_of(now))
        if (group.id >= first) made.push_back(group);
    return made;
}

void Schedule::collective(const Tensor &t, Algorithm algorithm) {
    std::string name = "Auto";
    for (auto &[text, a] : algorithm_names())
        if (a == algorithm) name = text;
    perform("collective(" + t.name() + ", " + name + ")", "", [&] { return Collective{resolve(t), algorithm}; });
}

void Schedule::vectorize(const Tensor &t, int lanes) {
    perform("vectorize(" + t.name() + ", " + std::to_string(lanes) + ")", "", [&] { return Vectorize{resolve(t), lanes}; });
}

Tensor Schedule::gather_of(const Tensor &t) const {
    std::vector<std::string> legal;
    for (auto &n : now.nodes)
        if (n.origin.role == Role::AllGather && !is_part(now, n) && now.has(n.origin.of))
            legal.push_back("s.gather_of(" + now.at(n.origin.of).name + ")");
    try {
        const Node &n = now.at(resolve(t));
        if (NodeId gather = now.made(Role::AllGather, n.id); gather >= 0) return handle(gather);
        refuse(n.layout.is_sliced() ? "Nothing uses all of " + t.name() + ": no gather was made of it."
                                    : n.name + " is " + to_string(n.layout) + ", not a slice.",
               legal, "no gather_of yet; s.reorder and s.slice make gathers.");
    } catch (const Error &e) {
        throw Error("In schedule for " + program() + ": cannot s.gather_of(" + t.name() + ").\n" + e.what());
    }
}

Tensor Schedule::new_value_of(const Tensor &argument) const {
    std::vector<std::string> legal;
    std::string why = argument.name() + " gets no new value.";
    for (auto &r : now.results) {
        const std::string &name = now.arguments[r.argument].name;
        NodeId made = -1;
        for (auto &n : now.nodes)
            if (n.origin.role == Role::NewValue && n.origin.ordinal == r.argument) made = n.id;
        if (made >= 0 && name == argument.name()) return handle(made);
        if (made >= 0) legal.push_back("s.new_value_of(" + name + ")");
        if (name == argument.name()) why = "The new value of " + name + " has a name, " + now.at(r.node).name + ".";
    }
    try {
        refuse(why, legal, "the names of new values");
    } catch (const Error &e) {
        throw Error("In schedule for " + program() + ": cannot s.new_value_of(" + argument.name() + ").\n" + e.what());
    }
}

const Graph &Schedule::after(size_t step) const {
    return step + 1 < steps.size() ? steps[step + 1].before : now;
}

std::string Schedule::text() const {
    std::string s;
    for (size_t i = 0; i < steps.size(); i++) {
        auto &[verb, before] = steps[i];
        if (auto *v = std::get_if<Split>(&verb)) {
            for (Role role : {Role::ReduceScatter, Role::AllGather})
                s += name_made(now, role, v->tensor) + (role == Role::AllGather ? " = " : ", ");
        }
        s += to_string(before, verb);
        std::string made;
        for (auto &group : groups_of(after(i)))
            if (group.id >= before.next_group) {
                std::string what = to_string(group);
                if (std::get_if<Fuse>(&verb)) what = what.substr(0, what.find(':'));
                made += (made.empty() ? "  # " : "; ") + what;
            }
        s += made + "\n";
    }
    return s;
}

std::string Schedule::cpp() const {
    std::string s;
    // What a split gave back is a variable; what other verbs made, the schedule has.
    Naming expression = [&](const Node &n) { return spelled(now, n.id); };
    for (auto &[verb, before] : steps) {
        if (auto *v = std::get_if<Split>(&verb)) {
            const std::string &name = before.at(v->tensor).name;
            s += "auto [" + name + "_rs, " + name + "_ag] = ";
        }
        s += "s." + to_string(before, verb, expression) + ";\n";
    }
    return s;
}

std::string to_string(const Schedule &s) {
    return s.text();
}

std::ostream &operator<<(std::ostream &o, const Schedule &s) {
    return o << s.text();
}

}  // namespace stretto
