// Guards for the facts that --input and --dim give about inputs.
//
// Shapes that --input gives are in the meta of each node and need no guard.  But where an answer about them
// is used as a plain value (a branch was chosen, a loop unrolled, a size became a number), the graph is wrong
// for other inputs.  rely_on() is called for each such answer.  It walks back from the values that the
// question was about to the inputs that they are made from, and writes a guard for each fact about these that
// the answer may depend on.
//
// A fact has a facet (opinfo/operator_row.h): the rank, a size, the dtype, the device, whether a gradient is
// required.  The walk keeps the facet as long as the operators that it passes are known to make that of their
// results from that of their arguments (facets_before()).  So x.relu().dim() relies on the rank of x, and not
// on its sizes.
//
// Invariants:
//
// 1. Each fact is one guard, under Conditions::assume_fact(): it is undone and written again with what is
//    assumed.
// 2. relied_on_ has, by facet, the values from which the walk was done already, and ranges_of_ the dimensions
//    whose ranges were used to infer a value.  Both go by node, so a rollback, after which ids are used
//    again, forgets relied_on_ and ranges_of_ whole (forget_nodes()).
// 3. Guards are over inputs of the graph itself, also where a body of control flow asks.  The walk leaves a
//    subgraph through the values that it captured; an input that stands for no such value, as a carried one,
//    relies on all inputs.
// 4. The range of a dimension is guarded as --dim declares it, if an answer or a value on the way has used
//    it.
// 5. If a write may have changed gradients, an answer about a gradient relies on that of all inputs.
//
// Example, with --input x=float32[4,n] --dim n=2..8:
//
//   y = x.relu()
//   if y.dim() == 2: ...     relies on the rank of y.  relu keeps the rank: guard x.dim() == 2
//   if y.size(1) > 1: ...    `n > 1` is decided by n in 2..8: guards n >= 2, n <= 8, n > 1.  The size is
//                            made from the sizes of x: guard x.size(0) == 4.  x.dim() == 2 is there already
//   if y.size(0) == 4: ...   relies on the sizes of y: all guarded already
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/analysis/input_sizes.h"
#include "interpreter/record/conditions.h"
#include "opinfo/operator_row.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal::interpreter {

class InputGuards {
 public:
  // `tracer` is null where nothing is recorded.
  InputGuards(RunState& state, Recorder& recorder, GraphTracer* tracer, Conditions& conditions)
      : state_(state),
        frames_(state.frames),
        recorder_(recorder),
        tracer_(tracer),
        conditions_(conditions),
        named_(named_dimensions(state.run.options.inputs)) {}

  // See Recorder::rely_on().
  void rely_on(const IrNode* node, std::string_view question, const Values& values,
               const AbstractValue& answer, const std::set<std::string>& ranges);
  // Notes that the node was inferred with the ranges of dimensions that were used since the last call.
  void note_made(const NodeRef& node);
  // Forgets all nodes, after a rollback whose ids may be reused.
  void forget_nodes();

 private:
  void guard(Expression condition, const IrNode* node, GuardReason reason, std::string assumption = {});
  const DimensionPlaces& places();
  void assume_ranges(const std::set<std::string>& names, const IrNode* node);
  Range declared_range(const std::string& name) const;
  bool asks_one_size(const NodeRef& at, const IrNode* node);
  void rely_on_parts(const Value& value, std::set<std::string>& symbols, const IrNode* node);
  bool is_of_inputs(const SymInt& size) const;
  void rely_on_relation(Relation relation, const SymInt& left, const SymInt& right, const IrNode* node);
  void rely_on_tensor(const IrNode* node, std::string_view question, const Values& values,
                      const Proxy& tensor);
  void assume_inputs_of(const NodeRef& value, Facet facet, const IrNode* node);
  void follow_number(const NodeRef& at, std::vector<NodeRef>& pending, const IrNode* node);
  void assume_all_inputs(Facet facet, const IrNode* node);
  void assume_facet(NodeId input, Facet facet, const IrNode* node);
  void assume_fact(NodeId input, Facet facet, std::int64_t index, const IrNode* node);

  RunState& state_;
  Frames& frames_;
  Recorder& recorder_;
  GraphTracer* const tracer_;
  Conditions& conditions_;
  std::vector<std::string> named_;  // the names of the dimensions of inputs
  // The values whose inputs are guarded already, by facet.
  std::array<std::unordered_set<std::uint64_t>, 6> relied_on_;
  std::unordered_map<std::uint64_t, std::set<std::string>> ranges_of_;  // names, by value
  std::optional<DimensionPlaces> places_;
};

}  // namespace fxtrace::internal::interpreter
