// A program whose kernel reads one element past its input: Halide's own check must end the call, not the process.
#include <stretto/stretto.h>

using namespace stretto;

struct Beyond : Generator<Beyond> {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, x{"x", f32, {n}};
    Output<Tensor> out{"out", f32, {n}};
    Tensor gsum{"gsum"};
    void algorithm() {
        gsum = all_reduce(g);
        out(i) = x(i + 1) + gsum(i);
    }
};
STRETTO_REGISTER_GENERATOR(Beyond, beyond)

// The same in a matrix, for a row that is not there.
struct BeyondRows : Generator<BeyondRows> {
    Size n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> w{"w", f32, {4, n}, partial(Sum)};
    Output<Tensor> out{"out", f32, {4, n}};
    Tensor sum{"sum"};
    void algorithm() {
        sum = all_reduce(w);
        out(j, i) = sum(j + 1, i);
    }
};
STRETTO_REGISTER_GENERATOR(BeyondRows, beyond_rows)

// One of everything that a caller passes: a matrix, slices of it, a size that no whole dimension carries.
struct Shapes : Generator<Shapes> {
    Size n{"n"}, rows{"rows"};
    Var i{"i"}, j{"j"};
    Input<Tensor> w{"w", f32, {4, n}}, s{"s", i32, {rows, n}, sliced(0)};
    InOut<Tensor> p{"p", f32, {4, n}};
    Output<Tensor> out{"out", f64, {}};
    Input<float> c{"c"};
    Tensor p1{"p1"};
    void algorithm() {
        p1(j, i) = p(j, i) + w(j, i) * c;
        update(p, p1);
        out() = cast<double>(sum_over({j, i}, w(j, i))) + cast<double>(sum_over({j, i}, s(j, i)));
    }
};
STRETTO_REGISTER_GENERATOR(Shapes, shapes)
