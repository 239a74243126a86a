// Guards for what --input and --dim say about inputs.
//
// An answer about a value relies on the facts about all inputs that the value is made from: on those of one
// aspect where the operators in between are known to hand on no other.  Each fact is a guard, once.  Ranges
// of dimensions are facts as well: who has used one is noted where the value is made.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/analysis/dimension_places.h"
#include "opinfo/operator_row.h"
#include "torchscript/interpreter/record/conditions.h"

namespace fxtrace::interpreter {

class InputGuards {
 public:
  InputGuards(Context& context, Recording& recording, Conditions& conditions)
      : context_(context),
        frames_(context.frames),
        recording_(recording),
        tracer_(recording.tracer),
        conditions_(conditions),
        named_(named_dimensions(context.options.inputs)) {}

  // See Recorder.
  void rely_on(const IrNode* node, std::string_view question, const Values& values,
               const AbstractValue& answer, const std::set<std::string>& ranges);
  // Notes that the node was made with what has been asked of dimensions since the last call.
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

  Context& context_;
  Frames& frames_;
  Recording& recording_;
  GraphTracer& tracer_;
  Conditions& conditions_;
  std::vector<std::string> named_;  // the dimensions of inputs
  // By facet: the values whose inputs are guarded already.
  std::array<std::unordered_set<std::uint64_t>, 6> relied_on_;
  std::unordered_map<std::uint64_t, std::set<std::string>> ranges_of_;  // names, by value
  std::optional<DimensionPlaces> places_;
};

}  // namespace fxtrace::interpreter
