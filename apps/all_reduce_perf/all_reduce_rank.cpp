#include "all_reduce_rank.h"

#include <optional>
#include <stdexcept>

#include "all_reduce_default.h"
#include "all_reduce_one_shot.h"
#include "all_reduce_two_phase.h"
#include "apps/perf/values.h"
#include "serial_sum.h"

namespace all_reduce_perf {
namespace {

using stretto::View;

class AllReduceRank : public perf::Rank {
    stretto::Communicator comm_;
    float *in_ = nullptr, *out_ = nullptr;
    int64_t count_ = 0;
    decltype(&all_reduce_default) function_ = nullptr;
    std::optional<View> in_view_, out_view_;

public:
    explicit AllReduceRank(stretto::Communicator comm) : comm_(std::move(comm)) {}

    int rank() const override { return comm_.rank(); }
    int ranks() const override { return comm_.ranks(); }

    void allocate(int64_t count) override {
        in_ = comm_.allocate<float>(count);
        out_ = comm_.allocate<float>(count);
    }

    void select(const std::string &schedule, int64_t count, bool fresh) override {
        function_ = schedule == "default"     ? all_reduce_default
                    : schedule == "one_shot"  ? all_reduce_one_shot
                    : schedule == "two_phase" ? all_reduce_two_phase
                                              : nullptr;
        if (!function_) throw std::runtime_error("there is no schedule " + schedule);
        count_ = count;
        in_view_.emplace(in_, std::initializer_list<int64_t>{count});
        out_view_.emplace(out_, std::initializer_list<int64_t>{count});
        if (!fresh) return;
        for (int64_t i = 0; i < count; i++) out_[i] = -1;
        barrier();
    }

    void rewrite() override { perf::fill<perf::Element::Float>(in_, rank(), count_); }
    void barrier() override { comm_.barrier(); }

    void step() override {
        if (int status = function_(comm_, *in_view_, *out_view_)) stretto::check_status(status);
    }

    int64_t wrong(int) override {
        int64_t wrong = 0;
        for (int64_t i = 0, stride = perf::check_stride(count_); i < count_; i += stride) {
            wrong += perf::bits_of(serial_sum(i, ranks())) != perf::bits_of(out_[i]);
        }
        return wrong;
    }

    perf::Counters counters() override {
        stretto_stats s = comm_.stats();
        return {double(s.bytes_sent), double(s.bytes_loaded), double(s.bytes_stored)};
    }
};

}  // namespace

std::unique_ptr<perf::Rank> make_rank(stretto::Communicator comm, const std::string &) {
    return std::make_unique<AllReduceRank>(std::move(comm));
}

}  // namespace all_reduce_perf
