#include <algorithm>
#include <map>
#include <set>

#include "collectives/plan/rules.h"
#include "collectives/plan/signature.h"

namespace stretto::plan {
namespace {

class CpuSection : Rules {
public:
    explicit CpuSection(const PlanT &plan) : Rules(plan), cpu(*plan.cpu) {}

    void run() {
        name("cpu.target", cpu.target, true);
        if (cpu.kernels < 0 || cpu.kernels > 1 << 20)
            fail("limit", "cpu.kernels", "is %d, legal are 0 to %d", cpu.kernels, 1 << 20);
        if (p.scalars.empty() != (cpu.scalar_kernel == -1))
            fail("scalar", "cpu.scalar_kernel", "is %d, the plan has %zu scalars", cpu.scalar_kernel, p.scalars.size());
        if (cpu.scalar_kernel != -1)
            index("kernel", "cpu.scalar_kernel", cpu.scalar_kernel, size_t(cpu.kernels), "kernels");
        if (cpu.stages.size() != p.stages.size())
            fail("kernel", "cpu.stages", "has %zu entries, the plan has %zu stages", cpu.stages.size(), p.stages.size());
        for (size_t i = 0; i < cpu.stages.size(); i++) kernels(at("cpu.stages", i), *cpu.stages[i], *p.stages[i]);
        one_signature();
    }

private:
    const CpuT &cpu;

    // Wherever a kernel is used it gets the same arguments.
    void one_signature() {
        std::map<int, std::string> known;
        for (auto &use : kernel_uses(p)) {
            const int id = use.kernel->id;
            const std::string text = signature(p, use).text, &first = known.emplace(id, text).first->second;
            const std::string rule = "kernel: kernel " + std::to_string(id);
            if (text != first) throw Broken(rule + " is used as " + first + " and as " + text);
            if (id == cpu.scalar_kernel) throw Broken(rule + " is the scalars' and used as " + text);
        }
    }

    // How many loads from Each rank, and sums, a kernel reads.
    struct Uses {
        int each = 0, sum = 0;
    };

    Uses kernel(const std::string &here, const KernelT *kernel, const StageKernelsT &all, const StageT &s,
                bool of_sum = false) {
        if (!kernel) fail("kernel", here, "is missing");
        const KernelT &k = *kernel;
        index("kernel", at(here, "id"), k.id, size_t(cpu.kernels), "kernels");
        count(at(here, "scalars"), k.scalars.size(), max_loads);
        count(at(here, "loads"), k.loads.size(), max_loads);
        count(at(here, "sums"), k.sums.size(), max_loads);
        for (int i : k.scalars) index("kernel", at(here, "scalars"), i, p.scalars.size(), "scalars");
        Uses uses;
        for (size_t i = 0; i < k.loads.size(); i++) {
            std::string load = at(here, "loads", i);
            index("load", load, k.loads[i], s.accesses.size(), "accesses in this stage");
            auto &a = *s.accesses[size_t(k.loads[i])];
            if (a.how == How::Write || (a.how == How::Update && !of_sum))
                fail("load", load, "is access %d, which is no Read", k.loads[i]);
            uses.each += a.how == How::Read && a.from == From::Each;
        }
        for (int i : k.sums) index("load", at(here, "sums"), i, all.sums.size(), "sums in this stage");
        uses.sum = int(k.sums.size());
        return uses;
    }

    void kernels(const std::string &here, const StageKernelsT &k, const StageT &s) {
        count(at(here, "sums"), k.sums.size(), max_loads);
        count(at(here, "direct"), k.direct.size(), max_loads);
        if (kernel(at(here, "kernel"), k.kernel.get(), k, s).each && k.direct.empty())
            fail("load", at(here, "kernel"), "reads Each rank, which needs sums or a direct kernel");
        for (size_t i = 0; i < k.sums.size(); i++) {
            std::string sum = at(here, "sums", i);
            known(at(sum, "type"), k.sums[i]->type);
            Uses uses = kernel(at(sum, "kernel"), k.sums[i]->kernel.get(), k, s, true);
            if (!uses.each) fail("sum", sum, "reads no operand of Each rank");
            if (uses.sum) fail("sum", sum, "reads another sum");
            if (std::count(k.kernel->sums.begin(), k.kernel->sums.end(), int(i)) == 0)
                fail("sum", sum, "is read by no load of the stage's kernel");
        }
        std::set<int> ranks;
        for (size_t i = 0; i < k.direct.size(); i++) {
            auto &d = *k.direct[i];
            std::string direct = at(here, "direct", i), to_peers = at(direct, "to_peers");
            if (d.ranks < 1 || d.ranks > max_loads)
                fail("direct", at(direct, "ranks"), "is %d, legal are 1 to %d", d.ranks, max_loads);
            if (!ranks.insert(d.ranks).second)
                fail("direct", at(direct, "ranks"), "is %d, as of an earlier one", d.ranks);
            Uses uses = kernel(at(direct, "kernel"), d.kernel.get(), k, s);
            if (!uses.each) fail("direct", direct, "reads no operand of Each rank");
            if (uses.sum) fail("direct", direct, "reads a sum");
            if (!d.to_peers) continue;
            uses = kernel(to_peers, d.to_peers.get(), k, s);
            auto to_all = [](auto &a) { return a->how != How::Read && a->from == From::Each; };
            if (d.ranks == 1 || std::none_of(s.accesses.begin(), s.accesses.end(), to_all))
                fail("direct", to_peers, "has no peers to store to");
            if (d.to_peers->loads != d.kernel->loads || uses.sum)
                fail("direct", to_peers, "loads something else than the kernel that does not store to peers");
        }
    }
};

}  // namespace

void check_cpu(const PlanT &plan) {
    if (!plan.cpu) throw Broken("kernel: cpu is missing");
    CpuSection(plan).run();
}

}  // namespace stretto::plan
