// The answer of `fxtrace why` as text: why modules failed, which options help, what became of a module, why a
// guard is there, and where a dimension comes from.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/analysis/text_form.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "writers/formats/document.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMostItems = 100;   // items of one list; JSON has all
constexpr std::size_t kMostOptions = 60;  // characters in a column of options
constexpr std::size_t kMostPaths = 4;     // paths in one line

std::string path_of(const std::string& path) { return short_line(path_text(path)); }

// Returns "gate, h.0 … h.11 (12 modules)", of bounded length.
std::string list_text(const std::vector<std::string>& paths) {
  const std::vector<PathRange> ranges = fold_paths(paths);
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostPaths); ++i)
    text += (i == 0 ? "" : ", ") + range_of_modules(ranges[i].first, ranges[i].last, ranges[i].count);
  if (ranges.size() > kMostPaths)
    text += " and " + with_separators(static_cast<std::int64_t>(ranges.size() - kMostPaths)) + " more";
  return text;
}

std::string options_text(const std::vector<std::string>& options) { return joined(options, one_line, " "); }

std::string place_of(const std::optional<SourceLocation>& source) {
  return source ? short_line(place_text(*source)) : "";
}

const char* failure_text(FailureKind kind) {
  switch (kind) {
    case FailureKind::kDataDependentControlFlow:
      return "control flow depends on data";
    case FailureKind::kUnsupportedOp:
      return "an operation cannot be followed";
    case FailureKind::kRaised:
      return "the code raises an error";
    case FailureKind::kLimit:
      return "a limit is reached";
    case FailureKind::kOther:
      break;
  }
  return "cannot be followed";
}

class ExplanationText : Document {
 public:
  using Document::Document;

  void write(const Explanation& explanation) {
    is_script_ = explanation.model.is_torchscript();
    is_saved_ = explanation.is_saved;
    suggestions_ = explanation.suggestions ? &*explanation.suggestions : nullptr;
    if (explanation.dimension) return dimension(*explanation.dimension);
    if (!explanation.guards.empty()) return guards(explanation.guards);
    if (explanation.asked_module) return modules(explanation);
    failures(explanation);
  }

 private:
  // Writes the first items of a list, each by `write`.
  template <class Items, class F>
  void each(const Items& items, const char* what, F&& write) {
    const std::size_t shown = std::min(items.size(), kMostItems);
    for (std::size_t i = 0; i < shown; ++i) write(items[i]);
    left_out(items.size() - shown, what);
  }

  // --- the reasons of guards ---

  static const char* reason_text(GuardReason reason) {
    switch (reason) {
      case GuardReason::kInput:
        return "given by --input, and the graph relies on it";
      case GuardReason::kDim:
        return "it holds for all sizes that --input and --dim allow, but maybe not for others";
      case GuardReason::kConcrete:
        return "given by --concrete: the graph is traced with this value";
      case GuardReason::kDefault:
        return "assumed by default, and the graph relies on this value";
      case GuardReason::kExported:
        return "torch.export fixed it, with its example inputs or for dynamic_shapes";
      case GuardReason::kAssert:
        return "the code raises where it does not hold";
    }
    return "";
  }

  void guards(const std::vector<GuardExplanation>& guards) {
    for (const GuardExplanation& each : guards) {
      line(bold("guard " + std::to_string(each.number)) + " of the graph of " + path_of(each.graph) + ": " +
           short_line(each.guard.expr.text()));
      line(std::string("  ") + reason_text(each.guard.reason));
      if (!each.guard.assumption.empty()) line("  said: " + short_line(each.guard.assumption));
      if (const std::string place = place_of(each.guard.source); !place.empty()) line("  at " + place);
    }
  }

  // --- failures ---

  void failures(const Explanation& explanation) {
    const std::string name = short_line(explanation.model.file);
    if (explanation.failed == 0) {
      return line(name + ": nothing failed, all " + counted(explanation.modules, "module") +
                  " were traced, are leaves or are never called");
    }
    line(bold(name) + ": " +
         (explanation.model.type.empty() ? "" : short_line(explanation.model.type) + ", ") +
         explanation.model.kind_text());
    line(with_separators(explanation.failed) + " of " + counted(explanation.modules, "module") +
         " failed to trace");
    tree(explanation.failures);
    if (explanation.suggestions) suggestions(*explanation.suggestions);
    if (is_saved_) line("\nThis is a saved collection: options can be tried only on the model itself.");
  }

