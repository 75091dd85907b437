#include "schedule/schedule.h"
#include <algorithm>

namespace stretto {

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

// What was made of node `of`, or of argument `ordinal`: the last one. -1: nothing.
NodeId made_ever(const Graph &g, const Origin &origin) {
    for (size_t id = g.identities.size(); id-- > 0;) {
        const Origin &o = g.identities[id].origin;
        if (o.role == origin.role && o.of == origin.of && o.ordinal == origin.ordinal) return NodeId(id);
    }
    return -1;
}

// A node in C++: what a split gave back is a variable; what other verbs made, the schedule has.
std::string spelled(const Graph &g, NodeId id) {
    auto &[name, origin] = g.identities[size_t(id)];
    if (origin.role == Role::NewValue) return "s.new_value_of(" + g.arguments[size_t(origin.ordinal)].name + ")";
    if (origin.of < 0) return name;
    std::string of = spelled(g, origin.of);
    if (origin.role == Role::ReduceScatter) return of + "_rs";
    return g.became.count(origin.of) ? of + "_ag" : "s.gather_of(" + of + ")";
}

// What a verb gives back, each as `name` writes it.
std::string made_text(const Graph &g, const Verb &verb, const Naming &name) {
    const Made made = made_by(verb);
    return join(made.roles, [&](Role role) { return name(made_ever(g, {role, made.of, 0})); });
}

// ---- arguments of the functions of Schedule, as they were written

std::string shown(const Tensor &t) { return t.name(); }
std::string shown(const std::vector<Tensor> &set) {
    return "{" + join(set, [](const Tensor &t) { return t.name(); }) + "}";
}
std::string shown(int n) { return std::to_string(n); }
std::string shown(Algorithm a) { return to_string(a); }

// Refuses a verb as data that names what there is not.
class Known {
    const Graph &g;

public:
    explicit Known(const Graph &g) : g(g) {}
    void tensor(const char *what, NodeId id) {
        if (!g.has(id))
            refuse("  " + std::string(what) + ": " + g.program + " has no node " + std::to_string(id) + " now.\n" +
                   legal_names("", node_names(g)));
    }
    void tensors(const char *what, const NodeIds &ids) {
        for (NodeId id : ids) tensor(what, id);
    }
    void argument(const char *what, ArgumentId a) {
        if (a < 0 || size_t(a) >= g.arguments.size())
            refuse("  " + std::string(what) + ": " + g.program + " has no argument " + std::to_string(a) + ".\nLegal: 0 to " +
                   std::to_string(int(g.arguments.size()) - 1));
    }
    void number(const char *, int, bool = false) {}
    void algorithm(const char *, Algorithm) {}
};

}  // namespace

Schedule::Schedule(const Program &p) : now(p.graph()), tensors(p.tensors()) {}

// ---- handles

NodeId Schedule::identity(const DefinitionPtr &t) const {
    if (t->of) {
        NodeId of = identity(t->of);
        if (of < 0) return -1;
        if (t->role != Role::NewValue) return made_ever(now, {t->role, of, 0});
        return made_ever(now, {t->role, -1, now.at(of).as<ArgumentValue>()->argument});
    }
    auto known = tensors.find(t);
    return known == tensors.end() ? -1 : known->second;
}

NodeId Schedule::resolve(const Tensor &t) const {
    const std::string &name = t.name();
    const NodeId id = identity(t.definition());
    if (id >= 0 && now.current(id) >= 0) return now.current(id);
    auto same_name = [&](auto &known) { return known.first->name == name; };
    if (id < 0 && std::any_of(tensors.begin(), tensors.end(), same_name))
        throw Error("  This " + name + " is another tensor than the " + name + " of " + program() + ".\nLegal: the " + name +
                    " that " + program() + " was made of");
    std::string why = program() + " has no tensor " + name;
    auto became = now.became.find(id);
    if (became != now.became.end())
        why = name + " was split, and nothing uses " + now.identities[size_t(became->second)].name + " any more.";
    else
        why += id >= 0 && t.definition()->of ? ", or nothing uses it any more." : " that a result needs.";
    throw Error("  " + why + "\n" + legal_names(name, node_names(now)));
}

NodeIds Schedule::resolve(const std::vector<Tensor> &set) const {
    return mapped(set, [&](const Tensor &t) { return resolve(t); });
}

ArgumentId Schedule::argument(const Tensor &t) const {
    for (ArgumentId a = 0; a < int(now.arguments.size()); a++) {
        if (now.arguments[size_t(a)].name != t.name() || now.arguments[size_t(a)].scalar) continue;
        if (!tensors.count(t.definition())) resolve(t);  // says why not
        return a;
    }
    throw Error("  " + t.name() + " is not an argument of " + program() + ".\n" + legal_names(t.name(), tensor_arguments(now)));
}

Tensor Schedule::handle(Role role, const Tensor &of) const {
    auto d = std::make_shared<Definition>();
    d->role = role;
    d->of = of.definition();
    const Node &n = now.at(identity(d));
    d->name = n.name;
    d->defined = true;
    d->type = n.type;
    d->vars = n.vars();
    return Tensor(d);
}

// ---- verbs

template <class F>
auto Schedule::attempt(const std::string &written, const F &f, const std::string &where) const {
    try {
        return f();
    } catch (const Error &e) {
        throw Error("In schedule for " + program() + where + ": cannot s." + written + ".\n" + e.what());
    }
}

