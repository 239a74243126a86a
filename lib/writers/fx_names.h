// What Python source of a graph may name of torch and of Python.  These are lists of what is allowed: a
// collection may come from anyone, and its source is made to be run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fxtrace {

// The function that a call_function calls, as Python writes it.  Nothing for what no graph of torch.fx calls.
std::optional<std::string> fx_function(std::string_view target);

// What every torch.nn.Module has: no module or tensor in it can have these names, which spaces set apart.
std::string_view torch_module_names();

// Of a tensor, and a value whatever it is read from: "shape".
bool is_tensor_attribute(std::string_view name);

// Whether torch itself registers the operators of the namespace.
bool is_torch_operator_space(std::string_view space);

// "strided", "channels_last", ... as attributes of torch.
bool is_torch_layout(std::string_view name);
bool is_torch_memory_format(std::string_view name);

}  // namespace fxtrace
