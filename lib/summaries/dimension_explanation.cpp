// Dimension explanation (explanation.h): finds the inputs, nodes, guards and failures of a collection that
// mention a dimension, and its range as the guards narrow it.
#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "graph/analysis/described_inputs.h"
#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "graph/each_graph.h"
#include "opinfo/traits.h"
#include "summaries/explanation.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/nearest.h"
#include "support/text/shell_word.h"
#include "support/text/words.h"

namespace fxtrace::internal {
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
