// The classes and functions of a code file.
#pragma once

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/frontend/tree.h>

#include <functional>
#include <memory>

namespace fxtrace {

// Calls f() with each class (ClassDef) and function (Def) in turn, as LibTorch's SourceImporter finds them.
// Throws std::exception where LibTorch could not parse the file either, or would not come to its end.
void for_each_definition(const std::shared_ptr<torch::jit::Source>& source,
                         const std::function<void(const torch::jit::TreeRef&)>& f);

}  // namespace fxtrace
