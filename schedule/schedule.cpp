#include "schedule/schedule.h"
#include <algorithm>
#include "schedule/refuse.h"

namespace stretto {

const Node *find_node(const Graph &g, const std::string &name) {
    const Node *n = g.find(name);
    if (!n) n = g.find(name + ".ag");
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
    if (g.find(name + ".rs")) return name + " was split, and nothing uses " + name + ".ag any more.";
    if (name.size() > 3 && name.compare(name.size() - 3, 3, ".ag") == 0) return what + ", or nothing uses it any more.";
    return what + " that a result needs.";
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

Tensor Schedule::handle(const std::string &name) const {
    const Node &n = *now.find(name);
    auto d = std::make_shared<Definition>();
    d->name = n.name;
    d->defined = true;
    d->type = n.type;
    d->vars = n.vars;
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
    const Split &v = std::get<Split>(steps.back().verb);
    std::string name = steps.back().before.at(v.tensor).name;
    return {handle(name + ".rs"), handle(name + ".ag")};
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
    if (const Node *n = now.find(t.name() + ".ag"); n && !is_part(now, *n)) return handle(n->name);
    std::vector<std::string> legal;
    for (auto &n : now.nodes) {
        std::string base = n.name.substr(0, n.name.rfind('.'));
        if (n.as<AllGather>() && !is_part(now, n) && now.find(base)) legal.push_back("s.gather_of(" + base + ")");
    }
    try {
        const Node &n = now.at(resolve(t));
        refuse(n.layout.is_sliced() ? "Nothing uses all of " + t.name() + ": no gather was made of it."
                                    : n.name + " is " + to_string(n.layout) + ", not a slice.",
               legal, "no gather_of yet; s.reorder and s.slice make gathers.");
    } catch (const Error &e) {
        throw Error("In schedule for " + program() + ": cannot s.gather_of(" + t.name() + ").\n" + e.what());
    }
}

Tensor Schedule::new_value_of(const Tensor &argument) const {
    std::string name = argument.name() + ".new";
    if (now.find(name)) return handle(name);
    std::vector<std::string> legal;
    std::string why = argument.name() + " gets no new value.";
    for (auto &r : now.results) {
        const std::string &name = now.arguments[r.argument].name;
        if (now.find(name + ".new")) legal.push_back("s.new_value_of(" + name + ")");
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
            std::string name = before.at(v->tensor).name;
            s += name + ".rs, " + name + ".ag = ";
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
    std::set<std::string> of_split;
    std::function<std::string(std::string)> spell = [&](std::string name) {
        size_t dot = name.rfind('.');
        if (dot == std::string::npos) return name;
        if (!of_split.count(name))
            return (name.substr(dot) == ".ag" ? "s.gather_of(" : "s.new_value_of(") + spell(name.substr(0, dot)) + ")";
        name[dot] = '_';
        return name;
    };
    Naming expression = [&](const Node &n) { return spell(n.name); };
    for (auto &[verb, before] : steps) {
        if (auto *v = std::get_if<Split>(&verb)) {
            const std::string &name = before.at(v->tensor).name;
            of_split.insert({name + ".rs", name + ".ag"});
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
