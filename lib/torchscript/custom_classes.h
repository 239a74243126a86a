// Classes of torch.classes that an archive uses and LibTorch does not have: declared, so that objects of them
// can be loaded, handed on and called, and nothing more.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// Declares every unknown class under __torch__.torch.classes that code or a pickle names.  Whether there are
// any.
bool declare_classes(std::string_view text);

// "__torch__.torch.classes.xnnpack.LinearOpContext"; false for classes that LibTorch has.
bool is_declared_class(const std::string& name);

}  // namespace fxtrace
