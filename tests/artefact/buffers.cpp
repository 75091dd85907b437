// Wrong buffers in the C call: the message names the argument and both values.
#include "../golden.h"

#include <numeric>
#include <regex>

#include <stretto/runtime.hpp>
#include "shapes.h"

using namespace stretto;
using test::check_golden;

namespace {

// A right call on rank `rank` of 2: w and p are [4, 5], s this rank's rows of [7, 5], out a number.
struct Call {
    std::vector<float> w, p;
    std::vector<int32_t> s;
    double out = 0;
    float c = 2;
    int64_t begin = 0, end = 7, rows = 7;
    View wb, pb, sb, outb;
    halide_buffer_t *passed[4];
    explicit Call(Communicator &comm)
        : w(64, 1), p(64, 1), s(64, 1), wb(w.data(), {4, 5}), pb(p.data(), {4, 5}), sb(s.data(), {0, 5}), outb(view(&out)) {
        stretto_slice(7, comm.rank(), comm.ranks(), &begin, &end);
        sb = view(s.data(), {end - begin, 5}, {begin, 0});
        passed[0] = wb.get(), passed[1] = sb.get(), passed[2] = pb.get(), passed[3] = outb.get();
    }
    int operator()(Communicator &comm) {
        return shapes(comm, passed[0], passed[1], passed[2], passed[3], c, rows);
    }
};

std::string text;

// What rank 0 of one or two is told of a call that is spoilt on rank 0.
void refused(const std::string &why, const std::function<void(Call &)> &spoil, int ranks = 1) {
    run(threads(ranks), [&](Communicator &comm) {
        Call call(comm);
        if (comm.rank() == 0) spoil(call);
        int status = call(comm);
        CHECK_MESSAGE(status == STRETTO_INVALID, why);
        if (comm.rank() == 0)
            text += "# " + why + "\n" + std::regex_replace(stretto_last_error(), std::regex("0x[0-9a-f]+"), "0x...") + "\n\n";
    });
}

}  // namespace

TEST_CASE("the right call") {
    for (int ranks : {1, 2, 3})
        run(threads(ranks), [](Communicator &comm) {
            Call call(comm);
            CHECK(call(comm) == 0);
            CHECK(call.out == 20 + 35);
            CHECK(call.p[19] == 3);
            CHECK(call.p[20] == 1);
        });
}

TEST_CASE("wrong buffers") {
    text.clear();
    refused("null", [](Call &c) { c.passed[0] = nullptr; });
    refused("no data", [](Call &c) { c.wb.get()->host = nullptr; });
    refused("no dimensions", [](Call &c) { c.wb.get()->dim = nullptr; });
    refused("type", [](Call &c) { c.wb.get()->type.bits = 64; });
    refused("signedness", [](Call &c) { c.sb.get()->type.code = halide_type_uint; });
    refused("lanes", [](Call &c) { c.wb.get()->type.lanes = 4; });
    refused("rank", [](Call &c) { c.pb = view(c.p.data(), {20}); });
    refused("a number instead of a matrix", [](Call &c) { c.wb = view(c.w.data()); });
    refused("a vector instead of a number", [](Call &c) { c.outb = view(&c.out, {1}); });
    refused("a constant extent", [](Call &c) { c.wb = view(c.w.data(), {3, 5}); });
    refused("a size that another argument has given", [](Call &c) { c.pb = view(c.p.data(), {4, 6}); });
    refused("a negative size", [](Call &c) { c.rows = -1; });
    refused("min of a whole dimension", [](Call &c) { c.wb = view(c.w.data(), {4, 5}, {0, 1}); });
    refused(
        "min of a slice", [](Call &c) { c.sb = view(c.s.data(), {3, 5}, {1, 0}); }, 2);
    refused(
        "extent of a slice", [](Call &c) { c.sb = view(c.s.data(), {4, 5}); }, 2);
    refused(
        "all rows where a slice is wanted", [](Call &c) { c.sb = view(c.s.data(), {7, 5}); }, 2);
    refused("stride of the last index", [](Call &c) { c.wb.get()->dim[0].stride = 2; });
    refused("a transposed matrix", [](Call &c) {
        c.wb.get()->dim[0].stride = 4;
        c.wb.get()->dim[1].stride = 1;
    });
    refused("rows that overlap, written", [](Call &c) { c.pb.get()->dim[1].stride = 3; });
    refused("rows on top of each other, written", [](Call &c) { c.pb.get()->dim[1].stride = 0; });
    refused("an input that is an output too", [](Call &c) { c.pb = view(c.w.data(), {4, 5}); });
    refused("an input that overlaps an output in part", [](Call &c) { c.pb = view(c.w.data() + 19, {4, 5}); });
    refused("an output within another", [](Call &c) { c.outb = view(reinterpret_cast<double *>(c.p.data() + 4)); });
    refused("newer on a device", [](Call &c) { c.wb.get()->flags |= 2; });
    check_golden("artefact/buffers", text);
}

TEST_CASE("legal: rows with gaps, and inputs that share memory with inputs; gaps stay as they are") {
    run(threads(1), [](Communicator &comm) {
        Call call(comm);
        call.pb.get()->dim[1].stride = 7;
        call.wb.get()->dim[1].stride = 6;
        CHECK(call(comm) == 0);
        for (int i = 0; i < 28; i++) CHECK(call.p[size_t(i)] == (i % 7 < 5 ? 3 : 1));
        CHECK(call.out == 55);
    });
}

TEST_CASE("legal: rows of an input on top of each other") {
    run(threads(1), [](Communicator &comm) {
        Call call(comm);
        call.wb.get()->dim[1].stride = 0;
        std::iota(call.w.begin(), call.w.begin() + 5, 0.f);
        CHECK(call(comm) == 0);
        CHECK(call.p[19] == 1 + 2 * 4);
        CHECK(call.out == 4 * 10 + 35);
    });
}