  void tree(const std::vector<FailureGroup>& failures) {
    std::vector<std::size_t> depths;
    for (std::size_t i = 0; i < std::min(failures.size(), kMostItems); ++i)
      depths.push_back(failures[i].depth);
    const auto lines = tree_lines(depths);
    each(failures, "cause", [&](const FailureGroup& group) {
      const auto i = static_cast<std::size_t>(&group - failures.data());
      if (group.depth == 0) line();
      line(lines[i] + titled(range_of_modules(group.paths.front(), group.paths), short_line(group.type)) +
           "  " + layout_.paint(failure_text(group.failure.kind), kRed));
      const bool has_inner = i + 1 < depths.size() && depths[i + 1] > group.depth;
      failure(group.failure, below_line(lines[i]) + (has_inner ? "│ " : "  "));
    });
  }

  void failure(const Failure& failure, const std::string& before) {
    line(before + short_line(failure.message));
    const std::string place = place_of(failure.source);
    if (!failure.op.empty() || !place.empty()) {
      line(before + short_line(failure.op) + (failure.op.empty() || place.empty() ? "" : " at ") + place);
    }
  }

  // --- options that help ---

  std::string left(const Trial& trial) const {
    if (trial.failed.empty()) return layout_.paint("no module fails", kGreen);
    const auto count = static_cast<std::int64_t>(trial.failed.size());
    return counted(count, "module") + (count == 1 ? " fails: " : " fail: ") + list_text(trial.failed);
  }

  void suggestions(const Suggestions& suggestions) {
    if (!suggestions.helpful.empty()) {
      heading("Options that help, each tried alone");
      std::vector<Line> lines;
      for (const Trial& trial : suggestions.helpful)
        lines.emplace_back(options_text(trial.options), left(trial));
      list(lines, "", "  ", kMostOptions);
    }
    if (!suggestions.others.empty()) {
      line("\nOptions tried alone that leave as many failures: " + joined(suggestions.others, options_text));
    }
    if (!suggestions.is_tried) {
      line("\nThe graphs are too large to try options.");
    } else if (suggestions.best) {
      heading("The fewest options found that leave the fewest failures");
      line("  " + options_text(suggestions.best->options));
      line("  " + left(*suggestions.best));
    } else {
      line("\nNo option that was tried leaves fewer failures.");
    }
    if (suggestions.with_leaves) {
      heading(suggestions.best ? "With the remaining failures kept as leaves"
                               : "With the failures kept as leaves");
      line("  " + options_text(suggestions.with_leaves->options));
      line("  " + left(*suggestions.with_leaves) +
           "; a leaf is one node wherever it is called, and its submodules get no graphs");
    }
    if (!suggestions.operators.empty()) {
      heading("Not tried: operators of other libraries");
      for (const Suggestions::UnknownOperator& unknown : suggestions.operators) {
        line("  " + short_line(unknown.name) + ": --op-library LIB loads the library that has it, or");
        line("    --op-schema " + shell_word(short_line(unknown.schema)) +
             " with its true types declares it");
      }
    }
  }

  // --- modules ---

  void modules(const Explanation& explanation) {
    each(explanation.explained, "module", [&](const ModuleExplanation& module) {
      if (&module != explanation.explained.data()) line();
      this->module(module);
    });
  }

  void module(const ModuleExplanation& module) {
    line(titled(range_of_modules(module.path, module.alike), short_line(module.type)));
    if (module.asked) line("  " + path_of(*module.asked) + " is another name of it");
    cause(module);
    for (const CallSite& site : module.call_sites) call_site(module, site);
    for (const Guard& guard : module.guards) {
      line("  a guard says: " + short_line(guard.expr.text()));
    }
    places(module);
    if (!module.other_names.empty())
      line("  shared: " + list_text(module.other_names) + " is the same module");
    if (module.cause == ModuleCause::kFailed && suggestions_ != nullptr) what_helps(module);
  }

