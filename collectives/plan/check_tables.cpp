#include "collectives/plan/rules.h"

namespace stretto::plan {
namespace {

class Tables : Rules {
public:
    using Rules::Rules;

    void run() {
        limits();
        for (size_t i = 0; i < p.sizes.size(); i++) size(at("sizes", i), *p.sizes[i], int64_t(i));
        for (size_t i = 0; i < p.arguments.size(); i++) argument(at("arguments", i), *p.arguments[i], int(i));
        for (size_t i = 0; i < p.buffers.size(); i++) buffer(at("buffers", i), *p.buffers[i], int(i));
        for (size_t i = 0; i < p.scalars.size(); i++) {
            name(at("scalars", i) + ".name", p.scalars[i]->name);
            known(at("scalars", i) + ".type", p.scalars[i]->type);
        }
        for (size_t i = 0; i < p.requires_.size(); i++) require(at("requires", i), *p.requires_[i]);
    }

private:
    void limits() {
        if (p.version != current_version)
            fail("version", "version", "is %d, this runtime reads %d", p.version, current_version);
        name("name", p.name);
        name("schedule", p.schedule, true, max_long_text);
        name("program", p.program, true, max_long_text);
        count("sizes", p.sizes.size(), max_entries);
        count("arguments", p.arguments.size(), max_entries);
        count("buffers", p.buffers.size(), max_entries);
        count("scalars", p.scalars.size(), max_entries);
        count("requires", p.requires_.size(), max_entries);
        count("stages", p.stages.size(), max_entries);
        count("syncs", p.syncs.size(), max_entries);
        count("choices", p.choices.size(), max_entries);
        count("items", p.items.size(), max_entries);
    }

    void size(const std::string &here, const SizeT &s, int64_t number) {
        name(at(here, "name"), s.name);
        if (s.argument == -1) {
            index("size", at(here, "parameter"), s.parameter, p.arguments.size(), "arguments");
            auto &a = *p.arguments[size_t(s.parameter)];
            if (!a.scalar || a.type != Type::Int64)
                fail("size", at(here, "parameter"), "is argument %d, which is no int64 scalar", s.parameter);
            if (s.dimension != -1) fail("size", at(here, "dimension"), "is given for a size that is a parameter");
            return;
        }
        index("size", at(here, "argument"), s.argument, p.arguments.size(), "arguments");
        if (s.parameter != -1) fail("size", at(here, "parameter"), "is given for a size that an argument has");
        auto &a = *p.arguments[size_t(s.argument)];
        if (a.scalar) fail("size", at(here, "argument"), "is argument %d, a scalar", s.argument);
        if (s.dimension < 0 || s.dimension >= int(a.extents.size()))
            fail("size", at(here, "dimension"), "is %d, argument %d has %zu dimensions", s.dimension, s.argument,
                 a.extents.size());
        if (s.dimension == a.sliced)
            fail("size", at(here, "dimension"), "is %d, on which argument %d is sliced", s.dimension, s.argument);
        if (!same(a.extents[size_t(s.dimension)], Extent(ExtentKind::Size, number)))
            fail("size", here, "is not the extent of dimension %d of argument %d", s.dimension, s.argument);
    }

    void argument(const std::string &here, const ArgumentT &a, int number) {
        name(at(here, "name"), a.name);
        known(at(here, "type"), a.type);
        known(at(here, "access"), a.access);
        known(at(here, "layout"), a.layout);
        known(at(here, "op"), a.op);
        extents(at(here, "extents"), a.extents);
        if (a.scalar) {
            if (a.buffer != -1)
                fail("argument", at(here, "buffer"), "is %d for a scalar, which has none (-1)", a.buffer);
            if (!a.extents.empty() || a.sliced != -1) fail("argument", here, "is a scalar and has dimensions");
            if (a.access != Access::Input) fail("argument", at(here, "access"), "of a scalar is not Input");
            return;
        }
        sliced("argument", at(here, "sliced"), a.sliced, a.extents.size());
        if ((a.layout == LayoutKind::Sliced) != (a.sliced >= 0))
            fail("argument", at(here, "sliced"), "and its layout disagree");
        index("argument", at(here, "buffer"), a.buffer, p.buffers.size(), "buffers");
        auto &b = *p.buffers[size_t(a.buffer)];
        if (b.argument != number)
            fail("argument", at(here, "buffer"), "is %d, whose argument is %d", a.buffer, b.argument);
        if (b.type != a.type || !same(b.extents, a.extents) || b.sliced != a.sliced)
            fail("argument", here, "and buffers[%d] differ in type, extents or slice", a.buffer);
    }

    void buffer(const std::string &here, const BufferT &b, int number) {
        name(at(here, "name"), b.name);
        known(at(here, "type"), b.type);
        extents(at(here, "extents"), b.extents);
        sliced("buffer", at(here, "sliced"), b.sliced, b.extents.size());
        if (b.argument == -1) return;
        index("buffer", at(here, "argument"), b.argument, p.arguments.size(), "arguments");
        const int its = p.arguments[size_t(b.argument)]->buffer;
        if (its != number) fail("buffer", at(here, "argument"), "is %d, whose buffer is %d", b.argument, its);
    }

    void require(const std::string &here, const RequireT &r) {
        name(at(here, "text"), r.text);
        count(at(here, "arguments"), r.arguments.size(), max_entries);
        index("require", at(here, "scalar"), r.scalar, p.scalars.size(), "scalars");
        if (p.scalars[size_t(r.scalar)]->type != Type::Bool)
            fail("require", at(here, "scalar"), "is %d, which is no Bool", r.scalar);
        for (int a : r.arguments) {
            index("require", at(here, "arguments"), a, p.arguments.size(), "arguments");
            if (!p.arguments[size_t(a)]->scalar)
                fail("require", at(here, "arguments"), "names argument %d, a tensor", a);
        }
    }
};

}  // namespace

void check_tables(const PlanT &plan) { Tables(plan).run(); }

}  // namespace stretto::plan
