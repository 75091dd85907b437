#include "collectives/plan/rules.h"

namespace stretto::plan {
namespace {

class Tables : public Rules {
public:
    using Rules::Rules;

    bool run() { return limits() && sizes() && arguments() && buffers() && scalars(); }

private:
    bool limits() {
        if (p.version != current_version)
            return fail("version", "version",
                        text("is %d, this runtime reads %d", p.version, current_version));
        return name("name", p.name) && name("schedule", p.schedule, true) &&
               count("sizes", p.sizes.size(), max_entries) &&
               count("arguments", p.arguments.size(), max_entries) &&
               count("buffers", p.buffers.size(), max_entries) &&
               count("scalars", p.scalars.size(), max_entries) &&
               count("requires", p.requires_.size(), max_entries) &&
               count("stages", p.stages.size(), max_entries) &&
               count("syncs", p.syncs.size(), max_entries) && count("choices", p.choices.size(), max_entries) &&
               count("items", p.items.size(), max_entries);
    }

    bool sizes() {
        for (size_t i = 0; i < p.sizes.size(); i++) {
            auto &s = *p.sizes[i];
            std::string here = at("sizes", i);
            if (!name(at(here, "name"), s.name)) return false;
            if (s.argument == -1) {
                if (!index("size", at(here, "parameter"), s.parameter, p.arguments.size(), "arguments"))
                    return false;
                auto &a = *p.arguments[size_t(s.parameter)];
                if (!a.scalar || a.type != Type::Int64)
                    return fail("size", at(here, "parameter"),
                                text("is argument %d, which is no int64 scalar", s.parameter));
                if (s.dimension != -1)
                    return fail("size", at(here, "dimension"), "is given for a size that is a parameter");
                continue;
            }
            if (!index("size", at(here, "argument"), s.argument, p.arguments.size(), "arguments"))
                return false;
            if (s.parameter != -1)
                return fail("size", at(here, "parameter"), "is given for a size that an argument has");
            auto &a = *p.arguments[size_t(s.argument)];
            if (a.scalar)
                return fail("size", at(here, "argument"), text("is argument %d, a scalar", s.argument));
            if (s.dimension < 0 || s.dimension >= int(a.extents.size()))
                return fail(
                    "size", at(here, "dimension"),
                    text("is %d, argument %d has %zu dimensions", s.dimension, s.argument, a.extents.size()));
            if (s.dimension == a.sliced)
                return fail("size", at(here, "dimension"),
                            text("is %d, on which argument %d is sliced", s.dimension, s.argument));
            if (!same(a.extents[size_t(s.dimension)], Extent(ExtentKind::Size, int64_t(i))))
                return fail(
                    "size", here,
                    text("is not the extent of dimension %d of argument %d", s.dimension, s.argument));
        }
        return true;
    }

    bool arguments() {
        for (size_t i = 0; i < p.arguments.size(); i++) {
            auto &a = *p.arguments[i];
            std::string here = at("arguments", i);
            if (!name(at(here, "name"), a.name) || !known(at(here, "type"), a.type) ||
                !known(at(here, "access"), a.access) || !known(at(here, "layout"), a.layout) ||
                !known(at(here, "op"), a.op) || !extents(at(here, "extents"), a.extents))
                return false;
            if (a.scalar) {
                if (a.buffer != -1)
                    return fail("argument", at(here, "buffer"),
                                text("is %d for a scalar, which has none (-1)", a.buffer));
                if (!a.extents.empty() || a.sliced != -1)
                    return fail("argument", here, "is a scalar and has dimensions");
                if (a.access != Access::Input)
                    return fail("argument", at(here, "access"), "of a scalar is not Input");
                continue;
            }
            if (!sliced("argument", at(here, "sliced"), a.sliced, a.extents.size())) return false;
            if ((a.layout == LayoutKind::Sliced) != (a.sliced >= 0))
                return fail("argument", at(here, "sliced"), "and its layout disagree");
            if (!index("argument", at(here, "buffer"), a.buffer, p.buffers.size(), "buffers")) return false;
            auto &b = *p.buffers[size_t(a.buffer)];
            if (b.argument != int(i))
                return fail("argument", at(here, "buffer"),
                            text("is %d, whose argument is %d", a.buffer, b.argument));
            if (b.type != a.type || !same(b.extents, a.extents) || b.sliced != a.sliced)
                return fail("argument", here,
                            text("and buffers[%d] differ in type, extents or slice", a.buffer));
        }
        return true;
    }

    bool buffers() {
        for (size_t i = 0; i < p.buffers.size(); i++) {
            auto &b = *p.buffers[i];
            std::string here = at("buffers", i);
            if (!name(at(here, "name"), b.name) || !known(at(here, "type"), b.type) ||
                !extents(at(here, "extents"), b.extents) ||
                !sliced("buffer", at(here, "sliced"), b.sliced, b.extents.size()))
                return false;
            if (b.argument == -1) continue;
            if (!index("buffer", at(here, "argument"), b.argument, p.arguments.size(), "arguments"))
                return false;
            if (p.arguments[size_t(b.argument)]->buffer != int(i))
                return fail(
                    "buffer", at(here, "argument"),
                    text("is %d, whose buffer is %d", b.argument, p.arguments[size_t(b.argument)]->buffer));
        }
        return true;
    }

    bool scalars() {
        for (size_t i = 0; i < p.scalars.size(); i++)
            if (!name(at(at("scalars", i), "name"), p.scalars[i]->name) ||
                !known(at(at("scalars", i), "type"), p.scalars[i]->type))
                return false;
        for (size_t i = 0; i < p.requires_.size(); i++) {
            auto &r = *p.requires_[i];
            std::string here = at("requires", i);
            if (!name(at(here, "text"), r.text) ||
                !count(at(here, "arguments"), r.arguments.size(), max_entries) ||
                !index("require", at(here, "scalar"), r.scalar, p.scalars.size(), "scalars"))
                return false;
            if (p.scalars[size_t(r.scalar)]->type != Type::Bool)
                return fail("require", at(here, "scalar"), text("is %d, which is no Bool", r.scalar));
            for (int a : r.arguments) {
                if (!index("require", at(here, "arguments"), a, p.arguments.size(), "arguments"))
                    return false;
                if (!p.arguments[size_t(a)]->scalar)
                    return fail("require", at(here, "arguments"), text("names argument %d, a tensor", a));
            }
        }
        return true;
    }
};

}  // namespace

std::string check_tables(const PlanT &plan) {
    Tables tables(plan);
    return tables.run() ? "" : tables.broken;
}

}  // namespace stretto::plan