  void what_helps(const ModuleExplanation& module) {
    const auto fails = [](const Trial& trial, const std::string& path) {
      return std::ranges::find(trial.failed, path) != trial.failed.end();
    };
    const auto helps = [&](const Trial& trial) {
      if (module.alike.empty()) return !fails(trial, module.path);
      return std::ranges::none_of(module.alike, [&](const std::string& path) { return fails(trial, path); });
    };
    bool is_any = false;
    const auto tell = [&](const Trial& trial) {
      if (!helps(trial)) return;
      is_any = true;
      line("  " + layout_.paint("with " + options_text(trial.options) + " it does not fail", kGreen));
    };
    for (const Trial& trial : suggestions_->helpful) tell(trial);
    if (!is_any && suggestions_->best) tell(*suggestions_->best);
    if (!is_any && suggestions_->is_tried) line("  no option that was tried helps");
  }

  std::string rule_text(const ModuleExplanation& module) const {
    const std::string& rule = *module.rule;
    if (rule == "default")
      return "the built-in rule: modules of torch.nn and torch.ao.nn are leaves, Sequential is not";
    if (rule.starts_with("--")) return short_line(rule);
    if (module.origin)
      return "the rule " + shell_quoted(short_line(rule)) + " of " + short_line(*module.origin);
    return "--leaf " + shell_quoted(short_line(rule));
  }

  void cause(const ModuleExplanation& module) {
    const std::string around = module.decided_by ? path_of(*module.decided_by) : "";
    switch (module.cause) {
      case ModuleCause::kTraced:
        return line(module.calls == 0 && !module.methods.empty()
                        ? "  traced: not its forward, but " + list_text(module.methods) +
                              "; its nodes are in the graphs below"
                        : "  traced: its nodes are in the graphs below");
      case ModuleCause::kRule:
        line("  a leaf by " + rule_text(module));
        return undo_rule(module, module.path);
      case ModuleCause::kLeaf:
        return line("  one node: not by a rule, but because the module that calls it is one node");
      case ModuleCause::kFailed:
        line("  " +
             layout_.paint(std::string("failed: ") +
                               failure_text(module.failure ? module.failure->kind : FailureKind::kOther),
                           kRed) +
             "; it is one node wherever it is called");
        if (module.failure) failure(*module.failure, "    ");
        return;
      case ModuleCause::kContainer:
        // A file has no forward for a module that was not called, and torch.export no type.
        return line(
            module.type.starts_with("torch.nn.modules.container.")
                ? "  not visited: it has no forward to call; its submodules stand for themselves"
                : "  not visited: the file has no call of its forward: a container has no forward, and another method is code of its caller");
      case ModuleCause::kInLeaf:
        if (!module.rule) {
          return line(
              "  not visited: " + around + " around it " +
              (module.failure ? "failed, and nothing that was traced in it calls this" : "is one node"));
        }
        line("  not visited: " + around + " around it is a leaf by " + rule_text(module));
        return undo_rule(module, *module.decided_by);
      case ModuleCause::kInUncalled:
        return line("  not visited: no graph calls " + around + " around it");
      case ModuleCause::kNotCalled:
        return not_called(module, around);
    }
  }

  void undo_rule(const ModuleExplanation& module, const std::string& path) {
    if (module.rule->starts_with("--")) return;
    const bool is_one =
        module.alike.empty() && !path.empty() && path.find_first_of("*?[") == std::string::npos;
    line("  " +
         (is_one ? "--no-leaf " + shell_quoted("@" + short_line(path)) + " traces into it"
                 : std::string("--no-leaf RULE traces into it")) +
         (*module.rule == "default" ? "; --flat drops the rule" : ""));
  }

  void not_called(const ModuleExplanation& module, const std::string& around) {
    line("  not visited: " + (module.decided_by ? around + " was traced, and nothing in it called this"
                                                : std::string("no graph calls it")));
    if (!module.call_sites.empty() || is_saved_) return;
    line(
        is_script_
            ? "  no code in the file calls it by name; torch.jit drops what constants decide, and records one run"
            : "  torch.export recorded no call of it with its example inputs; in bodies of cond, scan and the like it records no modules");
  }

