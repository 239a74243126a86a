#include "summaries/explanation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "graph/analysis/execution_order.h"
#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "graph/graph_collection.h"
#include "opinfo/traits.h"
#include "support/error.h"
#include "support/repeated.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kOutermost = std::numeric_limits<std::size_t>::max();

// A key as lines of text: the facts that equal blocks have in common.
class Key {
 public:
  Key& add(std::string_view text) {
    text_ += text;
    text_ += '\n';
    return *this;
  }
  Key& add(std::size_t number) { return add(std::to_string(number)); }
  Key& common(std::string_view text) { return add(without_numbers(text)); }
  Key& add(const std::optional<SourceLocation>& source) {
    if (source) add(source->file).add(static_cast<std::size_t>(source->line));
    return add("");
  }
  Key& add(const Failure& failure) {
    add(to_string(failure.kind)).add(failure.op).add(failure.source);
    // A message has names of values, which depend on the nodes before them, so the source is preferred.
    return failure.source ? *this : common(failure.message);
  }
  std::string take_result() { return std::move(text_); }

 private:
  std::string text_;
};

// Decides by the name of the type, because a collection does not say which modules have a forward.
bool is_container(const std::string& type) {
  constexpr std::string_view kPlace = "torch.nn.modules.container.";
  if (!type.starts_with(kPlace)) return false;
  const std::string_view name = std::string_view(type).substr(kPlace.size());
  return name == "ModuleList" || name == "ModuleDict" || name == "ParameterList" || name == "ParameterDict";
}

// A set of modules, found by their own paths or by paths inside of them.
class Wanted {
 public:
  void add(std::string_view path) {
    if (places_.emplace(path, places_.size()).second) lengths_.insert(path.size());
  }
  std::optional<std::size_t> find(std::string_view path) const {
    const auto found = places_.find(path);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  // Calls f(place) for the module at `path` and each module around it.
  template <class F>
  void for_each_around(std::string_view path, const F& f) const {
    for (const std::size_t length : lengths_) {
      if (length > path.size()) return;
      const std::string_view outer = path.substr(0, length);
      if (length != path.size() && !QualifiedName(path).is_below(outer)) continue;
      if (const auto place = find(outer)) f(*place);
    }
  }

 private:
  std::unordered_map<std::string_view, std::size_t> places_;
  std::set<std::size_t> lengths_;
};

class Explainer {
 public:
  Explainer(const GraphCollection& collection, const std::vector<std::string>& paths)
      : collection_(collection) {
    for (const ModuleRecord& module : collection.modules) by_path_.emplace(module.path, &module);
    const std::set<std::string_view> asked(paths.begin(), paths.end());
    for (const ModuleRecord& module : collection.modules) {
      if (asked.count(module.path) == 0 || wanted_.find(module.path)) continue;
      wanted_.add(module.path);
      explanations_.push_back(explain(module));
    }
  }

  std::vector<ModuleExplanation> run() {
    for (const ModuleRecord& module : collection_.modules) {
      if (module.alias_of) {
        if (const auto place = wanted_.find(*module.alias_of))
          explanations_[*place].other_names.push_back(module.path);
        continue;
      }
      wanted_.for_each_around(module.path, [&](std::size_t place) {
        if (explanations_[place].path != module.path) ++explanations_[place].submodules;
      });
    }
    for (const ModuleGraph& graph : collection_.graphs) look_at(graph);
    return std::move(explanations_);
  }

 private:
  ModuleExplanation explain(const ModuleRecord& module) const {
    ModuleExplanation explanation;
    explanation.path = module.path;
    explanation.type = module.type;
    explanation.status = module.status;
    explanation.rule = module.rule;
    explanation.failure = module.failure;
    explanation.calls = module.calls;
    switch (module.status) {
      case ModuleStatus::kTraced:
        explanation.cause = ModuleCause::kTraced;
        break;
      case ModuleStatus::kLeaf:
        explanation.cause = module.rule ? ModuleCause::kRule : ModuleCause::kLeaf;
        break;
      case ModuleStatus::kFailed:
        explanation.cause = ModuleCause::kFailed;
        break;
      case ModuleStatus::kUnvisited:
        explain_unvisited(module, explanation);
        break;
    }
    return explanation;
  }

