// What the checks of a plan's tables share: the first broken rule, and fields that occur in several tables.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "collectives/plan/text.h"
#include "collectives/plan/validate.h"
#include "flatbuffers/util.h"

namespace stretto::plan {

// Each function looks at one thing and returns whether it is sound; the first that is not leaves its text in `broken`.
class Rules {
public:
    explicit Rules(const PlanT &plan) : p(plan) {}
    std::string broken;

protected:
    const PlanT &p;

    static std::string at(const char *table, size_t index) { return text("%s[%zu]", table, index); }
    static std::string at(const std::string &where, const char *field) { return where + "." + field; }

    bool fail(const char *rule, const std::string &where, const std::string &what) {
        broken = std::string(rule) + ": " + where + " " + what;
        return false;
    }

    template <class E>
    bool known(const std::string &where, E value) {
        if (value >= E::MIN && value <= E::MAX) return true;
        return fail("enum", where, text("is %d, legal are %d to %d", int(value), int(E::MIN), int(E::MAX)));
    }

    bool count(const std::string &where, size_t n, size_t most) {
        return n <= most || fail("limit", where, text("has %zu entries, at most %zu are allowed", n, most));
    }

    bool index(const char *rule, const std::string &where, int64_t i, size_t n, const char *of) {
        if (i >= 0 && i < int64_t(n)) return true;
        return fail(rule, where, text("is %lld, the plan has %zu %s", (long long)i, n, of));
    }

    bool name(const std::string &where, const std::string &s, bool may_be_empty = false) {
        if (s.empty() && !may_be_empty) return fail("text", where, "is empty");
        if (s.size() > size_t(max_text))
            return fail("text", where, text("has %zu bytes, at most %d are allowed", s.size(), max_text));
        for (const char *c = s.c_str(), *end = c + s.size(); c < end;)
            if (!*c || flatbuffers::FromUTF8(&c) < 0) return fail("text", where, "is not UTF-8 text");
        return true;
    }

    bool extents(const std::string &where, const std::vector<Extent> &list) {
        if (list.size() > size_t(max_dimensions))
            return fail("limit", where,
                        text("has %zu dimensions, at most %d are allowed", list.size(), max_dimensions));
        int64_t product = 1;
        for (size_t d = 0; d < list.size(); d++) {
            std::string here = where + text("[%zu]", d);
            if (!extent(here, list[d])) return false;
            int64_t n = list[d].kind() == ExtentKind::Constant ? std::max<int64_t>(list[d].value(), 1) : 1;
            if (__builtin_mul_overflow(product, n, &product) || product > INT64_MAX / 16)
                return fail("extent", where, "multiplies to more than 64 bits of bytes");
        }
        return true;
    }

    bool extent(const std::string &where, const Extent &e) {
        if (!known(at(where, "kind"), e.kind())) return false;
        if (e.kind() == ExtentKind::Size)
            return index("extent", at(where, "value"), e.value(), p.sizes.size(), "sizes");
        if (e.kind() == ExtentKind::Ranks)
            return e.value() == 0 || fail("extent", at(where, "value"), "of the number of ranks is not 0");
        if (e.value() < 0 || e.value() > INT32_MAX)
            return fail("extent", at(where, "value"),
                        text("is %lld, legal are 0 to 2147483647", (long long)e.value()));
        return true;
    }

    static bool same(const Extent &a, const Extent &b) {
        return a.kind() == b.kind() && a.value() == b.value();
    }
    static bool same(const std::vector<Extent> &a, const std::vector<Extent> &b) {
        return a.size() == b.size() &&
               std::equal(a.begin(), a.end(), b.begin(), [](auto &x, auto &y) { return same(x, y); });
    }

    bool sliced(const char *rule, const std::string &where, int dimension, size_t dimensions) {
        if (dimension >= -1 && dimension < int(dimensions)) return true;
        return fail(rule, where, text("is %d, legal are -1 to %d", dimension, int(dimensions) - 1));
    }
};

// The tables that stages refer to: sizes, arguments, buffers, scalars, requires.
std::string check_tables(const PlanT &plan);

// The stages and their order, once the tables are sound.
std::string check_stages(const PlanT &plan);

// The CPU's section, once the stages are sound.
std::string check_cpu(const PlanT &plan);

}  // namespace stretto::plan
