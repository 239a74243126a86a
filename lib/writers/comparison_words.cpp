#include "writers/comparison_words.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

#include "graph/text_form.h"
#include "support/columns.h"
#include "support/number_in.h"
#include "support/printable.h"
#include "support/qualified_name.h"
#include "support/utf8.h"
#include "support/words.h"
#include "symbolic/readable_size.h"

namespace fxtrace::comparison_words {
namespace {

constexpr const char* kArrow = " → ";
constexpr std::size_t kMostEntries = 20;  // of a module; JSON has all

// Without its folders.
std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "1,234 → 2,345 (+1,111, +90.0 %)"
std::string numbers(std::int64_t before, std::int64_t after, std::string (*text)(std::int64_t)) {
  if (before == after) return text(before);
  std::string result = text(before) + kArrow + text(after);
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(after, before, &difference)) return result;
  result += difference > 0 ? " (+" + text(difference)
                           : " (-" + text(difference == INT64_MIN ? INT64_MAX : -difference);
  if (before > 0) {
    std::array<char, 32> percent{};
    const double ratio = 100 * static_cast<double>(difference) / static_cast<double>(before);
    std::snprintf(percent.data(), percent.size(), ", %+.1f %%", ratio);
    result += percent.data();
  }
  return result + ")";
}

std::string sizes(const std::optional<SymInt>& before, const std::optional<SymInt>& after,
                  std::string (*text)(std::int64_t)) {
  bool is_exact = text == with_separators;
  const auto one = [&](const std::optional<SymInt>& size) {
    if (!size) return std::string("not known");
    if (size->is_number()) return text(*size->number());
    return short_line(readable_size(*size, is_exact ? with_separators : text)) +
           (is_exact && text != with_separators ? " bytes" : "");
  };
  if (before && after && before->is_number() && after->is_number())
    return numbers(*before->number(), *after->number(), text);
  if (before == after) return one(before);
  is_exact = is_exact || one(before) == one(after);
  return one(before) + kArrow + one(after);
}

// "13 added, 1 changed"; empty where there is none.
std::string counts(const ModelComparison& comparison, DifferenceKind kind) {
  std::vector<std::string> parts;
  if (!comparison.told.has(kind)) return "";
  for (std::size_t i = 0; i < kChanges; ++i) {
    const auto change = static_cast<Change>(i);
    const std::int64_t count = comparison.count(kind, change);
    if (count != 0) parts.push_back(with_separators(count) + " " + to_string(change));
  }
  return joined(parts);
}

// Of a total that changed by more or less than what is told: the rest is what one form of a model writes, and
// changes nothing that is computed.
std::string rest(const ModelComparison& comparison, DifferenceKind kind, std::int64_t before,
                 std::int64_t after, const char* what) {
  if (!comparison.told.has(kind)) return "";
  const std::int64_t more =
      after - before - comparison.count(kind, Change::kAdded) + comparison.count(kind, Change::kRemoved);
  if (more == 0) return "";
  return with_separators(more < 0 ? -more : more) +
         (more < 0 ? " only in the first" : " only in the second") + what;
}

std::string with_counts(const std::string& text, const std::string& counts) {
  return counts.empty() ? text : text + ": " + counts;
}

// "%add_1 = call_function[aten.add.Tensor]" without what is given to it.
std::string operation(const Difference& difference) {
  const std::size_t end = difference.text.find("](");
  if (end == std::string::npos) return "%" + difference.subject;
  return difference.text.substr(0, end + 1);
}

std::string value(const std::optional<std::string>& text) { return text ? short_line(*text) : "(none)"; }

std::string change_text(const Difference& difference) {
  return value(difference.before) + kArrow + value(difference.after);
}

// "13 modules, 7,087,872 parameters, 45 operations"
std::string contents(const ModuleDifferences& module) {
  std::vector<std::string> parts;
  if (module.modules > 1) parts.push_back(counted(module.modules, "module"));
  if (module.parameters > 0) parts.push_back(counted(module.parameters, "parameter"));
  if (module.nodes > 0) parts.push_back(counted(module.nodes, "node"));
  return joined(parts);
}

std::string module_text(const Difference& difference, const ModuleDifferences& module) {
  const std::string inside = contents(module);
  if (difference.change == Change::kAdded || difference.change == Change::kRemoved)
    return std::string("module ") + to_string(difference.change) + (inside.empty() ? "" : ": " + inside);
  if (difference.change == Change::kMoved) {
    const std::string now = "is " + short_line(path_text(difference.other)) + " now";
    if (difference.after) return "wrapped in " + short_line(*difference.after) + ", " + now;
    if (difference.before) return "no longer wrapped in " + short_line(*difference.before) + ", " + now;
    return "module " + now;
  }
  if (difference.field == "alias_of") {
    const auto name = [](const std::optional<std::string>& path) {
      return path ? "the same as " + short_line(path_text(*path)) : std::string("a module of its own");
    };
    return name(difference.before) + kArrow + name(difference.after);
  }
  const std::string text = short_line(difference.field) + ": " + change_text(difference);
  return difference.field == "status" && module.nodes > 0
             ? text + "; " + counted(module.nodes, "node") +
                   (module.nodes == 1 ? " comes or goes" : " come or go") + " with it"
             : text;
}

std::string parameter_text(const Difference& difference, const std::string& path) {
  const std::string name = short_line(QualifiedName(difference.subject).below(path));
  if (difference.change == Change::kAdded) return name + ": " + value(difference.after);
  if (difference.change == Change::kRemoved) return name + ": " + value(difference.before);
  if (difference.field == "alias_of") {
    const auto tie = [](const std::optional<std::string>& other) {
      return other ? "tied to " + short_line(*other) : std::string("not tied");
    };
    return name + ": " + tie(difference.before) + kArrow + tie(difference.after);
  }
  return name + ": " + short_line(difference.field) + " " + change_text(difference);
}

std::string weight_text(const Difference& difference, const std::string& path) {
  const auto bytes = [](const std::optional<std::string>& text) {
    return number_in<std::int64_t>(text.value_or("")).value_or(0);
  };
  return short_line(QualifiedName(difference.subject).below(path)) + ": other content, " +
         numbers(bytes(difference.before), bytes(difference.after), bytes_text);
}

std::string cost_text(const Difference& difference) {
  const auto size = [](const std::optional<std::string>& text) {
    return text ? SymInt::parse(*text) : std::nullopt;
  };
  const bool is_macs = difference.field == "macs";
  const char* name = is_macs ? "MACs " : difference.field == "peak_bytes" ? "peak memory " : "activations ";
  return name +
         sizes(size(difference.before), size(difference.after), is_macs ? with_separators : bytes_text);
}

std::string order_text(const Difference& difference) {
  if (difference.field == "calls") return "calls: " + change_text(difference);
  const std::string name =
      difference.text.empty() ? short_line(difference.subject) : short_line(operation(difference));
  const auto behind = [&](const std::optional<std::string>& other) {
    if (!other) return std::string("first");
    const bool is_node = !difference.text.empty();
    return "after " + (is_node ? "%" + short_line(*other) : short_line(path_text(*other)));
  };
  return name + " is used " + behind(difference.after) + ", was " + behind(difference.before);
}

std::string node_text(const Difference& difference) {
  switch (difference.change) {
    case Change::kAdded:
    case Change::kRemoved:
      return short_line(difference.text);
    case Change::kMoved:
      return short_line(operation(difference)) +
             " moved: " + short_line(path_text(difference.before.value_or(""))) + kArrow +
             short_line(path_text(difference.after.value_or("")));
    case Change::kChanged:
      break;
  }
  if (difference.field == "target")
    return "%" + short_line(difference.subject) + ": " + change_text(difference);
  return short_line(operation(difference)) + ": " + short_line(difference.field) + " " +
         change_text(difference);
}

std::string text_of(const Difference& difference, const ModuleDifferences& module) {
  switch (difference.kind) {
    case DifferenceKind::kModules:
      return module_text(difference, module);
    case DifferenceKind::kParameters:
      return parameter_text(difference, module.path);
    case DifferenceKind::kWeights:
      return weight_text(difference, module.path);
    case DifferenceKind::kOrder:
      return order_text(difference);
    case DifferenceKind::kCosts:
      return cost_text(difference);
    case DifferenceKind::kGuards:
      return "guard " + short_line(difference.subject);
    case DifferenceKind::kNames:
      return (difference.field.empty() ? "%" : "dimension ") + short_line(difference.subject) +
             " is called " + short_line(difference.other) + " now";
    case DifferenceKind::kArguments:
      if (difference.text.empty()) return short_line(difference.field) + ": " + change_text(difference);
      return node_text(difference);
    default:
      return node_text(difference);
  }
}

std::string remark_of(const Difference& difference) {
  std::vector<std::string> parts;
  if (!difference.users.empty()) {
    std::string text = "used by";
    for (const std::string& user : difference.users)
      text += (&user == &difference.users.front() ? " %" : ", %") + short_line(user);
    parts.push_back(text);
  }
  const bool is_node =
      difference.kind == DifferenceKind::kNodes || difference.kind == DifferenceKind::kArguments;
  if (difference.source && is_node && difference.source->line > 0)
    parts.push_back(short_line(file_name(difference.source->file)) + ":" +
                    std::to_string(difference.source->line));
  const std::size_t body = difference.graph->find(':');
  if (body != std::string::npos) parts.push_back("in " + short_line(difference.graph->substr(body + 1)));
  return joined(parts, {}, "; ");
}

Group group_of(const ModuleDifferences& module) {
  Group group;
  group.title = short_line(path_text(module.path));
  if (module.alike.size() > 1)
    group.title += " … " + short_line(module.alike.back()) + " (" +
                   with_separators(static_cast<std::int64_t>(module.alike.size())) + " modules)";
  group.type = short_line(module.type);
  std::int64_t following = 0;
  for (const Difference& difference : module.differences) {
    if (difference.within) continue;
    if (difference.follows) {
      ++following;
    } else if (group.entries.size() == kMostEntries) {
      ++group.left_out;
    } else {
      group.entries.push_back({difference.change, text_of(difference, module), remark_of(difference)});
    }
  }
  if (following > 0)
    group.entries.push_back(
        {Change::kChanged,
         counted(following, "shape") + (following == 1 ? " follows" : " follow") + " from others", ""});
  return group;
}

// Where nothing but shapes follows, other modules say why; of the modules that are told in any case.
class Sayings {
 public:
  explicit Sayings(const ModelComparison& comparison)
      : is_any_(std::ranges::any_of(comparison.modules, says)) {}
  bool has(const ModuleDifferences& module) const {
    return says(module) || (!is_any_ && std::ranges::any_of(module.differences, &is_own));
  }

