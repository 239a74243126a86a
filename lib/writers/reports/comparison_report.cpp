// The answer of `fxtrace diff` as text and as Markdown.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/analysis/text_form.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "symbolic/size_text.h"
#include "writers/formats/document.h"
#include "writers/formats/markup_text.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::comparison_words {
namespace {

// One difference.
struct Entry {
  Change change = Change::kChanged;
  std::string text;    // the difference itself
  std::string remark;  // "used by %add"; a place in a source
};
// The differences of one module, or of several equal ones.
struct Group {
  std::string title;  // "h.0", "h.0 … h.11 (12 modules)"
  std::string type;   // "pkg.Block"
  std::vector<Entry> entries;
  std::size_t left_out = 0;  // the number of further entries
};

constexpr const char* kArrow = " → ";
constexpr std::size_t kMostEntries = 20;  // entries of a module; JSON has all

// Joins the texts that are not empty: "a, b".
std::string together(std::vector<std::string> texts, std::string_view between = ", ") {
  std::erase(texts, "");
  return joined(texts, {}, between);
}

// Returns "1,234 → 2,345 (+1,111, +90.0 %)".
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

// Returns "13 added, 1 changed"; empty when nothing changed.
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

// Returns the part of a total's change that the listed differences do not explain: modules and nodes that
// only one form of a model has, without effect on the computation.
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

// Returns a node without its arguments: "%add_1 = call_function[aten.add.Tensor]".
std::string operation(const Difference& difference) {
  const std::size_t end = difference.text.find("](");
  if (end == std::string::npos) return "%" + difference.subject;
  return difference.text.substr(0, end + 1);
}

std::string value(const std::optional<std::string>& text) { return text ? short_line(*text) : "(none)"; }

std::string change_text(const Difference& difference) {
  return value(difference.before) + kArrow + value(difference.after);
}

// Returns "13 modules, 7,087,872 parameters, 45 nodes".
std::string contents(const ModuleDifferences& module) {
  return together({module.modules > 1 ? counted(module.modules, "module") : "",
                   module.parameters > 0 ? counted(module.parameters, "parameter") : "",
                   module.nodes > 0 ? counted(module.nodes, "node") : ""});
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
  return short_line(QualifiedName(difference.subject).below(path)) + ": other content, " +
         sizes(difference.size_before, difference.size_after, bytes_text);
}

std::string cost_text(const Difference& difference) {
  const bool is_macs = difference.field == "macs";
  const char* name = is_macs ? "MACs " : difference.field == "peak_bytes" ? "peak memory " : "activations ";
  return name + sizes(difference.size_before, difference.size_after, is_macs ? with_separators : bytes_text);
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
  const auto user_text = [](const std::string& user) { return "%" + short_line(user); };
  const std::string users = joined(difference.users, user_text);
  const bool is_node =
      difference.kind == DifferenceKind::kNodes || difference.kind == DifferenceKind::kArguments;
  std::string place;
  if (const auto& source = difference.source; source && is_node && source->line > 0) {
    const std::string_view file = source->file;
    place = short_line(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(source->line);
  }
  const std::size_t body = difference.graph->find(':');
  return together({users.empty() ? "" : "used by " + users, place,
                   body == std::string::npos ? "" : "in " + short_line(difference.graph->substr(body + 1))},
                  "; ");
}

Group group_of(const ModuleDifferences& module) {
  Group group;
  group.title = range_of_modules(module.path, module.alike);
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

// Returns the modules of a folded comparison with differences of their own.  Modules in which only shapes
// follow from other differences are left out, unless there are no others.
std::vector<const ModuleDifferences*> telling_modules(const ModelComparison& comparison) {
  const auto is_own = [](const Difference& difference) { return !difference.within; };
  const auto says = [&](const ModuleDifferences& module) {
    return std::ranges::any_of(module.differences, [&](const Difference& difference) {
      return is_own(difference) && !difference.follows;
    });
  };
  const bool is_any = std::ranges::any_of(comparison.modules, says);
  std::vector<const ModuleDifferences*> modules;
  for (const ModuleDifferences& module : comparison.modules) {
    if (says(module) || (!is_any && std::ranges::any_of(module.differences, is_own)))
      modules.push_back(&module);
  }
  return modules;
}

// Returns "12 of 104 differ: 45.2 MiB, 3 not compared".
std::string weights(const WeightCounts& counts) {
  std::vector<std::string> parts;
  if (counts.differ > 0) {
    parts.push_back(with_separators(counts.differ) + " of " + with_separators(counts.compared) +
                    (counts.differ == 1 ? " differs: " : " differ: ") +
                    numbers(counts.bytes_before, counts.bytes_after, bytes_text));
  } else if (counts.compared > 0) {
    parts.push_back(
        (counts.compared == 1 ? "the same" : "all " + with_separators(counts.compared) + " the same") +
        (counts.by_bytes ? "" : " (by checksums)"));
  }
  if (counts.not_compared > 0)
    parts.push_back((parts.empty() ? "" : with_separators(counts.not_compared) + " ") +
                    std::string("not compared"));
  return parts.empty() ? "none" : joined(parts);
}

// headline() and models() return one line of printable characters, of bounded length.
std::string headline(const ModelComparison& comparison) {
  return short_line(comparison.before.model.file) + kArrow + short_line(comparison.after.model.file);
}

std::string models(const ModelComparison& comparison) {
  const auto describe = [](GraphCollection::Model model) {
    model.type = short_line(model.type);
    model.method = short_line(model.method);
    return model_text(model);
  };
  const std::string before = describe(comparison.before.model);
  const std::string after = describe(comparison.after.model);
  return before == after ? before : before + kArrow + after;
}

// Returns the lines of the summary: "Modules", "148 → 160: 13 added".
std::vector<Line> summary(const ModelComparison& comparison) {
  const ComparedModel& a = comparison.before;
  const ComparedModel& b = comparison.after;
  const auto changes = [&](DifferenceKind kind) { return counts(comparison, kind); };
  const auto count = [&](DifferenceKind kind, const char* what) {
    const std::int64_t number = comparison.told.has(kind) ? comparison.count(kind) : 0;
    return number > 0 ? counted(number, what) : "";
  };
  std::vector<Line> lines;
  lines.emplace_back("Modules", with_counts(numbers(a.modules, b.modules, with_separators),
                                            together({changes(DifferenceKind::kModules),
                                                      rest(comparison, DifferenceKind::kModules, a.modules,
                                                           b.modules, " (without operations)")})));
  lines.emplace_back("Parameters",
                     with_counts(numbers(a.parameters.elements, b.parameters.elements, with_separators),
                                 changes(DifferenceKind::kParameters)));
  if (comparison.told.has(DifferenceKind::kWeights))
    lines.emplace_back("Weights", weights(comparison.weights));
  std::string nodes =
      together({changes(DifferenceKind::kNodes),
                rest(comparison, DifferenceKind::kNodes, a.nodes, b.nodes,
                     " (sizes, items, operations without effect)"),
                count(DifferenceKind::kArguments, "argument"), count(DifferenceKind::kShapes, "shape")});
  if (comparison.told.has(DifferenceKind::kShapes) && comparison.following > 0)
    nodes += " (" + with_separators(comparison.following) +
             (comparison.following == 1 ? " follows" : " follow") + " from others)";
  lines.emplace_back("Nodes", with_counts(numbers(a.nodes, b.nodes, with_separators), nodes));
  const bool is_known = a.macs || b.macs || a.activation_bytes || b.activation_bytes;
  std::string costs = "MACs " + sizes(a.macs, b.macs, with_separators) + ", activations " +
                      sizes(a.activation_bytes, b.activation_bytes, bytes_text);
  if (!is_known) costs = "not known";
  const auto is_partial = [](const ComparedModel& model) {
    return model.is_partial && (model.macs || model.activation_bytes);
  };
  if (is_partial(a) || is_partial(b)) costs += ", without unknown costs";
  lines.emplace_back("Costs", costs);
  std::string others =
      together({count(DifferenceKind::kOrder, "order change"), count(DifferenceKind::kGuards, "guard"),
                count(DifferenceKind::kNames, "name"), count(DifferenceKind::kSources, "source")});
  std::vector<std::string> hidden;
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    const auto kind = static_cast<DifferenceKind>(i);
    if (!comparison.told.has(kind) && comparison.count(kind) > 0)
      hidden.push_back(to_string(kind) + (" " + with_separators(comparison.count(kind))));
  }
  if (others.empty()) others = "none";
  if (!hidden.empty()) others += " (ignored: " + joined(hidden) + ")";
  lines.emplace_back("Others", others);
  return lines;
}

const char* colour_of(Change change) {
  constexpr std::array<const char*, kChanges> kColours = {kGreen, kRed, kCyan, kYellow};
  return kColours[static_cast<std::size_t>(change)];
}

char mark(Change change) {
  constexpr std::array<char, kChanges> kMarks = {'+', '-', '>', '~'};
  return kMarks[static_cast<std::size_t>(change)];
}

// Returns the mark that GitHub colours in a diff block.  Each line of the block starts with one, so that no
// text can end the block.
char markdown_mark(Change change) {
  return change == Change::kAdded ? '+' : change == Change::kRemoved ? '-' : '!';
}

}  // namespace
}  // namespace fxtrace::internal::comparison_words

