// The recorder of nodes: converts values of the code to arguments, records calls, and describes values by
// expressions.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/state/context.h"
#include "trace/options/condition.h"
#include "trace/tracer/graph_tracer.h"
#include "trace/tracer/guard_expression.h"

namespace fxtrace::interpreter {

// GraphRecorder adds the guards.
class Recording : public Recorder {
 public:
  using Arguments = std::pair<std::vector<Argument>, Kwargs>;

  Recording(Context& context, GraphTracer& its_tracer) : tracer(its_tracer), context_(context) {}

  const Proxy* find_recorded(const Value& value) const final;
  Argument argument(const Value& value, const IrNode* node,
                    NumberMeaning meaning = NumberMeaning::kNumber) final;
  NodeRef call_function(std::string target, std::vector<Argument> args, Kwargs kwargs, const TypePtr& type,
                        const AbstractValue& known, const IrNode* node) final;
  NodeRef call_method(const std::string& method, std::vector<Argument> args, const TypePtr& type,
                      const IrNode* node) final;
  std::string describe(const Value& value) const final;
  std::string what_decides(const Value& value) const final;
  Expression condition_of(const Value& value, bool* over_inputs = nullptr) const final;
  // Returns the length of a list in the same way.
  Expression length_of(const Value& list, bool* over_inputs) const;
  std::optional<std::int64_t> number_of(const Value& value) final;
  bool is_unwritten(const Value& value) const final;
  bool is_given(const Value& value) const final;
  bool in_body() const final { return tracer.in_subgraph(); }
  bool runs_once() const final { return !tracer.in_subgraph(); }
  bool is_in_leaf() const final { return false; }

  // Returns positional and keyword-only arguments, without those at their defaults.  `meaning` gives the
  // meaning of integers.
  Arguments arguments(const FunctionSchema& schema, const Values& values, std::size_t first,
                      const IrNode* node, const std::function<NumberMeaning(std::size_t)>& meaning = nullptr);
  // Returns the arguments of a call of a function or method that has code.
  Arguments call_arguments(Function& function, const Values& values, std::size_t first, const IrNode* node);

  // Returns the answer of `question` about the graph of the node, and spends the budget that it takes.
  template <typename Question>
  auto ask_graph(const NodeRef& about, const Question& question) const {
    constexpr std::size_t kUsersOfUnit = 4;
    const NumberedGraph graph{tracer.graph_of(about), about.graph.index};
    auto answer = question(graph);
    context_.budget.spend(graph.looked_at / kUsersOfUnit);
    return answer;
  }

  GraphTracer& tracer;

 protected:
  Context& context_;

 private:
  GuardSize guard_size() const;
  Argument number_of_attribute(const Proxy& attribute, const IrNode* node);
  Argument argument_part(const Value& value, const IrNode* node, NumberMeaning meaning);
  bool is_default(const torchscript::Constant& literal, const Value& value, const Argument& given,
                  NumberMeaning meaning, const IrNode* node);

  mutable std::size_t guards_length_ = 0;  // characters of all conditions so far
};

}  // namespace fxtrace::interpreter