  void explain_unvisited(const ModuleRecord& module, ModuleExplanation& explanation) const {
    explanation.cause = is_container(module.type) ? ModuleCause::kContainer : ModuleCause::kNotCalled;
    if (module.path.empty() || explanation.cause == ModuleCause::kContainer) return;
    const ModuleRecord* unvisited = nullptr;  // the outermost unvisited module
    for (std::string_view path = module.path; !path.empty();) {
      path = QualifiedName(path).parent();
      const auto found = by_path_.find(path);
      if (found == by_path_.end()) continue;
      const ModuleRecord& outer = *found->second;
      if (outer.status == ModuleStatus::kUnvisited) {
        if (!is_container(outer.type)) unvisited = &outer;
        continue;
      }
      explanation.decided_by = outer.path;
      if (outer.status == ModuleStatus::kTraced) break;
      explanation.cause = ModuleCause::kInLeaf;
      explanation.rule = outer.rule;
      explanation.failure = outer.failure;
      return;
    }
    if (unvisited == nullptr) return;
    explanation.cause = ModuleCause::kInUncalled;
    explanation.decided_by = unvisited->path;
  }

  void look_at(const ModuleGraph& root) {
    std::unordered_map<std::size_t, ModuleExplanation::Place> places;
    const auto place_of = [&](std::size_t module) -> ModuleExplanation::Place& {
      return places.try_emplace(module, ModuleExplanation::Place{root.module, 0, 0, "", std::nullopt})
          .first->second;
    };
    if (root.execution) {
      for (const OrderedCall& call : CallOrder(*root.execution)) {
        const auto module = wanted_.find(call.module);
        if (!module) continue;
        ++place_of(*module).calls;
        auto& methods = explanations_[*module].methods;
        if (!call.method.empty() && std::ranges::find(methods, call.method) == methods.end())
          methods.emplace_back(call.method);
      }
    }
    std::unordered_map<std::string_view, std::vector<std::size_t>>
        around;  // wanted modules by path of a scope
    for_each_graph(root, [&](const ModuleGraph& graph) {
      for (NodeId id = graph.graph.first(); graph.graph.contains(id); id = graph.graph.next(id)) {
        const Node& node = graph.graph.node(id);
        if (node.op == Opcode::kPlaceholder || node.op == Opcode::kOutput) continue;
        const std::string_view path = node.scope->module_path;
        const auto [known, is_new] = around.try_emplace(path);
        if (is_new) {
          wanted_.for_each_around(path, [&](std::size_t module) { known->second.push_back(module); });
        }
        for (const std::size_t module : known->second) {
          ModuleExplanation::Place& place = place_of(module);
          if (place.nodes++ > 0) continue;
          place.first = node.name;
          place.source = *node.source;
        }
      }
    });
    for (std::size_t i = 0; i < explanations_.size(); ++i) {
      const auto found = places.find(i);
      if (found != places.end()) explanations_[i].places.push_back(std::move(found->second));
    }
  }

  const GraphCollection& collection_;
  std::unordered_map<std::string_view, const ModuleRecord*> by_path_;
  Wanted wanted_;
  std::vector<ModuleExplanation> explanations_;
};

std::string common_key(const ModuleExplanation& module) {
  Key key;
  key.common(module.path).add(module.type).add(to_string(module.cause)).add(module.rule.value_or("-"));
  if (module.failure) key.add(*module.failure);
  key.common(module.decided_by.value_or("-")).add(static_cast<std::size_t>(module.calls));
  key.add(static_cast<std::size_t>(module.submodules)).add(module.other_names.size());
  for (const ModuleExplanation::Place& place : module.places) {
    key.common(place.graph).common(place.first).add(static_cast<std::size_t>(place.calls));
    key.add(static_cast<std::size_t>(place.nodes)).add(place.source);
  }
  for (const std::string& method : module.methods) key.add(method);
  for (const CallSite& site : module.call_sites)
    key.common(site.module).add(site.method).add(site.entered).add(site.source).add(site.condition);
  return key.take_result();
}

}  // namespace

const char* to_string(ModuleCause cause) {
  switch (cause) {
    case ModuleCause::kTraced:
      return "traced";
    case ModuleCause::kRule:
      return "rule";
    case ModuleCause::kLeaf:
      return "leaf";
    case ModuleCause::kFailed:
      return "failed";
    case ModuleCause::kContainer:
      return "container";
    case ModuleCause::kInLeaf:
      return "in_leaf";
    case ModuleCause::kInUncalled:
      return "in_uncalled";
    case ModuleCause::kNotCalled:
      return "not_called";
  }
  return "";
}

