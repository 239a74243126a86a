#include "exported/modules/gathered_calls.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "exported/modules/call_graph.h"
#include "exported/program/stack_trace.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "symbolic/affine.h"

namespace fxtrace::internal {
namespace {

// The number of steps in all windows together; beyond it, calls stay split where they are.
constexpr std::size_t kMaxWork = 20'000'000;

class Scheduler {
 public:
  explicit Scheduler(const ProgramView& graph)
      : graph_(graph), effects_(graph.graph().id_count()), mark_(graph.graph().id_count(), 0) {}

  std::vector<Step> run(const std::function<std::optional<CallId>(NodeId)>& leaf_of) {
    std::vector<CallId> scattered;
    for (const NodeId operation : graph_.operations()) {
      effects_[operation.index] = effect_of(graph_, operation);
      const auto leaf = leaf_of(operation);
      if (leaf && !steps_.empty() && steps_.back().leaf == leaf) {
        steps_.back().operations.push_back(operation);
        continue;
      }
      if (leaf) {
        const auto [place, is_new] = places_.emplace(*leaf, Place{steps_.size(), steps_.size(), false});
        place->second.last = steps_.size();
        if (!is_new && !std::exchange(place->second.scattered, true)) scattered.push_back(*leaf);
      }
      steps_.push_back({leaf, {operation}});
      free_.push_back(!graph_.facts(operation).has_stack);
    }
    // Each gathering keeps the steps in a valid order, and only moves them between its first and last step.
    for (const CallId call : scattered) {
      const Place place = places_.at(call);
      work_ += place.last + 1 - place.first;
      if (work_ <= kMaxWork) gather(call, place.first, place.last + 1);
    }
    std::vector<Step> result;
    result.reserve(steps_.size());
    for (Step& step : steps_) {
      if (step.operations.empty()) continue;
      // Whatever moved around it, a call's own operations run in program order.
      std::sort(step.operations.begin(), step.operations.end());
      result.push_back(std::move(step));
    }
    return result;
  }

 private:
  Effect effect(const Step& step) const {
    Effect result = Effect::kSymbolic;
    for (const NodeId operation : step.operations) result = std::max(result, effects_[operation.index]);
    return result;
  }

  static bool commute(Effect a, Effect b) {
    if (a == Effect::kSymbolic || b == Effect::kSymbolic) return true;
    if (a == Effect::kWrites || b == Effect::kWrites) return false;
    return a == Effect::kPure || b == Effect::kPure;
  }

  bool uses(const Step& step, std::uint32_t mark) const {
    bool found = false;
    for (const NodeId operation : step.operations) {
      for_each_input(graph_.node(operation),
                     [&](NodeId value) { found = found || mark_[value.index] == mark; });
    }
    return found;
  }
  void mark_made(const Step& step, std::uint32_t mark) {
    for (const NodeId operation : step.operations)
      graph_.for_each_result(operation, [&](NodeId value) { mark_[value.index] = mark; });
  }

  // Gathers the steps of `call` in [begin, end); see gathered_calls.h.
  void gather(CallId call, std::size_t begin, std::size_t end) {
    std::vector<Step> ordered;  // the steps whose order is settled
    std::vector<bool> ordered_free;
    std::vector<std::size_t> later;  // steps that go behind the call
    Step part{call, {}};
    Effect part_effect = Effect::kSymbolic;
    Effect later_effect = Effect::kSymbolic;
    std::uint32_t part_mark = ++last_mark_;
    std::uint32_t later_mark = ++last_mark_;

    const auto settle = [&] {
      if (!part.operations.empty()) {
        ordered.push_back(std::move(part));
        ordered_free.push_back(false);
      }
      for (const std::size_t at : later) {
        ordered.push_back(std::move(steps_[at]));
        ordered_free.push_back(free_[at]);
      }
      later.clear();
      part = {call, {}};
      part_effect = later_effect = Effect::kSymbolic;
      part_mark = ++last_mark_;
      later_mark = ++last_mark_;
    };
    const auto take = [&](Step& step, Effect step_effect) {
      mark_made(step, part_mark);
      part.operations.insert(part.operations.end(), step.operations.begin(), step.operations.end());
      part_effect = std::max(part_effect, step_effect);
    };

    for (std::size_t at = begin; at < end; ++at) {
      Step& step = steps_[at];
      if (step.operations.empty()) continue;
      const Effect step_effect = effect(step);
      const bool needs_later = uses(step, later_mark);
      if (step.leaf == call) {
        if (needs_later || !commute(step_effect, later_effect)) settle();
        take(step, step_effect);
        continue;
      }
      const bool needs_part = uses(step, part_mark);
      if (free_[at] && needs_part && !needs_later && commute(step_effect, later_effect)) {
        take(step, step_effect);
      } else if (!needs_part && !needs_later && commute(step_effect, part_effect) &&
                 commute(step_effect, later_effect)) {
        ordered.push_back(std::move(step));
        ordered_free.push_back(free_[at]);
      } else {
        mark_made(step, later_mark);
        later_effect = std::max(later_effect, step_effect);
        later.push_back(at);
      }
    }
    settle();
    for (std::size_t i = 0; begin + i < end; ++i) {
      const bool left = i < ordered.size();
      steps_[begin + i] = left ? std::move(ordered[i]) : Step{};
      free_[begin + i] = left && ordered_free[i];
    }
    update_places(begin, end);
  }

