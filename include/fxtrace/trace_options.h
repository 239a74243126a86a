// Options of a trace, with the meaning that docs/reference/options.md gives those of the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fxtrace/argument.h"

namespace fxtrace {

// A comparison of an attribute of a module with a plain value.
struct Predicate {
  std::string attribute = {};  // the name of the property; which ones there are depends on the rule
  std::string op = {};         // "==", "!=", "<", "<=", ">", ">=" or "in"
  Argument value = {};         // null, bool, number, string or a list of those; for "in", a list
};

// Globs over a module's type (or its public alias) and its qualified name; the last rule that matches a
// module decides whether it is a leaf.
struct LeafRule {
  LeafRule() = default;
  // Reads "TYPE", "@PATH" or "TYPE@PATH".  Throws Error(kUsage).
  LeafRule(const std::string& rule, bool is_leaf = true);  // NOLINT: stands for it
  LeafRule(const char* rule, bool is_leaf = true) : LeafRule(std::string(rule), is_leaf) {}  // NOLINT
  LeafRule(const std::string& rule, const char* is_leaf) = delete;  // which would convert to true

  std::string text = {};  // as the user wrote it, for messages
  std::optional<std::string> type_glob = {};
  std::optional<std::string> path_glob = {};
  std::vector<Predicate> where = {};
  bool leaf = true;
};

struct WrapRule {
  std::string glob = {};  // over a function's qualified name
  bool wrap = true;
};

enum class Hooks { kRun, kSkip };

// The treatment of inputs that control flow depends on and that no other option mentions: they take their
// defaults, or the module fails.
enum class Defaults { kNeeded, kNever };

// The treatment of branches and loops that depend on data: the module fails, or a node with subgraphs is
// recorded.
enum class ControlFlow { kFail, kSubgraph };

// A fixed value of an input of the root, as in torch.fx's concrete_args: None, bools, numbers, strings,
// lists, and dicts with string keys; each kConcretePlaceholder in it remains an input.
struct ConcreteArg {
  std::string name = {};
  Argument value = {};
};
inline constexpr const char* kConcretePlaceholder = "$PH";  // fx.PH

// A dummy input: the known type and shape of an input of the root, or of a part of one.
struct InputSpec {
  std::string name = {};  // "x", "past.0.k", "2" (by position, as Python counts arguments)
  std::string text = {};  // "float32[batch,3,224,224]@cuda:0"; "seq" for an integer
};

// The range of a named dimension; an absent bound is unknown.  Several ranges of one name hold together.
struct DimensionRange {
  std::string name = {};
  std::optional<std::int64_t> low = {}, high = {};  // inclusive
};

// The MACs of an operator: Python over its arguments in0, in1, ... and its results out, out0, ...
struct CustomCost {
  std::string name = {};  // "ns::op" for all overloads, or "ns::op.overload"
  std::string text = {};  // "2*numel(out)*in0.size(-1)"
  bool operator==(const CustomCost&) const = default;
};

struct Limits {
  std::int64_t iterations = 100'000;  // loop iterations and function calls in one module call
  std::int64_t nodes = 200'000;       // nodes and module calls in one graph
  std::int64_t call_depth = 1'000;    // nested module, method and function calls
  bool operator==(const Limits&) const = default;
};

struct TraceOptions {
  std::string method = "forward";
  std::optional<std::string> model = {};  // name of the model in an archive with several exported programs
  bool default_leaves = true;             // modules of torch.nn and torch.ao.nn are leaves, except Sequential
  std::vector<LeafRule> leaf_rules = {};  // in the order given, without default rules
  std::vector<WrapRule> wrap_rules = {};  // likewise
  std::optional<std::int64_t> max_depth = {};
  Hooks hooks = Hooks::kRun;
  ControlFlow control_flow = ControlFlow::kFail;
  std::vector<ConcreteArg> concrete = {};  // for the root's method; the last of a name counts
  std::optional<std::vector<std::string>> input_names = {};  // other inputs take their defaults, or None
  std::vector<InputSpec> inputs = {};                        // likewise
  std::vector<DimensionRange> dimensions = {};
  Defaults defaults = Defaults::kNeeded;
  bool param_shapes_constant = false;
  // Shared libraries that register operators; their code runs in this process, with LibTorch.
  std::vector<std::string> op_libraries = {};
  std::vector<std::string> op_schemas = {};   // "my::op(Tensor x, int n) -> Tensor"
  std::vector<CustomCost> custom_costs = {};  // the last of a name counts
  Limits limits = {};
};

}  // namespace fxtrace
