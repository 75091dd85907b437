// Which names a C header can have.
#pragma once
#include <string>
#include <vector>

namespace stretto {

// Why no function or parameter of a header for C and C++ can be called so, "" if it can: "'int' is a word of C or C++".
// external: of functions, which also share their names with the C library.
std::string c_name_fault(const std::string &name, bool external);

}  // namespace stretto
