// What may be carried out while tracing: operators that do nothing but give their result, and change nothing
// but the list or dict that they are given.  An operator that is in neither list is recorded, or its module
// fails: an archive can name any operator that LibTorch has, and some write files or change the process.
#pragma once

#include <string_view>

namespace fxtrace {

// On numbers, strings, lists, dicts, tuples, devices and dtypes: arithmetic, comparison, math, text,
// containers.
bool runs_on_plain_values(std::string_view name);

// On small tensors whose elements are known: those above and what makes, indexes and computes tensors.
bool runs_on_small_tensors(std::string_view name);

// Only move elements of lists and dicts around: LibTorch's own do it for elements of any kind.
bool moves_elements(std::string_view name);

// Make a tensor of numbers alone.
bool makes_tensor_of_numbers(std::string_view name);

}  // namespace fxtrace
