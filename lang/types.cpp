#include "lang/types.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include "lang/error.h"
#include "lang/literals.h"

namespace stretto {

namespace {

struct TypeNames {
    Type type;
    const char *name, *cpp;
};

const std::vector<TypeNames> &table() {
    static const std::vector<TypeNames> names = {
        {f16, "float16", "float16_t"},
        {bf16, "bfloat16", "bfloat16_t"},
        {f32, "float32", "float"},
        {f64, "float64", "double"},
        {i8, "int8", "int8_t"},
        {i16, "int16", "int16_t"},
        {i32, "int32", "int32_t"},
        {i64, "int64", "int64_t"},
        {u8, "uint8", "uint8_t"},
        {u16, "uint16", "uint16_t"},
        {u32, "uint32", "uint32_t"},
        {u64, "uint64", "uint64_t"},
    };
    return names;
}

int edit_distance(const std::string &a, const std::string &b) {
    std::vector<int> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 1; i <= a.size(); i++) {
        int diagonal = row[0];
        row[0] = int(i);
        for (size_t j = 1; j <= b.size(); j++) {
            int above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

const std::vector<Type> &tensor_types() {
    static const std::vector<Type> types = [] {
        std::vector<Type> t;
        for (auto &n : table()) t.push_back(n.type);
        return t;
    }();
    return types;
}

std::string tensor_type_names() {
    std::string list;
    for (auto &n : table()) list += (list.empty() ? "" : ", ") + std::string(n.name);
    return list;
}

std::string type_name(const Type &t) {
    for (auto &n : table())
        if (n.type == t) return n.name;
    return t.is_bool() ? "bool" : "an unsupported type";
}

std::string cpp_type_name(const Type &t) {
    for (auto &n : table())
        if (n.type == t) return n.cpp;
    return t.is_bool() ? "bool" : "?";
}

Type parse_type(const std::string &name) {
    std::vector<std::string> known;
    for (auto &n : table()) {
        if (name == n.name) return n.type;
        known.push_back(n.name);
    }
    std::string near = nearest_name(name, known);
    throw Error("there is no type '" + name + "'" +
                (near.empty() ? "." : "; did you mean '" + near + "'?") + "\nTypes: " + tensor_type_names());
}

const char *reduce_op_name(ReduceOp op) {
    static const char *names[] = {"Sum", "Prod", "Max", "Min"};
    return names[op];
}

Expr literal(double value, const Expr &beside) {
    if (!beside.defined() || !beside.type().is_float()) return Expr(value);
    const Type t = beside.type();
    const double largest = t == f16 ? 65504 : t == bf16 ? 0x1.fep127
                                          : t == f32    ? 0x1.fffffep127
                                                        : 0x1.fffffffffffffp1023;
    if (std::isfinite(value) && std::fabs(value) > largest) {
        std::ostringstream text;
        text << "the literal " << value << " beside a " << type_name(t) << ", whose largest number is " << largest
             << ".\nLegal: a wider type, cast<" << (t == f32 ? "double" : "float") << ">(...)";
        throw Error(text.str());
    }
    return Halide::Internal::make_const(t, value);
}

Expr identity_of(ReduceOp op, const Type &t) {
    using Halide::Internal::make_const;
    if (op == Sum) return make_const(t, 0);
    if (op == Prod) return make_const(t, 1);
    if (!t.is_float()) return op == Max ? t.min() : t.max();
    double infinity = std::numeric_limits<double>::infinity();
    return make_const(t, op == Max ? -infinity : infinity);
}

std::string nearest_name(const std::string &name, const std::vector<std::string> &known) {
    std::string best;
    int distance = std::max(2, int(name.size()) / 2) + 1;
    for (auto &k : known) {
        bool extends = !name.empty() && (k.compare(0, name.size(), name) == 0 ||
                                         (k.size() > 2 && name.compare(0, k.size(), k) == 0));
        int d = extends ? 1 : edit_distance(name, k);
        if (d < distance) {
            distance = d;
            best = k;
        }
    }
    return best;
}

}  // namespace stretto
