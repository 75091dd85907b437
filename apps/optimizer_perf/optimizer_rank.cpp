#include "optimizer_rank.h"

#include <optional>
#include <stdexcept>

#include "adam_default.h"
#include "adam_default_bfloat16.h"
#include "adam_default_float16.h"
#include "adam_fused.h"
#include "adam_fused_bfloat16.h"
#include "adam_fused_float16.h"
#include "adam_on_slices.h"
#include "adam_on_slices_bfloat16.h"
#include "adam_on_slices_float16.h"
#include "adam_serial.h"
#include "apps/perf/private_memory.h"

namespace optimizer_perf {
namespace {

using perf::Element;
using stretto::View;

struct Compiled {
    const char *type, *schedule;
    Element element;
    bool slices;  // m and v are passed as slices
    decltype(&adam_fused) step;
};

const Compiled compiled[] = {
    {"float", "default", Element::Float, false, adam_default},
    {"float", "on_slices", Element::Float, true, adam_on_slices},
    {"float", "fused", Element::Float, true, adam_fused},
    {"half", "default", Element::Half, false, adam_default_float16},
    {"half", "on_slices", Element::Half, true, adam_on_slices_float16},
    {"half", "fused", Element::Half, true, adam_fused_float16},
    {"bfloat16", "default", Element::Bfloat16, false, adam_default_bfloat16},
    {"bfloat16", "on_slices", Element::Bfloat16, true, adam_on_slices_bfloat16},
    {"bfloat16", "fused", Element::Bfloat16, true, adam_fused_bfloat16},
};

const Compiled *find(const std::string &type, const std::string &schedule) {
    for (auto &c : compiled)
        if (c.type == type && c.schedule == schedule) return &c;
    throw std::runtime_error("there is no schedule " + schedule + " for gradients of type " + type);
}

class OptimizerRank : public perf::Rank {
    stretto::Communicator comm_;
    std::string type_;
    Element element_;
    // Whole moments for the default schedule, slices for the others: each keeps its own.
    void *g_ = nullptr;
    float *p_ = nullptr, *m_ = nullptr, *v_ = nullptr, *m_slice_ = nullptr, *v_slice_ = nullptr;

    // What is current.
    const Compiled *now_ = nullptr;
    int64_t count_ = 0, begin_ = 0, end_ = 0;  // of the moments
    int64_t step_ = 0;
    std::optional<View> g_view_, p_view_, m_view_, v_view_;

    void fill_gradient() { perf::fill(element_, g_, rank(), count_); }
    float *m() const { return now_->slices ? m_slice_ : m_; }
    float *v() const { return now_->slices ? v_slice_ : v_; }

    void make_views() {
        if (element_ == Element::Float)
            g_view_.emplace(static_cast<float *>(g_), std::initializer_list<int64_t>{count_});
        else if (element_ == Element::Half)
            g_view_.emplace(static_cast<stretto::float16 *>(g_), std::initializer_list<int64_t>{count_});
        else g_view_.emplace(static_cast<stretto::bfloat16 *>(g_), std::initializer_list<int64_t>{count_});
        p_view_.emplace(p_, std::initializer_list<int64_t>{count_});
        m_view_.emplace(m(), std::initializer_list<int64_t>{end_ - begin_},
                        std::initializer_list<int64_t>{begin_});
        v_view_.emplace(v(), std::initializer_list<int64_t>{end_ - begin_},
                        std::initializer_list<int64_t>{begin_});
    }

public:
    OptimizerRank(stretto::Communicator comm, const std::string &type)
        : comm_(std::move(comm)), type_(type), element_(find(type, "fused")->element) {}

    int rank() const override { return comm_.rank(); }
    int ranks() const override { return comm_.ranks(); }

    void allocate(int64_t count) override {
        int64_t slice = count / ranks() + 1;
        g_ = element_ == Element::Float ? static_cast<void *>(comm_.allocate<float>(count))
                                        : comm_.allocate<uint16_t>(count);
        p_ = comm_.allocate<float>(count);
        for (float **x : {&m_, &v_}) *x = perf::private_allocate<float>(count);
        for (float **x : {&m_slice_, &v_slice_}) *x = perf::private_allocate<float>(slice);
    }

    void select(const std::string &schedule, int64_t count, bool fresh) override {
        now_ = find(type_, schedule);
        count_ = count;
        begin_ = 0, end_ = count;
        if (now_->slices) std::tie(begin_, end_) = comm_.slice(count);
        make_views();
        if (!fresh) return;
        step_ = 0;
        fill_gradient();
        for (int64_t i = 0; i < count; i++) p_[i] = initial(i).p;
        for (int64_t i = begin_; i < end_; i++)
            m()[i - begin_] = initial(i).m, v()[i - begin_] = initial(i).v;
        barrier();
    }

    void rewrite() override { fill_gradient(); }
    void barrier() override { comm_.barrier(); }

    void step() override {
        const Hyperparameters h;
        int status =
            now_->step(comm_, *g_view_, *p_view_, *m_view_, *v_view_, h.lr, h.beta1, h.beta2, h.eps, ++step_);
        if (status) stretto::check_status(status);
    }

    int64_t wrong(int steps) override {
        int64_t wrong = 0;
        for (int64_t i = 0, stride = perf::check_stride(count_); i < count_; i += stride) {
            State s = serial_steps(element_, i, ranks(), steps);
            bool same = perf::bits_of(s.p) == perf::bits_of(p_[i]);
            if (i >= begin_ && i < end_) {
                same = same && perf::bits_of(s.m) == perf::bits_of(m()[i - begin_]) &&
                       perf::bits_of(s.v) == perf::bits_of(v()[i - begin_]);
            }
            wrong += !same;
        }
        return wrong;
    }

    perf::Counters counters() override {
        stretto_stats s = comm_.stats();
        return {double(s.bytes_sent), double(s.bytes_loaded), double(s.bytes_stored)};
    }
};

}  // namespace

std::unique_ptr<perf::Rank> make_rank(stretto::Communicator comm, const std::string &type) {
    return std::make_unique<OptimizerRank>(std::move(comm), type);
}

}  // namespace optimizer_perf
