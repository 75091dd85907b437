// What a small all-reduce costs when there are more ranks than cores: 4 bytes, 8 ranks on 2 cores.
#include <stretto/stretto.h>
#include "tests/performance/bound.h"
#include "tests/performance/interleaved.h"
#include "tests/performance/spinning.h"

using namespace stretto;
using namespace stretto::test;

namespace {

constexpr int ranks_here = 8, calls = 200, batches = 7;

struct OneElement {
    Input<Tensor> x{"x", f32, {1}, partial(Sum)};
    Output<Tensor> y{"y", f32, {1}};
    Program program = define();
    Program define() {
        y = all_reduce(x);
        return Program("one_element", {x, y});
    }
};

// Microseconds a call, the median of batches, of the slowest rank.
double measure(const Compiled &f) {
    std::vector<double> seconds(size_t(batches), 0);
    std::mutex mutex;
    stretto::run(threads(ranks_here), [&](Communicator &c) {
        float *x = c.allocate<float>(1), *y = c.allocate<float>(1);
        View x_view(x, {1}), y_view(y, {1});
        void *argv[] = {x_view.get(), y_view.get()};
        for (int b = -1; b < batches; b++) {  // one to warm up
            c.barrier();
            double begin = perf::seconds_now();
            for (int i = 0; i < calls; i++) {
                *x = float(c.rank() + i);
                check_status(f.execute(c, argv));
                if (*y != float(8 * i + 28)) throw std::runtime_error("a sum is wrong");
            }
            double t = (perf::seconds_now() - begin) / calls;
            std::lock_guard<std::mutex> lock(mutex);
            if (b >= 0) seconds[size_t(b)] = std::max(seconds[size_t(b)], t);
        }
    });
    return median(seconds) * 1e6;
}

}  // namespace

int main() {
    cpu_set_t all = allowed_cores(), two;
    CPU_ZERO(&two);
    for (int core = 0, taken = 0; core < CPU_SETSIZE && taken < 2; core++)
        if (CPU_ISSET(core, &all)) CPU_SET(core, &two), taken++;
    sched_setaffinity(0, sizeof two, &two);
    OneElement p;
    Compiled f = compile(p.program);
    Bounds bounds;
    bounds.at_most("all-reduce of 4 bytes, 8 threads on " + std::to_string(CPU_COUNT(&two)) + " cores, us", 50,
                   [&] { return measure(f); });
    return bounds.status();
}
