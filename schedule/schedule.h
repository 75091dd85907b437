// A schedule: a list of verbs on one program, and the graph after them. A value: it prints, parses, and is copied.
#pragma once
#include "lang/program.h"
#include "schedule/sweep.h"
#include "schedule/verb.h"

namespace stretto {

// auto [rs, ag] = s.split(t);
struct SplitResult {
    Tensor rs, ag;
};

// Every verb succeeds, or throws an Error with what was written, why it is refused and every legal alternative, and leaves the
// schedule as it was. Tensors are those of the program and those that verbs gave back, here or in another schedule of the same
// program. After s.split(t), t means the result of the all-gather; after s.reorder or s.slice, t means the slice, and
// s.gather_of(t) the whole.
class Schedule {
public:
    explicit Schedule(const Program &);

    // See the header of the same name for what each does to the graph.
    SplitResult split(const Tensor &t, int dim = 0);
    void reorder(const Tensor &gather, const std::vector<Tensor> &set);
    void slice(const Tensor &t, int dim = 0);
    void as_slice(const Tensor &argument);
    Group fuse(const std::vector<Tensor> &set);
    std::vector<Group> fuse_all();  // the Groups that it made
    void collective(const Tensor &t, Algorithm algorithm);
    void vectorize(const Tensor &t, int lanes);
    // The all-gather that s.reorder or s.slice made of the slice t.
    Tensor gather_of(const Tensor &t) const;
    // The value that update(argument, expression) gave a name to: `argument.new`.
    Tensor new_value_of(const Tensor &argument) const;

    // The program as these verbs leave it.
    const Graph &graph() const { return now; }
    const std::string &program() const { return now.program; }
    // Is it of this program, and not of another one of the same name?
    bool is_of(const Program &p) const { return tensors == p.tensors(); }

    // One verb a line, and the Groups that it made, as they are now, as a comment:
    //     gsum.rs, gsum.ag = split(gsum, 0)
    //     reorder(gsum.ag, {avg, m1, v1, p1})
    //     fuse({gsum.rs, avg, m1, v1, p1, p1.ag})  # Group 0, 1 sweep
    std::string text() const;
    // The same as C++, where each tensor is called by its name:
    //     auto [gsum_rs, gsum_ag] = s.split(gsum, 0);
    //     s.reorder(gsum_ag, {avg, m1, v1, p1});
    std::string cpp() const;
    // The schedule that text() wrote. An Error gives line and column, and the nearest names.
    static Schedule parse(const Program &, const std::string &text);

    // A verb as data. `where`: of its text, for the error.
    void add(const Verb &, const std::string &where = "");

private:
    struct Step {
        Verb verb;
        int first_group, end_group;  // the Groups that it made
    };
    std::vector<Step> steps;
    Graph now;
    std::map<DefinitionPtr, NodeId> tensors;  // of the program

    // f(), an Error of which says that this could not be done.
    template <class F>
    auto attempt(const std::string &written, const F &f, const std::string &where = "") const;
    void perform(const std::string &written, const std::function<Verb()> &, const std::string &where = "");
    template <class V, class... Fields>
    void perform(const Fields &...);

    // The node that t was when it was made, there or not; -1: none in this program.
    NodeId identity(const DefinitionPtr &t) const;
    NodeId resolve(const Tensor &) const;
    NodeIds resolve(const std::vector<Tensor> &) const;
    ArgumentId argument(const Tensor &) const;
    Tensor handle(Role, const Tensor &of) const;
};

// Names of all nodes that can be written, in the order of the graph.
Names node_names(const Graph &);
Names tensor_arguments(const Graph &);
// "Legal: gsum.ag (nearest), avg, m1"
std::string legal_names(const std::string &written, const Names &known);

std::string to_string(const Schedule &);
std::ostream &operator<<(std::ostream &, const Schedule &);

}  // namespace stretto
