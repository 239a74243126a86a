// Records subgraphs of control flow: their bodies, the lists and dicts that these change, and their results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "torchscript/interpreter/record/recording_part.h"

namespace fxtrace::interpreter {

// A list or dict that a subgraph changes in place.
struct ChangedContainer {
  std::string name;
  Value container;
  Value before;  // a copy
  Value after;   // a copy at the end of the subgraph
};

// Of a value that control flow carries; see Subgraphs::carried_argument().
TypePtr carried_type(const TypePtr& type);
bool is_converted(const Type& type);
// What is known of the form in which a value is carried that is known itself.
AbstractValue carried_knowledge(const Type& type, const AbstractValue& known, bool shapes);

class Subgraphs : RecordingPart {
 public:
  // A subgraph that is being recorded.
  struct Body {
    const IrNode* node = nullptr;  // the branch or loop
    std::size_t frame = 0;         // index of the activation that runs it
    Values handed_in = {};         // made for the body, in place of values from outside
    std::optional<std::unordered_set<const void*>> around = {};  // mutable, from outside; made on first use
    std::vector<ChangedContainer> changed = {};                  // containers from outside
  };

  explicit Subgraphs(const RecordingPart& around) : RecordingPart(around) {}

  // Records what `run` does as a subgraph.  Assumptions and knowledge gained inside are dropped at its end.
  GraphTracer::OpenSubgraph record(const std::string& name, const IrBlock& block,
                                   const std::vector<NodeId>& operands, const std::function<void()>& run);
  Body& innermost() { return bodies_.back(); }

  // Throws TraceFailure when the container that is changed in place is, or may be, from outside the subgraph.
  void check_change(const Value& container, const std::string& what, const IrNode* node);
  // Notes a change of a list or dict from outside, whose final value becomes a result of the subgraph.
  void note_change(const Value& container, const std::string& name, const IrNode* node);
  void change(const Value& container, const Value& content, const std::string& name, const IrNode* node);
  // Returns the changes at the end of a subgraph, and restores the containers.
  std::vector<ChangedContainer> take_changes();
  // Notes that the container may be an alias of one of `others`: those of them that are visible outside, and
  // then the container too, may not be changed from now on.
  void may_be_another(const Value& container, const Values& others, const IrNode* node);

  // Control flow of torch carries tensors and integers: a bool is carried as an integer, a float as a tensor
  // of float64.  `known` describes the value. Returns what a subgraph outputs for the value; an input is
  // copied, as torch's control flow requires.
  Argument carried_argument(const Value& value, const TypePtr& type, const AbstractValue& known,
                            const IrNode* node);
  // Returns the value that is carried as the node.
  Value carried_value(NodeId carried, const TypePtr& type, AbstractValue known, const IrNode* node);
  // Returns the value that is result `index` of the node of control flow.
  Value carried_result(NodeId control_flow, std::int64_t index, const TypePtr& type, AbstractValue known,
                       const IrNode* node);

 private:
  bool is_from_around(const Value& container);
  Argument result(const Value& value, const TypePtr& type, const AbstractValue& known, const IrNode* node);
  Argument unread_value(const TypePtr& type, const AbstractValue& known);

  std::vector<Body> bodies_;  // innermost last
  // Lists and dicts that may be another one, or a copy of it, as results of a branch.
  std::unordered_map<const void*, Value> may_be_other_;
};

}  // namespace fxtrace::interpreter
