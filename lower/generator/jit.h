// Compiled programs in this process, without an artefact: for tutorials, tests and `--check`.
#pragma once
#include <stretto/runtime.hpp>
#include "lower/lower.h"
#include "schedule/schedule.h"

namespace stretto {

struct CompileOptions {
    std::vector<int> direct_ranks = default_direct_ranks;
    std::string target = "host";
};

// One argument of a call: a std::vector of a one-dimensional tensor (this rank's part), a View, a halide_buffer_t, a scalar.
class CallArgument {
    friend class Compiled;
    enum Kind { Vector,
                Buffer,
                Scalar } kind;
    halide_buffer_t *buffer = nullptr;
    void *data = nullptr;  // of Vector
    int64_t count = 0;
    halide_type_t element{};
    Type scalar_type;
    double real = 0;
    int64_t integer = 0;
    std::shared_ptr<View> view;

public:
    template <class T>
    CallArgument(std::vector<T> &v)
        : kind(Vector), data(v.data()), count(int64_t(v.size())), element(detail::type_of<T>()) {}
    CallArgument(halide_buffer_t *b) : kind(Buffer), buffer(b) {}
    CallArgument(const View &v) : kind(Buffer), view(std::make_shared<View>(v)) { buffer = view->get(); }
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    CallArgument(T x)
        : kind(Scalar),
          scalar_type(Halide::type_of<T>()),
          real(double(x)),
          integer(std::is_floating_point_v<T> ? int64_t(0) : int64_t(x)) {}
};

class Compiled {
    struct Contents;
    std::shared_ptr<const Contents> contents;
    void call(Communicator &, std::vector<CallArgument>) const;

public:
    explicit Compiled(const Lowered &);
    // Arguments in the program's order; sizes that no whole tensor carries follow as integers. Throws Error for a wrong
    // number or kind of arguments, RuntimeError for what the runtime refuses.
    template <class... Arguments>
    void operator()(Communicator &c, Arguments &&...a) const {
        call(c, {CallArgument(std::forward<Arguments>(a))...});
    }
    // The runtime's status. argv: halide_buffer_t pointers and addresses of scalars.
    int execute(stretto_comm_t *, void **argv) const;
    const plan::PlanT &plan() const;
    const std::vector<uint8_t> &bytes() const;
};

Lowered lower_for_jit(const Graph &scheduled, const std::string &schedule_text, const CompileOptions & = {});
Compiled compile(const Program &, const Schedule &, const CompileOptions & = {});
Compiled compile(const Program &, const CompileOptions & = {});

}  // namespace stretto
