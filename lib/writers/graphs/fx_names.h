// Allow lists of the names of torch and Python that generated source may use: a collection is untrusted, and
// its source is meant to be run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// Returns the Python text of a call_function's target; nothing for functions that graphs of torch.fx do not
// call.
std::optional<std::string> fx_function(std::string_view target);

// The function that prints its arguments by a format, which may be called only with one that
// is_plain_format().
inline constexpr std::string_view kPrintOperator = "higher_order.print";
// Returns whether a function may be an argument of another one, whose arguments are not known.
bool may_pass_on(std::string_view target);

// Returns the attributes of every torch.nn.Module, separated by spaces.  No submodule or tensor can have
// their names.
std::string_view torch_module_names();

// Returns whether the name is a tensor attribute without side effects: "shape".
bool is_tensor_attribute(std::string_view name);

// Returns the namespace of an operator or class that a library registers: fx_function() has a text for it,
// but only the user who runs the source can vouch for it.  Empty for others.
std::string_view fx_library(std::string_view target);

// Returns whether the name is a layout or memory format that is an attribute of torch: "strided",
// "channels_last".
bool is_torch_layout(std::string_view name);
bool is_torch_memory_format(std::string_view name);

}  // namespace fxtrace::internal
