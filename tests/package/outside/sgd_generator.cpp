// A generator of a project that uses Stretto.
#include <stretto/stretto.h>

using namespace stretto;

struct Sgd : Generator<Sgd> {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, p1{"p1"};

    void algorithm() {
        gsum = all_reduce(g);
        p1(i) = p(i) - lr * gsum(i);
        update(p, p1);
    }
    NamedSchedule fused{"fused", [this](Schedule &s) {
                            s.reorder(s.split(gsum).ag, {p1});
                            s.fuse_all();
                        }};
};
STRETTO_REGISTER_GENERATOR(Sgd, sgd)