  void call_site(const ModuleExplanation& module, const CallSite& site) {
    const std::string place = place_of(site.source);
    // Further recordings of forward are called forward1, its overloads forward__0.
    constexpr std::string_view kForward = "forward";
    const bool is_forward =
        site.entered.starts_with(kForward) &&
        site.entered.find_first_not_of("_0123456789", kForward.size()) == std::string::npos;
    const std::string text = "  the code of " + path_of(site.module) + " calls " +
                             (is_forward ? "it" : "its method " + short_line(site.entered)) +
                             (place.empty() ? "" : " at " + place);
    if (!site.is_run) {
      line(text);
      return line(
          "    in the method " + short_line(site.method) + ", which was not run" +
          (site.module.empty() ? "; --method " + shell_word(short_line(site.method)) + " traces it" : ""));
    }
    line(text);
    if (std::ranges::find(module.methods, site.entered) != module.methods.end()) return;
    if (!site.condition) return line("    which the trace did not reach");
    line(std::string("    in ") +
         (site.is_in_loop ? "a loop that took no turn: " : "a branch that was not taken: ") +
         place_of(site.condition));
  }

  void places(const ModuleExplanation& module) {
    each(module.places, "graph", [&](const ModuleExplanation::Place& place) {
      std::vector<std::string> parts;
      if (place.calls > 0) parts.push_back(counted(place.calls, "call"));
      if (place.nodes > 0)
        parts.push_back(counted(place.nodes, "node") + ", the first " + short_line(place.first));
      const std::string source = place_of(place.source);
      line((place.graph == module.path ? "  in its own graph: "
                                       : "  in the graph of " + path_of(place.graph) + ": ") +
           joined(parts) + (source.empty() ? "" : " (" + source + ")"));
    });
  }

  // --- dimensions ---

  void dimension(const DimensionExplanation& dimension) {
    line(bold(short_line(dimension.name)) + ": " + to_string(dimension.range));
    for (const DimensionExplanation::Origin& origin : dimension.inputs) {
      line("  input " + short_line(origin.input) +
           (origin.place.empty() ? ", its value" : ", dimension " + origin.place) +
           (origin.expression == dimension.name ? "" : ": " + short_line(origin.expression)));
    }
    if (dimension.made_by) {
      line("  depends on data: " + short_line(dimension.made_by->node) + " makes it (" +
           short_line(dimension.made_by->target) + ")" + after(dimension.made_by->source));
    }
    places("Guards", dimension.guards);
    places("Asserts", dimension.asserts);
    places("Conditions at which modules failed", dimension.questions);
    places("Sizes derived from it", dimension.derived);
    heading(counted(dimension.nodes, "node") + (dimension.nodes == 1 ? " depends on it" : " depend on it"));
    if (dimension.narrowed.empty()) return;
    heading("Ranges that narrow it, each tried");
    std::vector<Line> lines;
    for (const auto& [option, counts] : dimension.narrowed) {
      lines.emplace_back(one_line(option),
                         change(counts.nodes, dimension.all.nodes, "node") + ", " +
                             change(counts.guards, dimension.all.guards, "guard") +
                             (counts.failed + dimension.all.failed == 0
                                  ? ""
                                  : ", " + change(counts.failed, dimension.all.failed, "failed module")));
    }
    list(lines, "", "  ");
  }

  static std::string change(std::int64_t count, std::int64_t all, const char* what) {
    return counted(count, what) + (count == all ? "" : " instead of " + with_separators(all));
  }

  static std::string after(const std::optional<SourceLocation>& source) {
    const std::string place = place_of(source);
    return place.empty() ? "" : " at " + place;
  }

  void places(const char* title, const std::vector<DimensionExplanation::Place>& places) {
    if (places.empty()) return;
    heading(title);
    each(places, "line", [&](const DimensionExplanation::Place& place) {
      std::string text = "  " + short_line(place.text);
      if (!place.node.empty()) text += "  " + dim(short_line(place.node));
      if (place.node.empty() && !place.target.empty()) text += " in " + path_of(place.graph);
      if (place.count > 1) text += " and " + counted(place.count - 1, "more node");
      line(text + after(place.source));
    });
  }

  bool is_script_ = false, is_saved_ = false;
  const Suggestions* suggestions_ = nullptr;
};

}  // namespace

void write_explanation_text(const Explanation& explanation, std::ostream& out, const TextLayout& layout) {
  ExplanationText(out, layout).write(explanation);
}

}  // namespace fxtrace::internal
