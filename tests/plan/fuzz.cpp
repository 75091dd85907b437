// Damaged bytes: never a crash, always an error or the plan that was packed.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "collectives/plan/validate.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

std::vector<std::vector<uint8_t>> plans() {
    return {plan::pack(fused_momentum()), plan::pack(all_reduce(2, Carried::Auto)),
            plan::pack(block_sums(true))};
}

std::string validate(const std::vector<uint8_t> &bytes) {
    plan::PlanT into;
    return plan::validate(bytes.data(), bytes.size(), &into);
}

// Validation as it would be without the checksum: structure and tables must hold on their own, since a checksum is no
// protection against somebody who can compute it. Returns the broken rule.
std::string validate_resealed(std::vector<uint8_t> bytes) {
    flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 16, 1 << 20);
    if (!plan::PlanBufferHasIdentifier(bytes.data()) || !plan::VerifyPlanBuffer(verifier)) return "structure";
    auto *root = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
    if (!root->GetAddressOf(plan::Plan::VT_CHECKSUM)) return "checksum";
    root->SetField<uint64_t>(plan::Plan::VT_CHECKSUM, plan::checksum_of(bytes.data(), bytes.size()), 0);
    return validate(bytes);
}

}  // namespace

TEST_CASE("the plans are valid") {
    for (auto &bytes : plans()) CHECK(validate(bytes) == "");
}

TEST_CASE("every flipped bit is seen") {
    std::mt19937 random(1);
    for (auto &good : plans()) {
        for (size_t bit = 0; bit < good.size() * 8; bit++) {
            auto bytes = good;
            bytes[bit / 8] ^= uint8_t(1 << bit % 8);
            if (validate(bytes).empty()) FAIL("bit ", bit, " of ", good.size() * 8, " was flipped unseen");
        }
        for (int round = 0; round < 3000; round++) {
            auto bytes = good;
            for (unsigned k = 1 + random() % 8; k; k--) bytes[random() % bytes.size()] = uint8_t(random());
            if (bytes != good && validate(bytes).empty()) FAIL("changed bytes passed in round ", round);
        }
    }
}

TEST_CASE("damage with a right checksum does not crash the checks") {
    std::mt19937 random(2);
    int refused = 0, passed = 0;
    for (auto &good : plans()) {
        for (int round = 0; round < 6000; round++) {
            auto bytes = good;
            for (unsigned k = 1 + random() % 3; k; k--)
                bytes[random() % bytes.size()] = uint8_t(random() % 4 ? random() : random() % 3);
            (validate_resealed(bytes).empty() ? passed : refused)++;
        }
    }
    CHECK(refused > 1000);  // the loop reached the rules
    CHECK(passed > 0);      // and changes of a name or a flag are plans too
}

TEST_CASE("D5: vectors, texts and tables that several tables share are refused before anything is unpacked") {
    using namespace stretto::plan;
    using flatbuffers::Offset;
    enum Shared { Loops,
                  Names,
                  Tables };
    for (Shared shared : {Loops, Names, Tables}) {
        constexpr size_t stages = 4000;
        flatbuffers::FlatBufferBuilder b;
        const std::vector<Loop> loops(shared == Loops ? 100000 : 1, Loop(Extent(ExtentKind::Constant, 1), Range::Whole));
        const auto the_loops = b.CreateVectorOfStructs(loops);
        const auto the_names = b.CreateString(std::string(shared == Names ? 1 << 20 : 1, 'x'));
        std::vector<Offset<Stage>> list;
        for (size_t i = 0; i < stages; i++)
            list.push_back(shared == Tables && i ? list[0] : CreateStage(b, StageKind::Sweep, the_names, the_loops));
        const auto all = b.CreateVector(list);
        const auto cpu = CreateCpu(b, b.CreateString("x"));
        const auto name = b.CreateString("shared");
        PlanBuilder p(b);
        p.add_version(current_version);
        p.add_name(name);
        p.add_stages(all);
        p.add_cpu(cpu);
        p.add_checksum(1);
        FinishPlanBuffer(b, p.Finish());
        std::vector<uint8_t> bytes(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
        auto *root = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
        root->SetField<uint64_t>(Plan::VT_CHECKSUM, checksum_of(bytes.data(), bytes.size()), 0);
        const std::string too_many = "structure: the " + std::to_string(bytes.size()) + " bytes are truncated or damaged";
        CHECK(validate(bytes) == (shared == Tables ? too_many
                                                   : "structure: tables share vectors or texts, which would take more than the "
                                                     "bytes when unpacked"));
    }
}

TEST_CASE("truncated, empty, foreign") {
    for (auto &good : plans())
        for (size_t size = 0; size < good.size(); size++) {
            std::vector<uint8_t> bytes(good.begin(), good.begin() + long(size));
            CHECK(validate(bytes) != "");
        }
    auto bytes = plans()[0];
    memcpy(bytes.data() + 4, "ELF!", 4);
    CHECK(validate(bytes) == "identifier: the bytes do not begin as a plan does (STRT)");
    plan::PlanT next = fused_momentum();
    next.version = plan::current_version + 1;
    CHECK(validate(plan::pack(next)) == "version: the plan is of version 4, this runtime reads 3");
}

TEST_CASE("a plan that cannot be loaded is an error of the call, on every rank") {
    for (int ranks : {1, 2}) {
        Packed program(fused_momentum());
        program.bytes()[program.bytes().size() / 2] ^= 4;
        on_ranks(World::Threads, ranks, [&](stretto_comm_t *comm) {
            CHECK(program(comm, {}) == STRETTO_BAD_PLAN);
            std::string text = stretto_last_error();
            CHECK(text.find("stretto_execute_v1: the plan cannot be run: ") != text.npos);
        });
    }
}
