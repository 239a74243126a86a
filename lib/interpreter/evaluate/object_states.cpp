#include "interpreter/evaluate/object_states.h"

#include "support/error.h"
#include "trace/tracer/trace_failure.h"

namespace fxtrace::internal::interpreter {

void ObjectStates::StateEvaluator::call_operator(const IrNode* node, const FunctionSchema& schema,
                                                 const Values& values) {
  Evaluator::call_operator(node, schema, values);
  if (node->outputs().size() == 1 && is_script_object(*node->output()->type()))
    made.add(frames_.value(node->output()), values);
}

void ObjectStates::set(const Ref<ObjectValue>& object, const Value& state) {
  Function* function = class_of(*object).find_method("__setstate__");
  if (function == nullptr || !function->has_code()) return;
  try {
    evaluator_.follow(*function, {Value(object), state}, nullptr);
  } catch (const TraceFailure&) {
    // The remaining attributes stay without values: only a real run of the code would give them.
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    // Likewise: the state does not fit the code.
  }
  state_.changes.commit();
}

}  // namespace fxtrace::internal::interpreter