namespace fxtrace::internal {

void write_comparison(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout) {
  using namespace comparison_words;
  Document document(out, layout);
  const bool is_markdown = document.is_markdown();
  const std::size_t most = is_markdown ? 50 : 100;  // modules; GitHub takes 65,536 characters
  if (is_markdown) {
    document.line("**" + markdown_code(headline(comparison)) + "** " + markdown_code(models(comparison)));
  } else {
    document.line(document.bold(headline(comparison)) + "\n" + models(comparison));
  }
  document.line();
  document.list(summary(comparison));
  const auto modules = telling_modules(comparison);
  for (std::size_t i = 0; i < std::min(modules.size(), most); ++i) {
    const Group group = group_of(*modules[i]);
    document.heading(group.title, group.type);
    if (is_markdown) document.line("\n```diff");
    for (const auto& [change, text, remark] : group.entries) {
      if (is_markdown) {
        document.line(markdown_mark(change) + (" " + text) + (remark.empty() ? "" : "  # " + remark));
      } else {
        document.line("  " + layout.paint(mark(change) + (" " + text), colour_of(change)) +
                      (remark.empty() ? "" : "  " + document.dim(remark)));
      }
    }
    document.left_out(group.left_out, nullptr, is_markdown ? "# " : "  ");
    if (is_markdown) document.line("```");
  }
  if (modules.size() > most) document.line();
  document.left_out(modules.size() - std::min(modules.size(), most), "module");
  if (comparison.is_equal()) document.line("\nNo difference");
}

}  // namespace fxtrace::internal
