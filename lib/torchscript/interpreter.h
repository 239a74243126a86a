// The symbolic interpreter: runs TorchScript graphs on values that may be proxies.  What only sees plain
// values is computed; everything else is recorded.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "costs/cost_log.h"
#include "operators/operators.h"
#include "shapes/abstract_value.h"
#include "torchscript/bound_torchscript_program.h"
#include "torchscript/budget.h"
#include "torchscript/loop_condition.h"
#include "torchscript/names.h"
#include "torchscript/number_meanings.h"
#include "torchscript/root_inputs.h"
#include "torchscript/run.h"
#include "torchscript/torchscript_program.h"
#include "torchscript/value.h"
#include "trace/condition.h"
#include "trace/graph_tracer.h"
#include "trace/journal.h"
#include "trace/recorded_calls.h"

namespace fxtrace::torchscript {

class Interpreter {
 public:
  // What runs tell of each other goes to `bound`.  It and `tracer` may be null for set_state().
  Interpreter(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget,
              BoundTorchScriptProgram* bound, GraphTracer* tracer);

  // Records the graph of a method (see BoundProgram::run).
  void trace(ModuleId root, const std::string& method, bool root_is_leaf);
  // Follows object.__setstate__(state); what cannot be followed leaves attributes without values.
  void set_state(const Ref<ObjectValue>& object, const Value& state);

 private:
  // --- running (interpreter.cpp) ---
  std::map<std::string, Value> plain_inputs(ModuleId root, const Function& function);
  void set_signature(std::vector<GraphSignature::Entry> entries, const FunctionSchema& schema,
                     const Values& values, const std::vector<Argument>& arguments);
  void find_fixable(const FunctionSchema& schema, const RootInputs& inputs,
                    const std::map<std::string, Value>& plain, std::vector<BoundInput>& bound);
  Values run_graph(const IrGraph& graph, const Values& inputs, const std::string& function,
                   const std::vector<bool>& is_concrete = {});
  void run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out = {});
  void run_node(const IrNode* node);
  // Where functions of traced code are looked for: tells of the stack that the nodes from `first` on, which
  // the node made, were recorded under.
  void note_stack(const IrNode* node, std::size_t first);
  const IrGraph* called_method(const IrNode* node) const;
  std::vector<StackFrame> stack_inside(const IrGraph& graph, int depth, int& nodes) const;
  bool run_value_node(const IrNode* node);
  void get_attribute(const IrNode* node);
  void set_attribute(const IrNode* node);
  // `fits`: as many elements are taken as there are.
  Value unpacked_item(const Value& sequence, std::size_t index, const TypePtr& type, const IrNode* node,
                      bool fits = true);
  void unpack(const IrNode* node);
  void construct(const IrNode* node);
  void is_instance(const IrNode* node);
  bool ask_process(const IrNode* node);
  bool compare_identity(const IrNode* node);
  bool compare_tensors(const IrNode* node, const Value& left, const Value& right);

  // --- control flow (control_flow.cpp) ---
  void run_if(const IrNode* node);
  void run_loop(const IrNode* node);
  void raise(const IrNode* node);
  bool assume(const IrNode* node, const Value& condition);
  void leave_out(const IrNode* node, const Value& condition, bool is_and);
  void choose(const IrNode* node, bool branch);
  bool run_both(const IrNode* node);
  // --- control flow as subgraphs (branches.cpp, while_loops.cpp) ---
  // What the turns of a loop hand on to each other.
  struct LoopState {
    // A part of a variable that control flow of torch can carry, or that no turn changes.
    struct Leaf {
      Value before;  // the loop
      bool is_carried = false;
      bool is_guess = false;  // that it has to be
      TypePtr type;
      AbstractValue known;       // in all turns
      std::vector<bool> varies;  // by dimension: another size in each turn
    };
    struct Variable {
      std::string name;
      Value before;
      std::vector<Leaf> leaves;  // as map_leaves() finds them
      Value container = {};      // that has these values, where the loop changes one from around it
    };
    // The number of the turn and the condition, where they are carried; then what the code hands on, in its
    // order; then containers.
    std::vector<Variable> variables;
    bool has_count = false, has_condition = false;

    std::size_t first_of_code() const { return std::size_t{has_count} + std::size_t{has_condition}; }
  };
  // A list or dict that a subgraph changes in place.
  struct ChangedContainer {
    std::string name;
    Value container;
    Value before;  // a copy
    Value after;   // likewise, at the end of the subgraph
  };

