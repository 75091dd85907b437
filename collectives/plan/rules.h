// What the checks of a plan's tables share: the first broken rule, and fields that occur in several tables.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/plan/text.h"
#include "collectives/plan/validate.h"
#include "flatbuffers/util.h"

namespace stretto::plan {

// Its text is what check() returns.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Each function looks at one thing and throws Broken unless it is sound.
class Rules {
public:
    explicit Rules(const PlanT &plan) : p(plan) {}

protected:
    const PlanT &p;

    static std::string at(const std::string &table, size_t index) { return table + text("[%zu]", index); }
    static std::string at(const std::string &where, const char *field) { return where + "." + field; }
    static std::string at(const std::string &where, const char *table, size_t index) { return at(at(where, table), index); }

    [[noreturn]] __attribute__((format(printf, 3, 4))) static void fail(const char *rule, const std::string &where,
                                                                        const char *what, ...) {
        va_list values;
        va_start(values, what);
        const std::string said = text_of(what, values);
        va_end(values);
        throw Broken(std::string(rule) + ": " + where + " " + said);
    }

    template <class E>
    static void known(const std::string &where, E value) {
        if (value < E::MIN || value > E::MAX)
            fail("enum", where, "is %d, legal are %d to %d", int(value), int(E::MIN), int(E::MAX));
    }

    static void count(const std::string &where, size_t n, size_t most) {
        if (n > most) fail("limit", where, "has %zu entries, at most %zu are allowed", n, most);
    }

    static void index(const char *rule, const std::string &where, int64_t i, size_t n, const char *of) {
        if (i < 0 || i >= int64_t(n)) fail(rule, where, "is %lld, the plan has %zu %s", (long long)i, n, of);
    }

    static void name(const std::string &where, const std::string &s, bool may_be_empty = false, int most = max_text) {
        if (s.empty() && !may_be_empty) fail("text", where, "is empty");
        if (s.size() > size_t(most)) fail("text", where, "has %zu bytes, at most %d are allowed", s.size(), most);
        for (const char *c = s.c_str(), *end = c + s.size(); c < end;)
            if (!*c || flatbuffers::FromUTF8(&c) < 0) fail("text", where, "is not UTF-8 text");
    }

    void extents(const std::string &where, const std::vector<Extent> &list) const {
        if (list.size() > size_t(max_dimensions))
            fail("limit", where, "has %zu dimensions, at most %d are allowed", list.size(), max_dimensions);
        int64_t product = 1;
        for (size_t d = 0; d < list.size(); d++) {
            extent(at(where, d), list[d]);
            int64_t n = list[d].kind() == ExtentKind::Constant ? std::max<int64_t>(list[d].value(), 1) : 1;
            if (__builtin_mul_overflow(product, n, &product) || product > INT64_MAX / 16)
                fail("extent", where, "multiplies to more than 64 bits of bytes");
        }
    }

    void extent(const std::string &where, const Extent &e) const {
        known(at(where, "kind"), e.kind());
        const std::string value = at(where, "value");
        if (e.kind() == ExtentKind::Size) index("extent", value, e.value(), p.sizes.size(), "sizes");
        else if (e.kind() == ExtentKind::Ranks && e.value() != 0)
            fail("extent", value, "of the number of ranks is not 0");
        else if (e.value() < 0 || e.value() > INT32_MAX)
            fail("extent", value, "is %lld, legal are 0 to 2147483647", (long long)e.value());
    }

    static bool same(const Extent &a, const Extent &b) {
        return a.kind() == b.kind() && a.value() == b.value();
    }
    static bool same(const std::vector<Extent> &a, const std::vector<Extent> &b) {
        return a.size() == b.size() &&
               std::equal(a.begin(), a.end(), b.begin(), [](auto &x, auto &y) { return same(x, y); });
    }

    static void sliced(const char *rule, const std::string &where, int dimension, size_t dimensions) {
        if (dimension < -1 || dimension >= int(dimensions))
            fail(rule, where, "is %d, legal are -1 to %d", dimension, int(dimensions) - 1);
    }
};

// The tables that stages refer to: sizes, arguments, buffers, scalars, requires.
void check_tables(const PlanT &plan);

// The stages and their order, once the tables are sound.
void check_stages(const PlanT &plan);

// The CPU's section, once the stages are sound.
void check_cpu(const PlanT &plan);

}  // namespace stretto::plan
