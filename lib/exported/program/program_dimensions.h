// The named dimensions of an exported program: their ranges, narrowed by --dim, --input and --concrete.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "graph/analysis/input_sizes.h"
#include "graph/graph_collection.h"
#include "symbolic/expression.h"
#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// A constraint of the program on a size: "s77" is in 2..64.
struct RangeConstraint {
  Expression expr;
  Range range;
};

class ProgramDimensions {
 public:
  // `graph` is not kept.
  ProgramDimensions(std::vector<RangeConstraint> constraints, const ProgramView& graph);

  // Applies --dim, --input, and --concrete for integer inputs.  Throws Error(kUsage) for an unknown dimension
  // or input, for one of another type, and for a range or number outside the program's range.
  void narrow(const TraceOptions& options, const ProgramView& graph, const GraphSignature& signature);
  bool are_narrowed() const { return !asked_.empty(); }
  // Applies the narrowed ranges to the graph and the subgraphs of its operators: simplifies sizes and
  // integers, sets ProgramTable::fixed for values with one possibility left, and ProgramNode::holds for
  // asserts that always hold.  Throws Error(kUsage) when an assert can no longer hold.
  void apply(ExportedGraph& graph);

  // Returns the remaining ranges as guards: 2 <= s77 <= 64, or 4 <= x.size(0) <= 128 where s77*2 is the only
  // size with this dimension.
  std::vector<Expression> guards(const InputSizes& inputs) const;
  // Returns the ranges of all dimensions.
  std::vector<std::pair<std::string, Range>> ranges() const { return known_.ranges(); }
  // Returns whether the ranges imply the condition: s77 >= 2.
  bool implies(const Expression& condition) const { return decide(known_, condition) == true; }
  // Returns a warning for each dimension with a number outside of the program's range
  // (TraceOptions::beyond_ranges).
  std::vector<Diagnostic> warnings() const;
  // Returns all dimensions with their ranges for messages: "s77 (2..64), u0 (0..)".
  std::string list() const;

 private:
  void add_names(const ModuleGraph& graph);
  void add_name(const std::string& name, const Range& known, const Range& given);
  void narrow(const std::string& name, const Range& range, const std::string& option);
  void fix(const Expression& expr, std::int64_t number, const std::string& option);
  void narrow_by_input(const InputSpec& spec, const ProgramView& graph, const GraphSignature& signature);

  void check_asserts(const ProgramView& graph) const;
  std::optional<Argument> apply_to(Meta& meta);
  bool holds(const Node& operation, const Graph& graph) const;
  Expression narrowed(const Expression& value);
  static std::optional<bool> decide(const ShapeEnv& dimensions, const Expression& condition);

  std::vector<RangeConstraint> constraints_;
  std::vector<RangeConstraint> asked_;           // the constraints of the options
  std::vector<std::string> names_;               // all dimensions; those of the inputs first
  std::unordered_set<std::string> known_names_;  // the same names
  // `known_` has all constraints, `given_` only those of inputs and options.  They differ in data-dependent
  // sizes, whose ranges come from asserts: an assert must not be used to prove itself.
  ShapeEnv known_, given_;
  std::unordered_map<std::string, Expression> narrowed_;  // by text
  bool may_leave_ranges_ = false;
  std::map<std::string, SymInt> beyond_;  // numbers outside of the ranges, by dimension
};

}  // namespace fxtrace::internal
