// A look at an archive's code before LibTorch compiles it.
#pragma once

#include <torch/csrc/jit/frontend/source_range.h>

#include <memory>
#include <string_view>

namespace fxtrace {

// Throws Error(kInput) for brackets that are nested deeper than LibTorch's parser can follow.
void check_nesting(std::string_view text);

// LibTorch carries out default values of parameters and constants of classes as it meets them, with all that
// they call.  Throws Error(kInput) where one is more than a literal value; what LibTorch could not parse
// either throws std::exception.
void check_defaults(const std::shared_ptr<torch::jit::Source>& source);

}  // namespace fxtrace