  void record_branches(const IrNode* node, const Value& condition);
  void record_while(const IrNode* node);
  LoopState::Variable loop_variable(std::string name, const Value& before, bool changes);
  LoopState loop_state(const IrNode* node, bool has_condition);
  bool record_turn(const IrNode* node, const LoopCondition* condition, LoopState& state);
  std::vector<NodeId> enter_turn(const LoopState& state, Values& variables);
  Argument test_of_turn(const IrNode* node, const LoopCondition* condition, const LoopState& state,
                        const Values& variables);
  bool settles(const IrNode* node, LoopState& state, const Values& results);
  void make_sizes_fresh(const LoopState::Leaf& leaf, AbstractValue& known);
  Argument carried_argument(const Value& value, const LoopState::Leaf& leaf, const IrNode* node);
  Value carried_value(NodeId carried, const TypePtr& type, AbstractValue known, const IrNode* node);
  // The loop's condition as one subgraph, where that is what it is; what was recorded of it before the loop
  // is gone then.
  const LoopCondition* rotated_condition(const IrNode* node);
  Value condition_after(const IrNode* node, const LoopCondition& condition, const Values& results);
  void note_loop_starts(const IrBlock& block, const IrNode* node);
  GraphTracer::OpenSubgraph record_subgraph(const std::string& name, const IrBlock& block,
                                            const std::vector<NodeId>& operands,
                                            const std::function<void()>& run);
  Argument predicate(const IrNode* node, const Value& condition);
  // What a subgraph gives back for the value: what it got is copied, as torch's control flow asks for.
  // `known`: of the result.
  Argument subgraph_result(const Value& value, const TypePtr& type, const AbstractValue& known,
                           const IrNode* node);
  // Stands for a variable that is not set.
  Argument unread_value(const TypePtr& type, const AbstractValue& known);
  // That both ways of a branch, or all turns of a loop, have in common.
  Value combined(const Value& first, const Value& second, const std::string& name, const IrNode* node,
                 const std::function<Value(const Value&, const Value&)>& on_difference);
  AbstractValue merged(const Value& first, const Value& second);
  void may_be_another(const Value& container, const Values& others, const IrNode* node);
  bool is_from_around(const Value& container);
  // Fails when what is changed in place is from around the subgraph that is being recorded, or may be.
  void check_change(const Value& container, const std::string& what, const IrNode* node);
  // A list or dict from around: what becomes of it is a result of the subgraph.
  void note_change(const Value& container, const std::string& name, const IrNode* node);
  void change(const Value& container, const Value& content, const std::string& name, const IrNode* node);
  // At the end of a subgraph: the containers are again as they were before.
  std::vector<ChangedContainer> take_changes();

  // --- calls (calls.cpp) ---
  void call_method(const IrNode* node);
  void call_function(const IrNode* node);
  Value call_module(ModuleId module, Function& forward, Values arguments, const IrNode* node);
  Value call_graph_function(Function& function, const Values& arguments, const IrNode* node);
  bool follow_call(ModuleId module, const std::function<void()>& body);
  const IrNode* run_hooked_call(const IrNode* first);
  Value call_abstractly(Function& function, const Values& arguments, const IrNode* node);
  bool skip_hook(Function& function, const Values& arguments, const IrNode* node);
  Values run_root(ModuleId root, Function& function, Values arguments);
  void context_manager(const IrNode* node, bool enter);
  void switch_autocast(const ObjectValue& manager, const IrNode* node, bool enter);

  // --- operators (operators of the graph: record.cpp) ---
  void run_operator(const IrNode* node);
  void execute(const IrNode* node, Values values);
  bool is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values);
  void record(const IrNode* node, const FunctionSchema& schema, const Values& values);
  bool record_container_change(const IrNode* node, const FunctionSchema& schema, const Values& values,
                               const AbstractValue& result);
  bool record_in_python(const IrNode* node, const FunctionSchema& schema, const Values& values);
  Value formatted(const Values& values, const IrNode* node);
  void set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                    std::vector<AbstractValue> known);
  NumberMeaning compared_meaning(const IrNode* node, const Values& values);
  Value attribute(const ObjectValue& object, const std::string& name, const TypePtr& type,
                  const IrNode* node);
  // --- shapes (shapes.cpp) ---
  // What a function gives for these arguments, without recording anything, and what that costs, where shapes
  // are known.  `name`: of what is called, for what cannot be followed.
  struct Outcome {
    AbstractValue result;
    std::optional<Cost> cost;
  };
  Outcome result_of(Function& function, const Values& arguments, const std::string& name);
  // Its proxies have no nodes; nothing when the function cannot be followed.
  std::optional<Value> run_abstractly(Function& function, const Values& arguments, CostLog* costs = nullptr);
  // What is known of the inputs of a submodule's own graph: that of its call in another one.
  void use_call(ModuleId root, std::vector<BoundInput>& inputs);
  // Turns a list or dict made while tracing into one that the graph makes: what happens to it from now on
  // depends on an input.  Every name it goes by sees that.
  void materialize(const Value& container, const IrNode* node);

  // A subgraph that is being recorded.
  struct Body {
    const IrNode* node = nullptr;  // the branch or loop
    std::size_t frame = 0;         // that runs it
    Values handed_in;              // made for the body, in the place of values from around
    std::optional<std::unordered_set<const void*>> around;  // that can change; found when asked for
    std::vector<ChangedContainer> changed;                  // of those
  };

  Run run_;
  std::unordered_set<const IrNode*> open_calls_;  // of forward, whose hooks have begun the module's call
  std::vector<Body> bodies_;                      // of subgraphs that are open, innermost last
  // Lists and dicts that may be another one, or a copy of it: two ways of a branch made one of them.
  std::unordered_map<const void*, Value> may_be_other_;
  std::unordered_map<const IrNode*, std::optional<LoopCondition>> loop_conditions_;
  std::unordered_map<const IrBlock*, std::unordered_map<const IrNode*, std::vector<const IrNode*>>>
      loop_starts_;                 // by block: loops whose condition begins to be worked out at the node
  std::int64_t nodes_in_vain_ = 0;  // made by attempts at loops that were taken back

  std::optional<RecordedCalls> recorded_calls_;  // where rules keep functions
  std::int64_t abstract_nodes_ = 0;              // run in Mode::kAbstract, all together
};

}  // namespace fxtrace::torchscript