 private:
  static bool is_own(const Difference& difference) { return !difference.within; }
  static bool says(const ModuleDifferences& module) {
    return std::ranges::any_of(module.differences, [](const Difference& difference) {
      return is_own(difference) && !difference.follows;
    });
  }
  bool is_any_;
};

// "12 of 104 differ: 45.2 MiB, 3 not compared"
std::string weights(const WeightCounts& counts) {
  std::vector<std::string> parts;
  if (counts.differ > 0) {
    parts.push_back(with_separators(counts.differ) + " of " + with_separators(counts.compared) +
                    (counts.differ == 1 ? " differs: " : " differ: ") +
                    numbers(counts.bytes_before, counts.bytes_after, bytes_text));
  } else if (counts.compared > 0) {
    parts.push_back(counts.compared == 1 ? "the same"
                                         : "all " + with_separators(counts.compared) + " the same");
  }
  if (counts.not_compared > 0)
    parts.push_back((parts.empty() ? "" : with_separators(counts.not_compared) + " ") +
                    std::string("not compared"));
  return parts.empty() ? "none" : joined(parts);
}

std::string exact_bytes(std::int64_t bytes) { return bytes_text(bytes); }

}  // namespace

std::string headline(const ModelComparison& comparison) {
  return short_line(comparison.before.model.file) + kArrow + short_line(comparison.after.model.file);
}