std::vector<FailureGroup> fold_failures(const GraphCollection& collection) {
  struct Group {
    FailureGroup modules;
    std::vector<std::size_t> inner;  // in the order of the model
  };
  std::vector<Group> groups;
  std::vector<std::size_t> outermost;
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::pair<std::string_view, std::size_t>> open;  // failed modules around, with their groups
  for (const ModuleRecord& module : collection.modules) {
    if (module.status != ModuleStatus::kFailed || module.alias_of) continue;
    while (!open.empty() && !QualifiedName(module.path).is_below(open.back().first)) open.pop_back();
    const std::size_t parent = open.empty() ? kOutermost : open.back().second;
    const Failure failure = module.failure.value_or(Failure{});
    const auto [entry, is_new] = places.try_emplace(
        Key().add(parent).common(module.path).add(module.type).add(failure).take_result(), groups.size());
    if (is_new) {
      (parent == kOutermost ? outermost : groups[parent].inner).push_back(groups.size());
      groups.push_back({{{}, module.type, failure, 0}, {}});
    }
    groups[entry->second].modules.paths.push_back(module.path);
    open.emplace_back(module.path, entry->second);
  }
  std::vector<FailureGroup> folded;
  std::vector<std::pair<std::size_t, std::size_t>> pending;  // groups with their depths
  const auto add = [&](const std::vector<std::size_t>& inner, std::size_t depth) {
    for (const std::size_t group : std::views::reverse(inner)) pending.emplace_back(group, depth);
  };
  add(outermost, 0);
  while (!pending.empty()) {
    const auto [group, depth] = pending.back();
    pending.pop_back();
    folded.push_back(std::move(groups[group].modules));
    folded.back().depth = depth;
    add(groups[group].inner, depth + 1);
  }
  return folded;
}

std::vector<PathRange> fold_paths(const std::vector<std::string>& paths) {
  std::vector<PathRange> ranges;
  std::unordered_map<std::string, std::size_t> places;
  for (const std::string& path : paths) {
    const auto [entry, is_new] = places.try_emplace(without_numbers(path), ranges.size());
    if (is_new) {
      ranges.push_back({path, path, 1});
    } else {
      PathRange& range = ranges[entry->second];
      range.last = path;
      ++range.count;
    }
  }
  return ranges;
}

std::vector<ModuleExplanation> explain_modules(const GraphCollection& collection,
                                               const std::vector<std::string>& paths) {
  return Explainer(collection, paths).run();
}

void fold_alike(std::vector<ModuleExplanation>& explanations) { fold_by_key(explanations, common_key); }

