#include "operators/target.h"

#include <algorithm>
#include <array>

#include "operators/operators.h"

namespace fxtrace::internal {

namespace {
// The first parts of targets that are Python names; no operator of torch.ops has such a namespace.
constexpr std::array<std::string_view, 4> kPythonRoots{"builtins", "math", "operator", "torch"};
}  // namespace

TargetParts parse_target(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  if (first == std::string_view::npos) return {TargetKind::kPython, {}, text, {}};
  const std::string_view root = text.substr(0, first);
  if (root == "higher_order") return {TargetKind::kHigherOrder, root, text.substr(last + 1), {}};
  const bool has_three_parts = last > first + 1 && text.find('.', first + 1) == last;
  if (has_three_parts && std::find(kPythonRoots.begin(), kPythonRoots.end(), root) == kPythonRoots.end()) {
    return {TargetKind::kOperator, root, text.substr(first + 1, last - first - 1), text.substr(last + 1)};
  }
  return function_parts(text);
}

TargetParts function_parts(std::string_view qualified_name) {
  const std::size_t dot = qualified_name.rfind('.');
  if (dot == std::string_view::npos) return {TargetKind::kPython, {}, qualified_name, {}};
  return {TargetKind::kPython, qualified_name.substr(0, dot), qualified_name.substr(dot + 1), {}};
}

bool is_reserved_target(std::string_view text) {
  const std::string_view root = text.substr(0, text.find('.'));
  if (root == "builtins" || root == "math" || root == "operator" || root == "higher_order") return true;
  return find_operator(parse_target(text)) != nullptr;
}

}  // namespace fxtrace::internal