std::string models(const ModelComparison& comparison) {
  const auto& a = comparison.before.model;
  const auto& b = comparison.after.model;
  const auto describe = [](const GraphCollection::Model& model) {
    std::string text = model.type.empty() ? "" : short_line(model.type) + ", ";
    text += model.kind_text();
    return model.method == "forward" || model.method.empty() ? text
                                                             : text + ", method " + short_line(model.method);
  };
  const std::string before = describe(a);
  const std::string after = describe(b);
  return before == after ? before : before + kArrow + after;
}

std::vector<Line> summary(const ModelComparison& comparison) {
  const ComparedModel& a = comparison.before;
  const ComparedModel& b = comparison.after;
  std::vector<Line> lines;
  std::vector<std::string> modules;
  const auto add_text = [](std::vector<std::string>& parts, std::string text) {
    if (!text.empty()) parts.push_back(std::move(text));
  };
  add_text(modules, counts(comparison, DifferenceKind::kModules));
  add_text(modules,
           rest(comparison, DifferenceKind::kModules, a.modules, b.modules, " (without operations)"));
  lines.emplace_back("Modules", with_counts(numbers(a.modules, b.modules, with_separators), joined(modules)));
  lines.emplace_back("Parameters",
                     with_counts(numbers(a.parameters.elements, b.parameters.elements, with_separators),
                                 counts(comparison, DifferenceKind::kParameters)));
  if (comparison.told.has(DifferenceKind::kWeights))
    lines.emplace_back("Weights", weights(comparison.weights));
  std::vector<std::string> nodes;
  add_text(nodes, counts(comparison, DifferenceKind::kNodes));
  add_text(nodes, rest(comparison, DifferenceKind::kNodes, a.nodes, b.nodes,
                       " (sizes, items, operations without effect)"));
  const auto add_count = [&](std::vector<std::string>& parts, DifferenceKind kind, const char* what) {
    const std::int64_t count = comparison.count(kind);
    if (comparison.told.has(kind) && count > 0) parts.push_back(counted(count, what));
  };
  add_count(nodes, DifferenceKind::kArguments, "argument");
  add_count(nodes, DifferenceKind::kShapes, "shape");
  if (comparison.told.has(DifferenceKind::kShapes) && comparison.following > 0)
    nodes.back() += " (" + with_separators(comparison.following) +
                    (comparison.following == 1 ? " follows" : " follow") + " from others)";
  lines.emplace_back("Nodes", with_counts(numbers(a.nodes, b.nodes, with_separators), joined(nodes)));
  const bool is_known = a.macs || b.macs || a.activation_bytes || b.activation_bytes;
  std::string costs = "MACs " + sizes(a.macs, b.macs, with_separators) + ", activations " +
                      sizes(a.activation_bytes, b.activation_bytes, exact_bytes);
  if (!is_known) costs = "not known";
  const auto is_partial = [](const ComparedModel& model) {
    return model.is_partial && (model.macs || model.activation_bytes);
  };
  if (is_partial(a) || is_partial(b)) costs += ", without what is not known";
  lines.emplace_back("Costs", costs);
  std::vector<std::string> others;
  add_count(others, DifferenceKind::kOrder, "order change");
  add_count(others, DifferenceKind::kGuards, "guard");
  add_count(others, DifferenceKind::kNames, "name");
  add_count(others, DifferenceKind::kSources, "source");
  std::vector<std::string> hidden;
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    const auto kind = static_cast<DifferenceKind>(i);
    if (!comparison.told.has(kind) && comparison.count(kind) > 0)
      hidden.push_back(to_string(kind) + (" " + with_separators(comparison.count(kind))));
  }
  std::string text = others.empty() ? "none" : joined(others);
  if (!hidden.empty()) text += " (ignored: " + joined(hidden) + ")";
  lines.emplace_back("Others", text);
  return lines;
}

std::vector<Group> groups(const ModelComparison& comparison, std::size_t most) {
  std::vector<Group> result;
  const Sayings sayings(comparison);
  for (const ModuleDifferences& module : comparison.modules) {
    if (result.size() == most) break;
    if (sayings.has(module)) result.push_back(group_of(module));
  }
  return result;
}

std::size_t count_groups(const ModelComparison& comparison) {
  const Sayings sayings(comparison);
  return static_cast<std::size_t>(std::ranges::count_if(
      comparison.modules, [&](const ModuleDifferences& module) { return sayings.has(module); }));
}

char mark(Change change) {
  constexpr std::array<char, kChanges> kMarks = {'+', '-', '>', '~'};
  return kMarks[static_cast<std::size_t>(change)];
}

}  // namespace fxtrace::comparison_words