  // Corrects places_ after steps have moved between `begin` and `end`.
  void update_places(std::size_t begin, std::size_t end) {
    ++last_update_;
    for (std::size_t at = begin; at < end; ++at) {
      if (!steps_[at].leaf) continue;
      Place& place = places_.at(*steps_[at].leaf);
      const bool is_first_here = std::exchange(place.updated, last_update_) != last_update_;
      if (is_first_here && place.first >= begin) place.first = at;
      if (place.last < end) place.last = at;
    }
  }

  // The positions of the first and the last step of a call.
  struct Place {
    std::size_t first, last;
    bool scattered;  // the call has several steps
    std::size_t updated = 0;
  };

  const ProgramView graph_;
  std::vector<Effect> effects_;  // by operation
  std::vector<Step> steps_;
  std::unordered_map<CallId, Place> places_;
  std::vector<bool> free_;           // by step: it is one operation that belongs to no module
  std::vector<std::uint32_t> mark_;  // by value: the last mark that mark_made() gave it
  std::uint32_t last_mark_ = 0;
  std::size_t last_update_ = 0;
  std::size_t work_ = 0;
};

}  // namespace

std::vector<Step> schedule(const ProgramView& graph,
                           const std::function<std::optional<CallId>(NodeId)>& leaf_of) {
  return Scheduler(graph).run(leaf_of);
}

namespace {

// Returns whether all tensors that the operation writes to are such that operations of the call have made in
// memory of their own.
bool writes_own(const ProgramView& graph, NodeId operation,
                const std::unordered_map<std::uint32_t, NodeId>& makers) {
  bool writes = false, is_own = true;
  for_each_handed_on(graph, operation, [&](NodeId, NodeId argument) {
    writes = true;
    const auto maker = makers.find(argument.index);
    const Operator* op = maker == makers.end() ? nullptr : graph.facts(maker->second).op;
    is_own = is_own && maker != makers.end() &&
             ((op != nullptr && entry_of(*op).aliases.empty()) || writes_own(graph, maker->second, makers));
  });
  return writes && is_own;
}

// Returns whether the number can be computed from sizes of these tensors.
bool follows_from(const Meta& number, const std::vector<NodeId>& tensors, const ProgramView& graph) {
  const SymInt* size = number.value ? number.value->size() : nullptr;
  std::vector<SymInt> known;
  for (const NodeId value : tensors) {
    for (const Expression& dim : graph.meta(value).shape.value_or(std::vector<Expression>())) {
      if (dim.size() != nullptr) known.push_back(*dim.size());
    }
  }
  return size != nullptr && find_source(*size, known).has_value();
}

}  // namespace

bool KeptFunctions::is_of_torch(CallId call) const {
  return program_.modules()[program_.hierarchy().calls()[call].module.index].type.starts_with("torch.");
}

std::size_t KeptFunctions::forwards(CallId call) const {
  std::size_t count = 1;  // the root's
  for (; call != kRootCall; call = program_.hierarchy().calls()[call].parent)
    count += is_of_torch(call) ? 0 : 1;
  return count;
}

std::vector<StackFrame> KeptFunctions::stack_of(const ProgramView& graph, NodeId operation) {
  std::vector<StackFrame> stack = frames(graph.facts(operation).stack_trace.view());
  // An operator with a subgraph but without a trace has the frames of the subgraph's operations.
  graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
    if (!stack.empty()) return;
    for (const NodeId inner : body.operations()) {
      stack = stack_of(body, inner);
      if (!stack.empty()) break;
    }
  });
  has_seen_strict_ = has_seen_strict_ ||
                     std::ranges::any_of(stack, [](const StackFrame& frame) { return frame.column >= 0; });
  // Frames around the model, and of what torch has made of the program later, are left out.
  std::erase_if(stack, [](const StackFrame& frame) {
    return frame.file.starts_with("<eval_with_key>") ||
           frame.file.ends_with("torch/_dynamo/functional_export.py") ||
           frame.file.ends_with("torch/fx/passes/runtime_assert.py");
  });
  has_seen_function_ = has_seen_function_ || std::ranges::any_of(stack, [](const StackFrame& frame) {
                         return frame.function != "forward";
                       });
  return stack;
}

