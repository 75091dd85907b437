// Data-parallel training of a multi-layer perceptron on images of 64 pixels: 64-H1-H2-10, leaky ReLU between, softmax
// cross-entropy with smoothed labels. The batch is sliced over the ranks, the weights are replicated; that the gradients are
// pending sums, partial(Sum), is inferred: they are reductions over the sliced index.
#include <stretto/stretto.h>

using namespace stretto;

constexpr int pixels = 64, classes = 10;

// Leaky: a unit with no gradient at all stays as it is, and its moments in Adam decay into subnormal numbers, on which
// arithmetic is many times slower.
Expr leaky(const Expr &where, const Expr &value) {
    return select(where > 0.0f, value, 0.01f * value);
}

// What training and evaluation have in common. A generator derives from Generator first: it opens the recorder that these
// members register with.
struct Network {
    Size B{"B"}, H1{"H1"}, H2{"H2"};  // images in the batch of all ranks, hidden units
    Var i{"i"}, k{"k"}, h{"h"}, j{"j"}, c{"c"};
    Input<Tensor> x{"x", f32, {B, pixels}, sliced(0)}, y{"y", i32, {B}, sliced(0)};  // images and their digits
    Input<Tensor> w1{"w1", f32, {pixels, H1}}, b1{"b1", f32, {H1}};
    Input<Tensor> w2{"w2", f32, {H1, H2}}, b2{"b2", f32, {H2}};
    Input<Tensor> w3{"w3", f32, {H2, classes}}, b3{"b3", f32, {classes}};
    Tensor s1{"s1"}, s2{"s2"}, s3{"s3"}, z1{"z1"}, z2{"z2"}, a1{"a1"}, a2{"a2"}, logits{"logits"}, top{"top"};

    void forward() {
        x.range(0, 1);
        y.range(0, classes - 1);
        s1(i, h) = sum_over(k, x(i, k) * w1(k, h));
        z1(i, h) = s1(i, h) + b1(h);
        a1(i, h) = leaky(z1(i, h), z1(i, h));
        s2(i, j) = sum_over(h, a1(i, h) * w2(h, j));
        z2(i, j) = s2(i, j) + b2(j);
        a2(i, j) = leaky(z2(i, j), z2(i, j));
        s3(i, c) = sum_over(j, a2(i, j) * w3(j, c));
        logits(i, c) = s3(i, c) + b3(c);
        top(i) = max_over(c, logits(i, c));
    }
};

// Forward and backward. Each rank's addend of the gradient is `ranks()` times the sum over its images, divided by B: the mean
// over ranks, on which the optimizer steps, is the mean over all images, also when the ranks' parts differ in size.
struct Gradients : Generator<Gradients>, Network {
    Input<float> smoothing{"smoothing"};  // of the labels: each other digit gets smoothing/10
    Output<Tensor> dw1{"dw1", f32, {pixels, H1}, partial(Sum)}, db1{"db1", f32, {H1}, partial(Sum)};
    Output<Tensor> dw2{"dw2", f32, {H1, H2}, partial(Sum)}, db2{"db2", f32, {H2}, partial(Sum)};
    Output<Tensor> dw3{"dw3", f32, {H2, classes}, partial(Sum)}, db3{"db3", f32, {classes}, partial(Sum)};
    Tensor e{"e"}, total{"total"}, d3{"d3"}, back2{"back2"}, d2{"d2"}, back1{"back1"}, d1{"d1"};

    void algorithm() {
        smoothing.range(0, 0.2);
        forward();
        e(i, c) = exp(logits(i, c) - top(i));
        total(i) = sum_over(c, e(i, c));
        Expr wanted = select(y(i) == c, 1.0f - smoothing, 0.0f) + smoothing / classes;
        d3(i, c) = (e(i, c) / total(i) - wanted) * (cast<float>(ranks()) / cast<float>(B));
        back2(i, j) = sum_over(c, d3(i, c) * w3(j, c));
        d2(i, j) = leaky(z2(i, j), back2(i, j));
        back1(i, h) = sum_over(j, d2(i, j) * w2(h, j));
        d1(i, h) = leaky(z1(i, h), back1(i, h));
        dw1(k, h) = sum_over(i, x(i, k) * d1(i, h));
        db1(h) = sum_over(i, d1(i, h));
        dw2(h, j) = sum_over(i, a1(i, h) * d2(i, j));
        db2(j) = sum_over(i, d2(i, j));
        dw3(j, c) = sum_over(i, a2(i, j) * d3(i, c));
        db3(c) = sum_over(i, d3(i, c));
    }
};
STRETTO_REGISTER_GENERATOR(Gradients, gradients)

// How many images of each digit the network recognises.
struct Evaluate : Generator<Evaluate>, Network {
    Output<Tensor> right{"right", i32, {classes}};
    Tensor guess{"guess"}, mine{"mine"};

    void algorithm() {
        forward();
        // The first of equals; 10 when the logits are NaN.
        guess(i) = min_over(c, select(logits(i, c) == top(i), c, classes));
        mine(c) = sum_over(i, select(logits(i, c) == top(i) && guess(i) == c && y(i) == c, 1, 0));
        right = all_reduce(mine);
    }
};
STRETTO_REGISTER_GENERATOR(Evaluate, evaluate)

// What each rank has measured, for all to see: numbers, as their bits.
struct Gather : Generator<Gather> {
    Size n{"n"};
    Input<Tensor> mine{"mine", u64, {n}, sliced(0)};
    Output<Tensor> all{"all", u64, {n}};

    void algorithm() {
        all = all_gather(mine);
    }
};
STRETTO_REGISTER_GENERATOR(Gather, gather)
