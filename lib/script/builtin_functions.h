// Operators that LibTorch writes in TorchScript itself: a number in front of a tensor, `//` of tensors, and
// what is kept for archives of old.  Where one is called its code takes the call's place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::script {

// Their code, in the order in which they are tried behind the registered overloads; empty for most names.
std::vector<std::string> builtin_functions(std::string_view name);

}  // namespace fxtrace::script