std::vector<KeptCall> KeptFunctions::find_calls(const ProgramView& graph,
                                                const std::vector<std::uint32_t>& uses,
                                                const std::function<CallId(NodeId)>& leaf_of,
                                                const std::function<bool(NodeId)>& is_own) {
  using enum RecordedFunctions::StepKind;
  const std::vector<NodeId> operations = graph.operations();
  std::vector<RecordedFunctions::Place> places(operations.size());
  std::vector<RecordedFunctions::Step> steps(operations.size());
  std::unordered_map<std::uint32_t, std::size_t> makers;  // by value: the operation
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const NodeId operation = operations[i];
    const Node& node = graph.node(operation);
    const ProgramNode& facts = graph.facts(operation);
    RecordedFunctions::Step& step = steps[i];
    step.target = *node.target;
    step.module_call = facts.call;
    step.constants = constants_of(node, has_trait(facts.op, traits::kPointwise));
    const std::vector<StackFrame> stack = stack_of(graph, operation);
    if (facts.has_stack && !stack.empty()) {
      places[i] = functions_.place_in_export(stack);
      step.place = &places[i];
    }
    const CallId leaf = facts.has_stack ? leaf_of(operation) : kRootCall;
    if (leaf != kRootCall) {
      step.kind = kModule;
      // Functions that a leaf calls are not kept.
      if (places[i].forwards > forwards(program_.hierarchy().calls()[leaf].parent))
        places[i].function.clear();
      places[i].is_of_module = true;
    } else if (graph.count_subgraphs(operation) > 0) {
      step.kind = kRegion;
    } else if (effect_of(graph, operation) == Effect::kSymbolic) {
      step.kind = kNumber;
    } else {
      places[i].is_of_module = places[i].is_of_module || is_of_torch(facts.call);
    }
    for_each_input(node, [&](NodeId value) {
      if (const auto maker = makers.find(value.index); maker != makers.end())
        step.uses.push_back(maker->second);
    });
    graph.for_each_result(operation, [&](NodeId value) { makers.emplace(value.index, i); });
    if (step.kind != kOperation || effect_of(graph, operation) != Effect::kWrites) continue;
    std::unordered_map<std::uint32_t, NodeId> of_call;
    for_each_input(node, [&](NodeId value) {
      for (auto maker = makers.find(value.index); maker != makers.end();) {
        if (places[maker->second].key != places[i].key ||
            !of_call.emplace(value.index, operations[maker->second]).second)
          break;
        for_each_handed_on(graph, operations[maker->second],
                           [&](NodeId, NodeId argument) { value = argument; });
        maker = makers.find(value.index);
      }
    });
    if (!writes_own(graph, operation, of_call)) step.kind = kWrite;
  }

  std::vector<KeptCall> calls;
  for (const RecordedFunctions::Call& found : functions_.find_calls(steps, followed_)) {
    KeptCall call{found.place->function, found.place->caller, {}, {}};
    for (const std::size_t step : found.steps) call.operations.push_back(operations[step]);
    call.boundary = boundary_of(graph, call.operations, uses, is_own);
    const auto meta = [&](NodeId value) -> const Meta& { return graph.meta(value); };
    const auto gives_number = [&](NodeId value) { return is_size(meta(value)); };
    if (std::ranges::any_of(call.boundary.leaving, gives_number)) {
      followed_.add(*found.place, {"a number that it computes is used outside of it"});
      continue;
    }
    if (call.boundary.leaving.empty()) continue;  // nobody uses it
    const std::vector<NodeId> entering = call.boundary.entering;
    std::erase_if(call.boundary.entering, [&](NodeId value) {
      return is_size(meta(value)) && follows_from(meta(value), entering, graph);
    });
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace fxtrace::internal
