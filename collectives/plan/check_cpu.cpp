#include <algorithm>
#include <set>

#include "collectives/plan/rules.h"

namespace stretto::plan {
namespace {

class CpuSection : public Rules {
public:
    explicit CpuSection(const PlanT &plan) : Rules(plan), cpu(*plan.cpu) {}

    bool run() {
        if (!name("cpu.target", cpu.target, true)) return false;
        if (cpu.kernels < 0 || cpu.kernels > 1 << 20)
            return fail("limit", "cpu.kernels", text("is %d, legal are 0 to %d", cpu.kernels, 1 << 20));
        if (p.scalars.empty() != (cpu.scalar_kernel == -1))
            return fail("scalar", "cpu.scalar_kernel",
                        text("is %d, the plan has %zu scalars", cpu.scalar_kernel, p.scalars.size()));
        if (cpu.scalar_kernel != -1 &&
            !index("kernel", "cpu.scalar_kernel", cpu.scalar_kernel, size_t(cpu.kernels), "kernels"))
            return false;
        if (cpu.stages.size() != p.stages.size())
            return fail("kernel", "cpu.stages",
                        text("has %zu entries, the plan has %zu stages", cpu.stages.size(), p.stages.size()));
        for (size_t i = 0; i < cpu.stages.size(); i++)
            if (!kernels(at("cpu.stages", i), *cpu.stages[i], *p.stages[i])) return false;
        return true;
    }

private:
    const CpuT &cpu;

    struct Uses {
        int each = 0, sum = 0;
    };

    bool kernel(const std::string &here, const KernelT *kernel, const StageKernelsT &all, const StageT &s, Uses &uses,
                bool of_sum = false) {
        if (!kernel) return fail("kernel", here, "is missing");
        const KernelT &k = *kernel;
        if (!index("kernel", at(here, "id"), k.id, size_t(cpu.kernels), "kernels") ||
            !count(at(here, "scalars"), k.scalars.size(), max_loads) || !count(at(here, "loads"), k.loads.size(), max_loads) ||
            !count(at(here, "sums"), k.sums.size(), max_loads))
            return false;
        for (int i : k.scalars)
            if (!index("kernel", at(here, "scalars"), i, p.scalars.size(), "scalars")) return false;
        for (size_t i = 0; i < k.loads.size(); i++) {
            std::string load = at(here, "loads") + text("[%zu]", i);
            if (!index("load", load, k.loads[i], s.accesses.size(), "accesses in this stage")) return false;
            auto &a = *s.accesses[size_t(k.loads[i])];
            if (a.how == How::Write || (a.how == How::Update && !of_sum))
                return fail("load", load, text("is access %d, which is no Read", k.loads[i]));
            uses.each += a.how == How::Read && a.from == From::Each;
        }
        for (int i : k.sums)
            if (!index("load", at(here, "sums"), i, all.sums.size(), "sums in this stage")) return false;
        uses.sum += int(k.sums.size());
        return true;
    }

    bool kernels(const std::string &here, const StageKernelsT &k, const StageT &s) {
        if (!count(at(here, "sums"), k.sums.size(), max_loads) || !count(at(here, "direct"), k.direct.size(), max_loads))
            return false;
        Uses own;
        if (!kernel(at(here, "kernel"), k.kernel.get(), k, s, own)) return false;
        if (own.each && k.direct.empty())
            return fail("load", at(here, "kernel"), "reads Each rank, which needs sums or a direct kernel");
        for (size_t i = 0; i < k.sums.size(); i++) {
            std::string sum = at(here, "sums") + text("[%zu]", i);
            Uses uses;
            if (!known(at(sum, "type"), k.sums[i]->type) ||
                !kernel(at(sum, "kernel"), k.sums[i]->kernel.get(), k, s, uses, true))
                return false;
            if (!uses.each) return fail("sum", sum, "reads no operand of Each rank");
            if (uses.sum) return fail("sum", sum, "reads another sum");
            if (std::count(k.kernel->sums.begin(), k.kernel->sums.end(), int(i)) == 0)
                return fail("sum", sum, "is read by no load of the stage's kernel");
        }
        std::set<int> ranks;
        for (size_t i = 0; i < k.direct.size(); i++) {
            auto &d = *k.direct[i];
            std::string direct = at(here, "direct") + text("[%zu]", i);
            if (d.ranks < 1 || d.ranks > max_loads)
                return fail("direct", at(direct, "ranks"), text("is %d, legal are 1 to %d", d.ranks, max_loads));
            if (!ranks.insert(d.ranks).second)
                return fail("direct", at(direct, "ranks"), text("is %d, as of an earlier one", d.ranks));
            Uses uses, same;
            if (!kernel(at(direct, "kernel"), d.kernel.get(), k, s, uses)) return false;
            if (!uses.each) return fail("direct", direct, "reads no operand of Each rank");
            if (uses.sum) return fail("direct", direct, "reads a sum");
            if (!d.to_peers) continue;
            std::string to_peers = at(direct, "to_peers");
            if (!kernel(to_peers, d.to_peers.get(), k, s, same)) return false;
            auto to_all = [](auto &a) { return a->how != How::Read && a->from == From::Each; };
            if (d.ranks == 1 || std::none_of(s.accesses.begin(), s.accesses.end(), to_all))
                return fail("direct", to_peers, "has no peers to store to");
            if (d.to_peers->loads != d.kernel->loads || same.sum)
                return fail("direct", to_peers, "loads something else than the kernel that does not store to peers");
        }
        return true;
    }
};

}  // namespace

std::string check_cpu(const PlanT &plan) {
    if (!plan.cpu) return "kernel: cpu is missing";
    CpuSection section(plan);
    return section.run() ? "" : section.broken;
}

}  // namespace stretto::plan
