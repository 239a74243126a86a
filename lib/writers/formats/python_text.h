// Text of a model in Python source, and names of its values there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace fxtrace::internal {

// Writes text into Python source.  Names and strings of a model may contain anything; text written by these
// functions cannot end a literal, a name or a comment early.

// Returns a string literal in double quotes.  Unprintable characters (controls, direction marks) are escaped;
// malformed UTF-8 becomes U+FFFD.
std::string python_string(std::string_view text);

// Returns whether the text is an ASCII identifier that is valid everywhere in Python: not a keyword, and
// without two leading underscores, which are mangled in a class.
bool is_python_name(std::string_view text);

// Makes unique names for one Python scope.
class PythonNames {
 public:
  // `outer` is the enclosing scope, whose names are taken here too; it must live as long.
  explicit PythonNames(const PythonNames* outer = nullptr) : outer_(outer) {}

  // Reserves a name, which create() then never returns.
  void reserve(std::string_view name) { taken_.emplace(name); }

  // Returns `candidate` if it is a valid name and not taken; otherwise a name made from it: invalid
  // characters become "_", and a number is appended.  Takes constant time, however many names are taken.
  std::string create(std::string_view candidate);

 private:
  bool try_reserve(const std::string& name) {
    return (outer_ == nullptr || !outer_->taken_.contains(name)) && taken_.insert(name).second;
  }

  const PythonNames* outer_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::int64_t> count_;  // last number used, by the name's prefix
};

// Allow lists of the names of torch and Python that generated source may use: a collection is untrusted, and
// its source is meant to be run.

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
