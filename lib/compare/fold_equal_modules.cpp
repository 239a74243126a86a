// Folds modules whose paths differ in numbers alone and whose differences have the same texts.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "compare/comparison.h"
#include "support/fold_by_key.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// Returns the name of a node without the suffix that makes it unique: "add" for add_1.
std::string common_name(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool is_counted =
      end != std::string_view::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return without_numbers(is_counted ? name.substr(0, end) : name);
}

// Returns a text of a module without its own path and without numbers in names, so that it is equal for
// similar modules.  A path that is a number is left out in targets only.
std::string common_text(std::string_view text, std::string_view path) {
  const bool has_letter = path.find_first_not_of("0123456789.") != std::string_view::npos;
  const auto is_path = [&](std::size_t at) {
    constexpr std::size_t kLongest = 500;  // of a path that is looked for everywhere
    if (path.empty() || path.size() > kLongest || text.compare(at, path.size(), path) != 0) return false;
    return has_letter || (at > 0 && text[at - 1] == '[' && text.substr(at + path.size()).starts_with("]("));
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (is_path(at)) {
      result += '@';
      at += path.size();
    } else if (text[at] == '%') {
      const auto is_part = [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      };
      std::size_t end = at + 1;
      while (end < text.size() && is_part(text[end])) ++end;
      result += common_name(text.substr(at, end - at));
      at = end;
    } else {
      result += text[at++];
    }
  }
  return result;
}

// Returns the part of the key without the differences, which may take megabytes.
std::string head_of_key(const ModuleDifferences& module) {
  std::string text = without_numbers(module.path) + "\n" + without_numbers(module.other.value_or("")) + "\n" +
                     module.type + "\n";
  for (const std::int64_t count : {module.modules, module.parameters, module.nodes})
    text += std::to_string(count) + " ";
  return text + "\n";
}

std::string module_key(const ModuleDifferences& module, std::string text) {
  for (const Difference& difference : module.differences) {
    if (difference.within) continue;  // the counts of that module cover it
    const bool has_names =
        difference.kind == DifferenceKind::kNames || difference.kind == DifferenceKind::kOrder;
    const auto common = [&](const std::string& part) {
      return has_names ? common_name(common_text(part, module.path)) : common_text(part, module.path);
    };
    const bool is_node = !difference.text.empty() || has_names;
    const std::string subject = difference.kind == DifferenceKind::kParameters
                                    ? std::string(QualifiedName(difference.subject).below(module.path))
                                    : difference.subject;
    text += std::to_string(static_cast<int>(difference.kind)) + to_string(difference.change);
    const bool is_name = is_node || difference.kind == DifferenceKind::kModules;
    text += "\n" + (is_name ? common_name(subject) : common_text(subject, module.path));
    text +=
        "\n" + common_name(difference.other.empty() ? subject : difference.other) + "\n" + difference.field;
    text += "\n" + common(difference.before.value_or("-")) + "\n" + common(difference.after.value_or("-"));
    text += "\n" + common_text(difference.text, module.path) + "\n" + without_numbers(*difference.graph);
    text += "\n" + without_numbers(difference.within.value_or("-")) + (difference.follows ? "f" : "") + "\n";
  }
  return text;
}

}  // namespace

void fold_equal_modules(ModelComparison& comparison) {
  std::unordered_map<std::string, std::size_t> heads;
  for (const ModuleDifferences& module : comparison.modules) ++heads[head_of_key(module)];
  fold_by_key(comparison.modules, [&](const ModuleDifferences& module) {
    std::string head = head_of_key(module);
    return heads.at(head) == 1 ? head : module_key(module, std::move(head));
  });
}

}  // namespace fxtrace::internal
