#include "operators/target.h"

#include <algorithm>
#include <array>

#include "operators/operators.h"

namespace fxtrace {

TargetParts parse_target(std::string_view text) {
  // First parts of targets that are Python names; operators of torch.ops never live there.
  static constexpr std::array<std::string_view, 4> kPythonRoots{"builtins", "math", "operator", "torch"};
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  if (first == std::string_view::npos) return {TargetKind::kPython, {}, text, {}};
  const std::string_view root = text.substr(0, first);
  if (root == "higher_order") return {TargetKind::kHigherOrder, root, text.substr(last + 1), {}};
  const bool has_three_parts = last > first + 1 && text.find('.', first + 1) == last;
  if (has_three_parts && std::find(kPythonRoots.begin(), kPythonRoots.end(), root) == kPythonRoots.end()) {
    return {TargetKind::kOperator, root, text.substr(first + 1, last - first - 1), text.substr(last + 1)};
  }
  return {TargetKind::kPython, text.substr(0, last), text.substr(last + 1), {}};
}

Target::Target(std::string text)
    : text_(std::move(text)), operator_(fxtrace::find_operator(parse_target(text_))) {}

std::string_view Target::aten_name() const {
  const TargetParts parts = this->parts();
  return parts.kind == TargetKind::kOperator && parts.space == "aten" ? parts.name : std::string_view();
}

}  // namespace fxtrace
