// Adam (Kingma and Ba, ICLR 2015) over data-parallel gradients: every rank has an addend of the gradient, the optimizer steps
// on the mean.
#include <stretto/stretto.h>

using namespace stretto;

struct Adam : Generator<Adam> {
    GeneratorParam<Type> grad_type{"grad_type", f32};
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", grad_type, {n}, partial(Sum)};                  // each rank holds one addend
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}}, v{"v", f32, {n}};  // parameters, first and second moment
    Input<double> lr{"lr"}, beta1{"beta1"}, beta2{"beta2"}, eps{"eps"};
    Input<int64_t> step{"step"};  // counts from 1
    Tensor gsum{"gsum"}, avg{"avg"}, m1{"m1"}, v1{"v1"}, p1{"p1"};

    void algorithm() {
        g.range(-1, 1);
        p.range(-1, 1);
        m.range(-0.1, 0.1);
        v.range(0, 0.1);
        lr.range(1e-4, 1e-2);
        beta1.range(0.8, 0.95);
        beta2.range(0.9, 0.999);
        eps.range(1e-9, 1e-7);
        step.range(1, 1000);
        require(step >= 1, "step counts from 1");
        require(beta1 < 1 && beta2 < 1, "beta1 and beta2 are below 1");

        // No index in them: computed once a call, in f64. In f32 the corrections would be 100 ulp off.
        Expr b1 = cast<float>(beta1), a1 = cast<float>(1 - beta1);
        Expr b2 = cast<float>(beta2), a2 = cast<float>(1 - beta2);
        Expr c1 = cast<float>(lr / (1 - pow(beta1, step))), c2 = cast<float>(1 / sqrt(1 - pow(beta2, step)));
        gsum = all_reduce(cast<float>(g));  // widened in the load: 16 bits travel, the sum is f32
        avg(i) = gsum(i) / ranks();
        m1(i) = b1 * m(i) + a1 * avg(i);
        v1(i) = b2 * v(i) + a2 * avg(i) * avg(i);
        p1(i) = p(i) - c1 * m1(i) / (sqrt(v1(i)) * c2 + cast<float>(eps));
        update(p, p1);
        update(m, m1);
        update(v, v1);
    }

    // All-reduce = reduce-scatter + all-gather; compute on slices, gather the results; the state lives sliced.
    NamedSchedule on_slices{"on_slices", [this](Schedule &s) {
                                auto [rs, ag] = s.split(gsum);
                                s.reorder(ag, {avg, m1, v1, p1});
                                s.as_slice(m);
                                s.as_slice(v);
                            }};
    // One sweep over memory.
    NamedSchedule fused{"fused", [this](Schedule &s) {
                            on_slices(s);
                            s.fuse_all();
                        }};
};
STRETTO_REGISTER_GENERATOR(Adam, adam)
