// Lesson 2: layouts, and what the compiler refuses.
//
// The layout of a tensor says what each rank holds:
//
//     replicated    the same tensor, bit for bit
//     sliced(d)     a block of dimension d: of n elements on P ranks, rank k has [n*k/P, n*(k+1)/P); n need not divide
//     partial(op)   a full-size addend; the value is the reduction over the ranks (Sum, Prod, Max, Min)
//     local         a full-size value of its own
//
// Layouts of arguments are declared, all others inferred. Most bugs of distributed programs are a
// layout that the author had in mind and the code did not: a gradient that was not yet summed, a
// norm of one slice taken for the norm. Here those are errors that say what was written, why it is
// refused, and what would be legal.
#include <stretto/stretto.h>
#include <iostream>
#include <vector>
#include "claim.h"

using namespace stretto;
using lesson::claim;
using lesson::title;

namespace {

// Prints the error with which `build` is refused; it must say every one of `words`.
template <class Build>
void refused(const std::string &what, const std::vector<std::string> &words, Build build) {
    title(what);
    std::string text;
    try {
        build();
    } catch (const Error &e) {  // of the language, schedules and the compiler
        text = e.what();
    } catch (const RuntimeError &e) {  // of a call
        text = e.what();
    }
    std::cout << (text.empty() ? "nothing was refused" : text) << "\n";
    bool says = !text.empty();
    for (auto &w : words) says = says && text.find(w) != std::string::npos;
    claim("refused, with the reason", says);
}

}  // namespace

int main() {
    Size n{"n"}, B{"B"}, K{"K"}, H{"H"};
    Var i{"i"}, b{"b"}, k{"k"}, h{"h"};

    // ---- Inference
    //
    // A layer whose weights are sliced over the ranks by the inner dimension of the product (row
    // parallel). Rank r multiplies its columns of x with its rows of w and has an addend of y;
    // nobody wrote that, it follows from the layouts.
    {
        Input<Tensor> x{"x", f32, {B, K}, sliced(1)}, w{"w", f32, {K, H}, sliced(0)}, bias{"bias", f32, {H}};
        Output<Tensor> out{"out", f32, {B, H}};
        Tensor y{"y"}, total{"total"};
        y(b, h) = sum_over(k, x(b, k) * w(k, h));
        total = all_reduce(y);
        out(b, h) = max(total(b, h) + bias(h), 0.0f);
        Program layer{"layer", {x, w, bias, out}};
        title("a row-parallel layer, and what is inferred");
        std::cout << layer;
        claim("the product of slices is a pending sum", layer.graph().find("y")->layout == partial(Sum));
        claim("what is computed from its sum is replicated", layer.graph().find("out")->layout.is_replicated());
    }

    // ---- Pending sums
    //
    // The classic: the bias is added to each rank's addend, so the sum has it P times.
    refused("a bias on a pending sum", {"out(b, h) = y(b, h) + bias(h)", "once a rank", "all_reduce(y)"}, [&] {
        Input<Tensor> x{"x", f32, {B, K}, sliced(1)}, w{"w", f32, {K, H}, sliced(0)}, bias{"bias", f32, {H}};
        Output<Tensor> out{"out", f32, {B, H}};
        Tensor y{"y"}, total{"total"};
        y(b, h) = sum_over(k, x(b, k) * w(k, h));
        out(b, h) = y(b, h) + bias(h);
        Program layer{"layer", {x, w, bias, out}};
    });
    // The square of a sum is not the sum of the squares.
    refused("the second moment of a gradient that was not summed", {"the product of two sums", "all_reduce(g)"}, [&] {
        Input<Tensor> g{"g", f32, {n}, partial(Sum)};
        InOut<Tensor> v{"v", f32, {n}};
        Tensor v1{"v1"};
        v1(i) = 0.9f * v(i) + 0.1f * g(i) * g(i);
        update(v, v1);
        Program moments{"moments", {g, v}};
    });
    // What is linear is legal: scaling an addend scales the sum. The layout is still that of a
    // pending sum, so the result cannot be stored in p, which is replicated.
    refused("a result of another layout than its argument", {"partial(Sum)", "replicated"}, [&] {
        Input<Tensor> g{"g", f32, {n}, partial(Sum)};
        InOut<Tensor> p{"p", f32, {n}};
        Tensor step{"step"};
        step(i) = 0.1f * g(i) / ranks();
        update(p, step);
        Program store{"store", {g, p}};
    });

    // ---- Slices
    //
    // A rank has the elements of its block only: a neighbour's element may be another rank's.
    refused("a neighbour in a sliced tensor", {"sliced(0)", "i + 1", "all_gather(x)"}, [&] {
        Input<Tensor> x{"x", f32, {n}, sliced(0)};
        Output<Tensor> d{"d", f32, {n}, sliced(0)};
        d(i) = x(i + 1) - x(i);
        Program difference{"difference", {x, d}};
    });
    // Rank r has row block r of x and column block r of z: an outer product would need blocks that
    // no rank has.
    refused("two indices sliced at once", {"two indices, b (x(b)", "all_gather"}, [&] {
        Input<Tensor> x{"x", f32, {B}, sliced(0)}, z{"z", f32, {H}, sliced(0)};
        Tensor o{"o"};
        Output<Tensor> outer{"outer", f32, {B, H}, sliced(0)};
        outer(b, h) = x(b) * z(h);
        Program product{"product", {x, z, outer}};
    });

    // ---- Local values
    //
    // rank() differs between ranks, so what is computed from it is local. Stored in a replicated
    // tensor it would break the promise that the ranks agree.
    refused("the rank in a replicated result", {"local", "replicated"}, [&] {
        Input<Tensor> x{"x", f32, {n}};
        Output<Tensor> o{"o", f32, {n}};
        o(i) = x(i) + cast<float>(rank());
        Program mine{"mine", {x, o}};
    });

    // ---- At run time
    //
    // A slice is passed as a buffer with its place in the whole: min is its global begin. What does
    // not fit is refused by the call; here a rank passes a slice as if it began at 0.
    Input<Tensor> x{"x", f32, {n}, sliced(0)};
    Output<Tensor> whole{"whole", f32, {n}};
    Tensor doubled{"doubled"};
    doubled(i) = 2.0f * x(i);
    whole = all_gather(doubled);
    Compiled gather = compile(Program{"gather", {x, whole}});
    auto call = [&](bool with_begin) {
        bool right = true;
        run(threads(2), [&](Communicator &c) {
            const int64_t N = 7;
            auto [begin, end] = c.slice(N);
            std::vector<float> slice, all(N);
            for (int64_t j = begin; j < end; j++) slice.push_back(float(j));
            View v = with_begin ? view(slice.data(), {end - begin}, {begin}) : view(slice.data(), {end - begin});
            gather(c, v, all);
            if (c.rank() == 0)
                for (int64_t j = 0; j < N; j++) right = right && all[j] == 2.0f * float(j);
        });
        return right;
    };
    refused("a slice without its begin", {"argument x", "min"}, [&] { call(false); });
    title("and with it: 7 elements on 2 ranks, [0, 3) and [3, 7)");
    claim("all_gather puts the slices together", call(true));
    return lesson::status();
}
