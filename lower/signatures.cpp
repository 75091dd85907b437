#include "lower/signatures.h"
#include "lang/error.h"

namespace stretto {

void add_signatures(Halide::Module &module, const std::string &name, const std::vector<plan::Signature> &signatures) {
    using namespace Halide::Internal;
    Stmt body = module.get_function_by_name(name + "_dispatch").body;
    for (size_t k = 0; k < signatures.size(); k++) {
        const auto &says = signatures[k];
        const size_t arguments = module.get_function_by_name(name + "_k" + std::to_string(k)).args.size();
        if (arguments != size_t(says.arguments)) {
            throw Error("internal: kernel " + std::to_string(k) + " of " + name + " has " + std::to_string(arguments) +
                        " arguments, the plan says " + says.text);
        }
        // An assertion that fails returns its number.
        Stmt word = AssertStmt::make(const_false(), IntImm::make(Halide::Int(32), plan::hash_of(says)));
        body = IfThenElse::make(Variable::make(Halide::Int(32), "kernel") == -1 - int(k), word, body);
    }
    for (auto &f : module.functions())
        if (f.name == name + "_dispatch") f.body = body;
}

}  // namespace stretto