namespace {

// Returns the comparison with its sides swapped: "s0 == 8" for "8 == s0"; other expressions unchanged.
Expression with_sides_swapped(const Expression& guard) {
  using Symbols = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Symbols, 6> kSwapped{
      {{"==", "=="}, {"!=", "!="}, {"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}}};
  if (guard.kind() != Expression::Kind::kComparison || guard.parts().size() != 2) return guard;
  const auto found = std::ranges::find(kSwapped, guard.name(), &Symbols::first);
  return found == kSwapped.end()
             ? guard
             : Expression::comparison(std::string(found->second), guard.parts()[1], guard.parts()[0]);
}

// Returns the conditions that the guard joins, as texts that do not depend on the order of sides: those of
// "8 >= s0 >= 2" are those of "2 <= s0 <= 8".
std::set<std::string> conditions(const Expression& guard) {
  std::set<std::string> texts;
  const auto add = [&](const Expression& part) {
    texts.insert(std::min(part.text(), with_sides_swapped(part).text()));
  };
  if (guard.kind() == Expression::Kind::kAnd) {
    for (const Expression& part : guard.parts()) add(part);
  } else {
    add(guard);
  }
  return texts;
}

}  // namespace

std::vector<GuardExplanation> find_guards(const GraphCollection& collection, const std::string& asked) {
  const auto wanted = number_in<std::int64_t>(asked);
  const std::set<std::string> asked_conditions = conditions(Expression::parse(asked));
  std::vector<GuardExplanation> found, with_others;
  std::vector<std::string> all;
  for (const ModuleGraph& graph : collection.graphs) {
    for (const Guard& guard : graph.guards) {
      all.push_back(guard.expr.text());
      const auto number = std::ssize(all);
      if (wanted) {
        if (number == *wanted) found.push_back({graph.module, number, guard});
        continue;
      }
      const std::set<std::string> own = conditions(guard.expr);
      if (std::ranges::includes(own, asked_conditions))
        (own.size() == asked_conditions.size() ? found : with_others)
            .push_back({graph.module, number, guard});
    }
  }
  if (!found.empty()) return found;
  if (!with_others.empty()) return with_others;
  std::vector<std::string> details;
  if (all.empty()) {
    details.emplace_back("no graph has a guard");
  } else if (wanted) {
    details.push_back("the number of guards is " + std::to_string(all.size()) + ", numbers begin at 1");
  } else {
    const std::string nearest = find_nearest(asked, all);
    details.push_back(nearest.empty() ? "fxtrace trace writes them"
                                      : "did you mean " + shell_quoted(nearest) + "?");
  }
  throw usage_error("--guard: no guard '" + asked + "'", std::move(details));
}

std::vector<std::string> find_modules(const GraphCollection& collection, const std::string& pattern,
                                      std::optional<std::string>& asked) {
  std::unordered_map<std::string_view, const ModuleRecord*> by_path;
  for (const ModuleRecord& module : collection.modules) by_path.emplace(module.path, &module);
  constexpr int kMaxAliases = 100;  // bound on nested aliases
  std::string path = pattern;
  for (int i = 0; i < kMaxAliases; ++i) {
    const ModuleRecord* later = nullptr;
    QualifiedName(path).for_each_prefix([&](std::string_view prefix) {
      const auto found = by_path.find(prefix);
      if (found != by_path.end() && found->second->alias_of) later = found->second;
    });
    if (later == nullptr) break;
    path = *later->alias_of + path.substr(later->path.size());
  }
  if (by_path.count(path) != 0) {
    if (path != pattern) asked = pattern;
    return {path};
  }
  std::vector<std::string> paths = match_modules(collection, pattern);
  if (paths.empty()) throw no_such_module(collection, pattern);
  return paths;
}

// Dimension explanation (explanation.h): finds the inputs, nodes, guards and failures of a collection that
// mention a dimension, and its range as the guards narrow it.

namespace {

using Place = DimensionExplanation::Place;

constexpr std::size_t kMaxNesting = 200;  // levels of an expression

void add_names(const Expression& expression, std::set<std::string>& names, std::size_t nesting = 0) {
  if (const SymInt* size = expression.size()) {
    if (size->is_number()) return;
    for (std::string& name : size->symbols()) names.insert(std::move(name));
    return;
  }
  if (nesting == kMaxNesting) return;
  for (const Expression& part : expression.parts()) add_names(part, names, nesting + 1);
}

// Calls f for each size in the metadata of a value.
template <class F>
void for_each_size(const Meta& meta, const F& f) {
  if (meta.shape) {
    for (const Expression& size : *meta.shape) f(size);
  }
  if (meta.value) f(*meta.value);
}

bool is_assert(const Node& node) {
  return node.op == Opcode::kCallFunction && has_trait(find_operator(target_parts(node)), traits::kAsserts);
}

class DimensionExplainer {
 public:
  DimensionExplainer(const GraphCollection& collection, const std::string& name, const Range& given)
      : collection_(collection), name_(name) {
    explanation_.name = name;
    dimensions_.narrow(name, given);
  }

  DimensionExplanation run() {
    for (const ModuleGraph& graph : collection_.graphs) look_at(graph);
    for (const ModuleGraph& graph : collection_.graphs) look_at_guards(graph);
    look_at_failures();
    if (!is_known()) throw unknown();
    explanation_.range = dimensions_.range(name_);
    return std::move(explanation_);
  }

 private:
  // Returns whether the expression has the dimension.  `is_size` tells that all its names are dimensions.
  bool mentions(const Expression& expression, bool is_size = true) {
    if (const SymInt* size = expression.size(); size != nullptr && size->is_number()) return false;
    std::string text = expression.text();
    const auto known = mentioned_.find(text);
    if (known != mentioned_.end()) return known->second;
    std::set<std::string> names;
    add_names(expression, names);
    const bool result = names.count(name_) != 0;
    if (is_size) names_.merge(names);
    mentioned_.emplace(std::move(text), result);
    return result;
  }

  void look_at(const ModuleGraph& root) {
    const bool is_first = &root == &collection_.graphs.front();
    for_each_graph(root, [&](const ModuleGraph& graph) {
      for (NodeId id = graph.graph.first(); graph.graph.contains(id); id = graph.graph.next(id)) {
        const Node& node = graph.graph.node(id);
        const bool is_input = node.op == Opcode::kPlaceholder && &graph == &root;
        if (is_input && is_first) look_at_input(node);
        look_at(root.module, graph.graph, node, is_input);
      }
    });
  }

  void look_at_input(const Node& node) {
    if (node.meta->shape) {
      const auto& shape = *node.meta->shape;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        if (mentions(shape[i]))
          explanation_.inputs.push_back({node.name, std::to_string(i), shape[i].text()});
      }
    }
    if (node.meta->value && mentions(*node.meta->value))
      explanation_.inputs.push_back({node.name, "", node.meta->value->text()});
  }

  void look_at(const std::string& root, const Graph& graph, const Node& node, bool is_input) {
    const auto place = [&](std::string text) {
      return Place{root, node.name, node.target, std::move(text), *node.source};
    };
    bool depends = false;
    for_each_size(*node.meta, [&](const Expression& size) {
      if (!mentions(size)) return;
      depends = true;
      const bool is_itself = size.size() != nullptr && size.size()->symbol_name() == name_;
      if (is_input || is_itself || size.size() == nullptr) return;
      std::string text = size.text();
      const auto [known, is_new] = derived_.emplace(text, explanation_.derived.size());
      if (is_new) {
        explanation_.derived.push_back(place(std::move(text)));
      } else {
        ++explanation_.derived[known->second].count;
      }
    });
    if (depends && !is_input) {
      ++explanation_.nodes;
      if (explanation_.inputs.empty() && !explanation_.made_by) explanation_.made_by = place("");
    }
    if (!is_assert(node) || node.args.empty()) return;
    const auto* condition = node.args[0].get_if<NodeId>();
    if (condition == nullptr || !graph.contains(*condition)) return;
    const auto& value = graph.node(*condition).meta->value;
    if (!value || !mentions(*value)) return;
    const bool is_range = node.target->find("constrain_range") != std::string::npos;
    explanation_.asserts.push_back(place(is_range ? print_node(graph, node) : value->text()));
  }

  void look_at_guards(const ModuleGraph& graph) {
    // A guard such as x.size(0) > 1 is about the dimension of x at that place.
    const InputSizes inputs(graph);
    for (const Guard& guard : graph.guards) {
      const Expression over_dimensions = inputs.over_dimensions(guard.expr);
      if (!mentions(over_dimensions, false)) continue;
      assume(over_dimensions);
      explanation_.guards.push_back({graph.module, "", "", guard.expr.text(), guard.source});
    }
  }

  void assume(const Expression& guard) {
    if (guard.kind() == Expression::Kind::kAnd) {
      for (const Expression& part : guard.parts()) {
        if (part.kind() != Expression::Kind::kAnd) assume(part);
      }
      return;
    }
    const auto relation = guard.relation();
    if (relation) dimensions_.assume(*relation, *guard.parts()[0].size(), *guard.parts()[1].size());
  }

  void look_at_failures() {
    for (const ModuleRecord& module : collection_.modules) {
      if (module.status != ModuleStatus::kFailed || module.alias_of || !module.failure) continue;
      const Failure& failure = *module.failure;
      if (has_identifier(failure.message, name_))
        explanation_.questions.push_back({module.path, "", failure.op, failure.message, failure.source});
    }
  }

  bool is_known() const {
    return !explanation_.inputs.empty() || explanation_.nodes > 0 || !explanation_.guards.empty();
  }

  Error unknown() const {
    if (names_.empty()) {
      const std::string option = option_to_name_a_size(collection_, is_identifier(name_) ? name_ : "batch");
      return usage_error("--dim " + shell_word(name_) + ": the model has no named dimensions",
                         {option.empty() ? "all of its sizes are numbers" : option + " gives a size a name"});
    }
    const std::vector<std::string> names(names_.begin(), names_.end());
    constexpr std::size_t kMost = 20;
    const std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost)));
    return usage_error(
        "--dim " + shell_word(name_) + ": the model has no such dimension" + did_you_mean(name_, names),
        {"the dimensions are " + joined(shown, shell_word) + (names.size() > kMost ? ", ..." : "")});
  }

  const GraphCollection& collection_;
  const std::string& name_;
  DimensionExplanation explanation_;
  ShapeEnv dimensions_;
  std::set<std::string> names_;                           // all dimensions
  std::unordered_map<std::string, bool> mentioned_;       // by text of an expression
  std::unordered_map<std::string, std::size_t> derived_;  // by text
};

}  // namespace

DimensionExplanation explain_dimension(const GraphCollection& collection, const std::string& name,
                                       const Range& given) {
  return DimensionExplainer(collection, name, given).run();
}

}  // namespace fxtrace::internal
