// Operators that LibTorch implements in TorchScript: operators with a number on the left of a tensor, `//` of
// tensors, and operators kept for old archives.  A call of one is inlined.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal::torchscript {

// Returns the code of the functions with this name, in the order in which they are tried after the registered
// overloads; empty for most names.
std::vector<std::string> builtin_functions(std::string_view name);

}  // namespace fxtrace::internal::torchscript
