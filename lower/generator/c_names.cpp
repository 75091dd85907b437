#include "lower/generator/c_names.h"
#include <dlfcn.h>
#include <algorithm>
#include <cctype>
#include <regex>

namespace stretto {

namespace {

// Keywords of C11 and C++20; macros and types of the headers that runtime.h includes, and what compilers define.
const std::vector<std::string> words = {
    "NULL", "alignas", "alignof", "and", "and_eq", "asm", "atomic_cancel", "auto", "bitand", "bitor", "bool", "break", "case",
    "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false", "final", "float", "for", "friend", "goto",
    "i386", "if", "import", "inline", "int", "int16_t", "int32_t", "int64_t", "int8_t", "linux", "long", "main", "max_align_t",
    "module", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "nullptr_t", "offsetof", "operator", "or",
    "or_eq", "override", "private", "protected", "ptrdiff_t", "public", "register", "reinterpret_cast", "requires", "restrict",
    "return", "short", "signed", "size_t", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
    "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "typeof_unqual", "uint16_t",
    "uint32_t", "uint64_t", "uint8_t", "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while",
    "xor", "xor_eq"};

bool in_c_library(const std::string &name) {
    static void *const library = dlopen("libm.so.6", RTLD_LAZY);  // which needs libc
    return library && dlsym(library, name.c_str());
}

}  // namespace

std::string c_name_fault(const std::string &name, bool external) {
    static const std::regex letters("[A-Za-z_][A-Za-z0-9_]*"), macros("U?INT.*_(MAX|MIN|C)|(SIZE|PTRDIFF|WCHAR)_(MAX|MIN)");
    if (!std::regex_match(name, letters))
        return "'" + name + "' cannot be the name of a C " + (external ? "function" : "parameter");
    if (std::find(words.begin(), words.end(), name) != words.end() || std::regex_match(name, macros))
        return "'" + name + "' is a word of C or C++";
    if (name.find("__") != std::string::npos || (name[0] == '_' && (external || std::isupper(name[1]))))
        return "'" + name + "' is reserved for C and C++ compilers";
    if (name.rfind("stretto_", 0) == 0 || name.rfind("halide_", 0) == 0)
        return "'" + name + "' is a name of the runtime's kind";
    if (external && in_c_library(name)) return "'" + name + "' is a name of the C library";
    return "";
}

}  // namespace stretto
