#include "rules/pattern.h"

#include <algorithm>

#include "operators/modules.h"
#include "operators/operators.h"
#include "support/error.h"

namespace fxtrace {
namespace {

// "aten::add.Tensor", as LibTorch writes it.
std::string with_dots(std::string_view text) {
  const std::size_t at = text.find("::");
  if (at == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, at)) + "." + std::string(text.substr(at + 2));
}

}  // namespace

std::string_view without_overload(std::string_view target) {
  const TargetParts parts = parse_target(target);
  if (parts.kind != TargetKind::kOperator) return target;
  return target.substr(0, target.size() - parts.overload.size() - 1);
}

Pattern::Pattern(std::string_view text, std::string_view whole, std::size_t offset) : text_(text) {
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    const std::string_view glob = text.substr(at, end - at);
    if (glob.empty()) {
      throw usage_error("'" + std::string(whole) + "': expected an operator or a type at position " +
                        std::to_string(offset + at + 1));
    }
    static_cast<void>(Glob(glob, whole, offset + at));  // errors show what was written
    globs_.emplace_back(with_dots(glob));
    if (end == text.size()) break;
    at = end + 1;
  }
}

bool Pattern::matches(const std::string& text) const {
  return std::ranges::any_of(globs_, [&](const Glob& glob) { return glob.matches(text); });
}

bool Pattern::matches_target(const std::string& target) const {
  const auto [entry, is_new] = targets_.try_emplace(target);
  if (is_new) {
    const std::string_view base = without_overload(target);
    entry->second = matches(target) || (base.size() != target.size() && matches(std::string(base)));
  }
  return entry->second;
}

bool Pattern::matches_type(const std::string& type) const {
  const auto [entry, is_new] = types_.try_emplace(type);
  if (is_new) {
    const std::string alias = public_alias(type);
    entry->second = matches(type) || (alias != type && matches(alias));
  }
  return entry->second;
}

bool Pattern::matches_registered() const {
  if (registered_ < 0) {
    const auto is_match = [&](const Operator& op) {
      const std::string target = op.target();
      return matches(target) || matches(std::string(without_overload(target)));
    };
    registered_ = std::ranges::any_of(registered_operators(), is_match) ? 1 : 0;
  }
  return registered_ == 1;
}

bool Pattern::has_word() const {
  return std::ranges::any_of(
      globs_, [](const Glob& glob) { return glob.prefix() == "placeholder" || glob.prefix() == "output"; });
}

}  // namespace fxtrace