void Schedule::perform(const std::string &written, const std::function<Verb()> &make, const std::string &where) {
    auto add = [&] {
        const Verb verb = make();
        const int first_group = now.next_group;
        try {
            now = stretto::apply(now, verb);
        } catch (const Error &e) { refuse(now, verb, reason_of(e)); }
        steps.push_back({verb, first_group, now.next_group});
    };
    attempt(written, add, where);
}

template <class V, class... Fields>
void Schedule::perform(const Fields &...fields) {
    struct {
        const Schedule &s;
        NodeId operator()(const Tensor &t) const { return s.resolve(t); }
        NodeIds operator()(const std::vector<Tensor> &set) const { return s.resolve(set); }
        int operator()(int n) const { return n; }
        Algorithm operator()(Algorithm a) const { return a; }
    } resolved{*this};
    perform(V::name + ("(" + join({shown(fields)...}) + ")"), [&] { return V{resolved(fields)...}; });
}

void Schedule::add(const Verb &verb, const std::string &where) {
    auto known = [&] {
        Known known(now);
        std::visit([&](auto &v) { v.fields(v, known); }, verb);
    };
    attempt(name_of(verb) + "(...)", known, where);
    auto as_it_is = [&] { return verb; };
    perform(text_of(now, verb), as_it_is, where);
}

SplitResult Schedule::split(const Tensor &t, int dim) {
    perform<Split>(t, dim);
    return {handle(Role::ReduceScatter, t), handle(Role::AllGather, t)};
}

void Schedule::reorder(const Tensor &gather, const std::vector<Tensor> &set) {
    perform<Reorder>(gather, set);
}

void Schedule::slice(const Tensor &t, int dim) { perform<Slice>(t, dim); }

void Schedule::as_slice(const Tensor &t) {
    perform("as_slice(" + t.name() + ")", [&] { return AsSlice{argument(t)}; });
}

Group Schedule::fuse(const std::vector<Tensor> &set) {
    perform<Fuse>(set);
    return groups_of(now).back();
}

std::vector<Group> Schedule::fuse_all() {
    perform<FuseAll>();
    std::vector<Group> groups = groups_of(now);
    auto made = [&](const Group &g) { return g.id >= steps.back().first_group; };
    return {std::find_if(groups.begin(), groups.end(), made), groups.end()};
}

void Schedule::collective(const Tensor &t, Algorithm algorithm) { perform<Collective>(t, algorithm); }

void Schedule::vectorize(const Tensor &t, int lanes) { perform<Vectorize>(t, lanes); }

Tensor Schedule::gather_of(const Tensor &t) const {
    return attempt("gather_of(" + t.name() + ")", [&] {
        const Node &n = now.at(resolve(t));
        if (now.made(Role::AllGather, n.id) >= 0) return handle(Role::AllGather, t);
        Names legal;
        for (auto &x : now.nodes)
            if (x.origin.role == Role::AllGather && !is_part(now, x) && now.has(x.origin.of))
                legal.push_back("s.gather_of(" + now.at(x.origin.of).name + ")");
        refuse(n.layout.is_sliced() ? "Nothing uses all of " + t.name() + ": no gather was made of it."
                                    : n.name + " is " + to_string(n.layout) + ", not a slice.",
               legal, "no gather_of yet; s.reorder and s.slice make gathers.");
    });
}

Tensor Schedule::new_value_of(const Tensor &t) const {
    return attempt("new_value_of(" + t.name() + ")", [&] {
        Names legal;
        std::string why = t.name() + " gets no new value.";
        for (auto &r : now.results) {
            const Argument &a = now.arguments[size_t(r.argument)];
            const bool named = made_ever(now, {Role::NewValue, -1, r.argument}) < 0, wanted = a.name == t.name();
            if (wanted && !named) return resolve(t), handle(Role::NewValue, t);
            if (!named) legal.push_back("s.new_value_of(" + a.name + ")");
            if (wanted) why = "The new value of " + a.name + " has a name, " + now.at(r.node).name + ".";
        }
        refuse(why, legal, "the names of new values");
    });
}

// ---- as text

std::string Schedule::text() const {
    std::string s;
    const std::vector<Group> groups = groups_of(now);
    const Naming name = [&](NodeId id) { return now.identities[size_t(id)].name; };
    for (auto &[verb, first, end] : steps) {
        std::string made = made_text(now, verb, name), comment;
        for (auto &group : groups) {
            if (group.id < first || group.id >= end) continue;
            std::string what = to_string(group);
            if (std::get_if<Fuse>(&verb)) what = what.substr(0, what.find(':'));
            comment += (comment.empty() ? "  # " : "; ") + what;
        }
        s += made + (made.empty() ? "" : " = ") + text_of(now, verb) + comment + "\n";
    }
    return s;
}

std::string Schedule::cpp() const {
    std::string s;
    const Naming name = [&](NodeId id) { return spelled(now, id); };
    for (auto &step : steps) {
        std::string made = made_text(now, step.verb, name);
        s += (made.empty() ? "" : "auto [" + made + "] = ") + "s." + text_of(now, step.verb, name) + ";\n";
    }
    return s;
}

std::string to_string(const Schedule &s) { return s.text(); }

std::ostream &operator<<(std::ostream &o, const Schedule &s) { return o << s.text(); }

}  // namespace stretto
