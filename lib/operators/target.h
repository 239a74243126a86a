// Targets of call_function nodes, and a parser for them: "aten.add.Tensor", "operator.add",
// "higher_order.cond".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace fxtrace {

struct Operator;

enum class TargetKind : std::uint8_t {
  kOperator,     // an operator of torch.ops: namespace, name and overload
  kHigherOrder,  // an operator of torch.ops.higher_order, which runs subgraphs
  kPython        // a function by its qualified name: "builtins.getattr", "torch.nn.functional.relu"
};

// The parts of a target, as views into its text.  A target of exactly three parts is an operator unless the
// first is torch, operator, builtins, math or higher_order.
struct TargetParts {
  TargetKind kind = TargetKind::kPython;
  std::string_view space;     // "aten", "operator", "torch.nn.functional"; empty when there is no dot
  std::string_view name;      // "add_", "cond", "relu"
  std::string_view overload;  // for operators: "Tensor", "default"
};
TargetParts parse_target(std::string_view text);

// Returns the parts of a function's qualified name, even if parse_target() would take it for an operator:
// "pkg.ops.nms" is nms of pkg.ops.
TargetParts function_parts(std::string_view qualified_name);
// Returns whether the text can never be the target of a function of the model's own code: it is a known
// operator, or begins like targets of Python or torch.ops.higher_order.
bool is_reserved_target(std::string_view text);

// A target with its row in the table of operators.
class Target {
 public:
  Target() = default;
  Target(std::string text);
  Target(const char* text) : Target(std::string(text)) {}

  const std::string& text() const { return text_; }
  // Views into this target.
  TargetParts parts() const& { return parse_target(text_); }
  TargetParts parts() const&& = delete;
  const Operator* find_operator() const { return operator_; }  // null when unknown
  // The name of an ATen operator, "add_"; empty for others.
  std::string_view aten_name() const&;
  std::string_view aten_name() const&& = delete;

  friend bool operator==(const Target& target, std::string_view text) { return target.text_ == text; }

 private:
  std::string text_;
  const Operator* operator_ = nullptr;
};

}  // namespace fxtrace
