// What users have today: MPI_Allreduce of the gradient in place, then Adam over all parameters in one pass that the
// compiler vectorises. MPI has no 16-bit floats: such gradients are widened first, within the clock, and summed as f32, as
// mixed-precision training does where its library cannot.
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "adam_serial.h"
#include "apps/perf/mpi_main.h"
#include "apps/perf/mpi_rank.h"
#include "apps/perf/private_memory.h"

namespace {

using optimizer_perf::Hyperparameters;
using optimizer_perf::initial;
using optimizer_perf::serial_steps;
using optimizer_perf::State;
using optimizer_perf::StepScalars;
using perf::Element;

// scale: 1 / ranks, which costs less than a division.
void adam(float *__restrict p, float *__restrict m, float *__restrict v, const float *__restrict g, int64_t n,
          float scale, const StepScalars &k) {
    for (int64_t i = 0; i < n; i++) {
        float gi = g[i] * scale;
        float mi = k.b1 * m[i] + k.a1 * gi, vi = k.b2 * v[i] + k.a2 * gi * gi;
        m[i] = mi;
        v[i] = vi;
        p[i] -= k.c1 * mi / (std::sqrt(vi) * k.c2 + k.eps);
    }
}

float half_to_float(uint16_t h) {  // normal numbers
    uint32_t bits = uint32_t(h & 0x8000) << 16 | ((uint32_t(h & 0x7fff) << 13) + ((127u - 15u) << 23));
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void widen_half(float *__restrict to, const uint16_t *__restrict from, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(
            to + i,
            _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i))));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i,
                         _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i))));
#endif
    for (; i < n; i++) to[i] = half_to_float(from[i]);
}

void widen_bfloat16(float *__restrict to, const uint16_t *__restrict from, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = uint32_t(from[i]) << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

class OptimizerPeer : public perf::MpiRank {
    Element element_;
    uint16_t *narrow_ = nullptr;  // the gradient, where it is of 16 bits
    float *g_ = nullptr, *p_ = nullptr, *m_ = nullptr, *v_ = nullptr;
    int64_t count_ = 0, step_ = 0;

public:
    explicit OptimizerPeer(const std::string &type)
        : element_(type == "half"       ? Element::Half
                   : type == "bfloat16" ? Element::Bfloat16
                                        : Element::Float) {}

    void allocate(int64_t count) override {
        check_count(count);
        if (element_ != Element::Float) narrow_ = perf::private_allocate<uint16_t>(count);
        for (float **x : {&g_, &p_, &m_, &v_}) *x = perf::private_allocate<float>(count);
    }

    void select(const std::string &, int64_t count, bool fresh) override {
        count_ = count;
        if (!fresh) return;
        step_ = 0;
        for (int64_t i = 0; i < count; i++) {
            State s = initial(i);
            p_[i] = s.p, m_[i] = s.m, v_[i] = s.v;
        }
        rewrite();
    }

    void rewrite() override {
        perf::fill(element_, narrow_ ? static_cast<void *>(narrow_) : g_, rank(), count_);
    }

    void step() override {
        if (element_ == Element::Half) widen_half(g_, narrow_, count_);
        if (element_ == Element::Bfloat16) widen_bfloat16(g_, narrow_, count_);
        MPI_Allreduce(MPI_IN_PLACE, g_, int(count_), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        adam(p_, m_, v_, g_, count_, 1.0f / float(ranks()), StepScalars(Hyperparameters{}, ++step_));
    }

    // Not bit for bit: MPI adds in its own order, and the pass above contracts. Relative to what the steps change.
    int64_t wrong(int steps) override {
        int64_t wrong = 0;
        for (int64_t i = 0, stride = perf::check_stride(count_); i < count_; i += stride) {
            State s = serial_steps(element_, i, ranks(), steps);
            float change = std::fabs(s.p - initial(i).p);
            wrong += !(std::fabs(s.p - p_[i]) <= 1e-4f * change + 1e-6f * std::fabs(s.p));
        }
        return wrong;
    }
};

}  // namespace

int main(int argc, char **argv) {
    return perf::mpi_main(argc, argv,
                          [](const std::string &type) { return std::make_unique<OptimizerPeer>(type); });
}
