// The named dimensions of an exported program: their ranges, and what --dim and --concrete make of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "exported/program_graph.h"
#include "graph/graph_collection.h"
#include "symbolic/expression.h"
#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"
#include "trace/options.h"

namespace fxtrace {

// The program's own word on a size: "s77" is in 2..64.
struct RangeConstraint {
  Expression expr;
  Range range;
};

class ProgramDimensions {
 public:
  // `graph` is only read here.
  ProgramDimensions(std::vector<RangeConstraint> constraints, const ProgramGraph& graph);

  // --dim, and --concrete for integers of the inputs.  Throws Error(kUsage) for a dimension that the program
  // does not have, and for a range or number that has nothing in common with the program's range.
  void narrow(const TraceOptions& options, const ProgramGraph& graph, const GraphSignature& signature);
  bool are_narrowed() const { return !asked_.empty(); }
  // Puts what narrow() left into the graph and the subgraphs of its operators: sizes and integers in fewer
  // words, values of which one remains as ProgramValue::fixed, asserts that hold as Operation::holds.  Throws
  // Error(kUsage) when an assert cannot hold any more.
  void apply(ProgramGraph& graph);

  // 2 <= s77 <= 64, within what narrow() left.
  std::vector<Expression> guards() const;
  // Whether the ranges say that already: s77 >= 2.
  bool says(const Expression& condition) const { return decide(known_, condition) == true; }
  // "s77 (2..64), u0 (0..)"
  std::string list() const;

 private:
  void add_names(const ProgramGraph& graph);
  void add_name(const std::string& name, const Range& known, const Range& given);
  void narrow(const std::string& name, const Range& range, const std::string& option);
  void fix(const Expression& expr, std::int64_t number, const std::string& option);

  void check_asserts(const ProgramGraph& graph) const;
  void apply_to(ProgramValue& value);
  bool holds(const Operation& operation, const ProgramGraph& graph) const;
  Expression narrowed(const Expression& value);
  static std::optional<bool> decide(const ShapeEnv& dimensions, const Expression& condition);

  std::vector<RangeConstraint> constraints_;
  std::vector<RangeConstraint> asked_;           // by options
  std::vector<std::string> names_;               // of all dimensions; those of the inputs first
  std::unordered_set<std::string> known_names_;  // the same
  // All that is known, and what the inputs and the options say.  They differ in sizes that depend on data:
  // the program knows those from asserts, which must not prove themselves.
  ShapeEnv known_, given_;
  std::unordered_map<std::string, Expression> narrowed_;  // by text
};

}  // namespace fxtrace
