#include "collectives/plan/signature.h"

#include <cctype>

namespace stretto::plan {
namespace {

std::string type_text(Type type) {
    std::string s = EnumNameType(type);
    for (char &c : s) c = char(std::tolower(c));
    return s;
}

class Arguments {
public:
    Signature made;

    void add(int count, const std::string &what) {
        made.arguments += count;
        made.text += (begun_ ? ", " : " ") + (count == 1 ? "" : std::to_string(count) + " x ") + what;
        begun_ = true;
    }
    void arrow() {
        made.text += " ->";
        begun_ = false;
    }

private:
    bool begun_ = false;
};

std::string element_text(const PlanT &p, const StageAccessT &a) {
    std::string s = type_text(p.buffers[size_t(a.buffer)]->type) + "[";
    for (size_t d = 0; d < a.reach.size(); d++) s += (d ? "," : "") + std::to_string(a.reach[d]);
    return s + "]";
}

Signature scalar_signature(const PlanT &p) {
    Arguments list;
    list.made.text = "scalars:";
    for (auto &a : p.arguments)
        if (a->scalar) list.add(1, type_text(a->type));
    list.add(int(p.sizes.size()), "size");
    list.add(2, "rank");
    list.arrow();
    for (auto &s : p.scalars) list.add(1, type_text(s->type));
    return list.made;
}

}  // namespace

std::vector<KernelUse> kernel_uses(const PlanT &p) {
    std::vector<KernelUse> uses;
    for (size_t i = 0; i < p.stages.size(); i++) {
        const StageT *s = p.stages[i].get();
        const StageKernelsT *all = p.cpu->stages[i].get();
        uses.push_back({all->kernel.get(), s, all});
        for (auto &sum : all->sums) uses.push_back({sum->kernel.get(), s, all, sum.get()});
        for (auto &d : all->direct) {
            uses.push_back({d->kernel.get(), s, all, nullptr, d->ranks});
            if (d->to_peers) uses.push_back({d->to_peers.get(), s, all, nullptr, d->ranks, true});
        }
    }
    return uses;
}

Signature signature(const PlanT &p, const KernelUse &use) {
    static const char *const kinds[] = {"sweep", "block sum", "contraction", "fold"};
    const StageT &s = *use.stage;
    Arguments list;
    list.made.text = std::string(kinds[int(s.kind)]) + " of " + std::to_string(s.outputs) + " + " +
                     std::to_string(int(s.loops.size()) - s.outputs) + " loops:";
    list.made.arguments += 2 * int(s.loops.size());
    if (use.sum || s.rides) list.add(1, "first");
    for (int i : use.kernel->scalars) list.add(1, type_text(p.scalars[size_t(i)]->type));
    for (int i : use.kernel->loads) {
        auto &a = *s.accesses[size_t(i)];
        const bool each = a.from == From::Each && a.how == How::Read && !use.sum;
        list.add(each ? use.ranks : 1, element_text(p, a));
    }
    for (int i : use.kernel->sums) list.add(1, "sum " + type_text(use.all->sums[size_t(i)]->type));
    list.arrow();
    if (use.sum) {
        list.add(1, "sum " + type_text(use.sum->type));
        return list.made;
    }
    if (s.rides) list.add(1, "so far");
    for (auto &a : s.accesses)
        if (a->how != How::Read) list.add(1, element_text(p, *a) + (a->how == How::Update ? " in place" : ""));
    for (auto &a : s.accesses)
        if (use.to_peers && a->how != How::Read && a->from == From::Each)
            list.add(use.ranks - 1, element_text(p, *a) + " of peers");
    return list.made;
}

std::vector<Signature> signatures(const PlanT &p) {
    std::vector<Signature> list(size_t(p.cpu->kernels));
    for (auto &use : kernel_uses(p)) list[size_t(use.kernel->id)] = signature(p, use);
    if (p.cpu->scalar_kernel >= 0) list[size_t(p.cpu->scalar_kernel)] = scalar_signature(p);
    return list;
}

int32_t hash_of(const Signature &s) {
    uint64_t h = 0xcbf29ce484222325ull;  // FNV-1a
    for (char c : s.text + "#" + std::to_string(s.arguments)) h = (h ^ uint8_t(c)) * 0x100000001b3ull;
    return int32_t(h % INT32_MAX) + 1;
}

}  // namespace stretto::plan
