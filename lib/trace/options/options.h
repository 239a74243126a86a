// Trace options: the plain values that the command line and configurations set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/argument.h"
#include "graph/graph_collection.h"
#include "trace/options/predicate.h"

namespace fxtrace::internal {

// "TYPE", "@PATH" or "TYPE@PATH": globs over the module's type (or its public alias) and its qualified name.
struct LeafRule {
  std::string text;  // as the user wrote it
  std::optional<std::string> type_glob;
  std::optional<std::string> path_glob;
  std::vector<Predicate> where;
  bool leaf = true;
};

struct WrapRule {
  std::string glob;  // over a function's qualified name
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
  std::string name;
  Argument value;
};
inline constexpr const char* kConcretePlaceholder = "$PH";  // fx.PH

// A dummy input: the known type and shape of an input of the root, or of a part of one.
struct InputSpec {
  std::string name;  // "x", "past.0.k", "2" (by position, as Python counts arguments)
  std::string text;  // "float32[batch,3,224,224]"; see trace/options/input_spec.h
};

// The range of a named dimension; an absent bound is unknown.  Several ranges of one name hold together.
struct DimensionRange {
  std::string name;
  std::optional<std::int64_t> low, high;  // inclusive
};

struct Limits {
  std::int64_t iterations = 100'000;  // loop iterations and function calls in one module call
  std::int64_t nodes = 200'000;       // nodes and module calls in one graph
  std::int64_t call_depth = 1'000;    // nested module, method and function calls
  bool operator==(const Limits&) const = default;
};

// Classes and operators that libraries of custom operators register.
struct RegisteredOperators {
  struct Method {
    std::string class_name;  // "__torch__.torch.classes.pkg.Class"
    std::string schema;      // "method(__torch__.torch.classes.pkg.Class self, int n) -> int"
  };
  std::vector<std::string> schemas;  // "pkg::op(Tensor x) -> Tensor"; known operators may be among them
  std::vector<Method> methods;
};

struct TraceOptions {
  std::string method = "forward";
  std::optional<std::string> model;  // name of the model in an archive with several exported programs
  bool default_leaves = true;
  // Functions of torch.nn.functional and torch.functional stay one call.  Not in the JSON.
  bool default_wrap = true;
  std::vector<LeafRule> leaf_rules;  // in the order given, without default rules
  std::vector<WrapRule> wrap_rules;  // likewise
  std::optional<std::int64_t> max_depth;
  Hooks hooks = Hooks::kRun;
  ControlFlow control_flow = ControlFlow::kFail;
  std::vector<ConcreteArg> concrete;                    // for the root's method; the last of a name counts
  std::optional<std::vector<std::string>> input_names;  // other inputs take their defaults, or None
  std::vector<InputSpec> inputs;                        // likewise
  std::vector<DimensionRange> dimensions;
  // Dimensions of an exported program may be 0 or 1, though torch.export assumes 2 or more for all of them:
  // for costs and pictures.  Not in the JSON.
  bool beyond_ranges = false;
  Defaults defaults = Defaults::kNeeded;
  bool grad = true;  // the answer when the code asks whether gradients are enabled.  Not in the JSON
  bool param_shapes_constant = false;
  std::vector<std::string> op_libraries;
  RegisteredOperators registered;  // registered by op_libraries; open_libraries() fills it
  std::vector<std::string> op_schemas;
  std::vector<CustomCost> custom_costs;  // the last of a name counts
  Limits limits;
};

}  // namespace fxtrace::internal
