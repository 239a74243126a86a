#include "interpreter/graph/interpreter.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "interpreter/program/python_values.h"
#include "interpreter/state/abstract.h"
#include "support/error.h"
#include "support/restore.h"

namespace fxtrace::internal::interpreter {
namespace {

// Declares the symbols of sizes from another graph, so that no new size gets one of them.
void reserve_names(const AbstractValue& known, ShapeEnv& dimensions) {
  const auto reserve = [&](const SymInt& size) {
    for (const std::string& name : size.symbols()) dimensions.narrow(name, dimensions.range(name));
  };
  if (const TensorInfo* info = known.tensor()) std::ranges::for_each(info->sizes, reserve);
  if (const SymInt* integer = known.integer()) reserve(*integer);
  if (const auto* items = known.sequence()) {
    for (const AbstractValue& item : *items) reserve_names(item, dimensions);
  }
  if (const auto* dict = known.dict()) {
    for (const AbstractValue& item : dict->values) reserve_names(item, dimensions);
  }
}

// Returns whether nothing but tensors, in any containers, is known.
bool is_of_tensors(const AbstractValue& known) {
  if (const auto* items = known.sequence()) return std::ranges::all_of(*items, is_of_tensors);
  if (const auto* dict = known.dict()) return std::ranges::all_of(dict->values, is_of_tensors);
  return known.is_unknown() || known.tensor() != nullptr;
}

Function& method_of(const ObjectValue& object, const std::string& name) {
  return name == "forward" ? *find_forward(class_of(object)) : *class_of(object).get_method(name);
}

Run run_of(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget, ModuleId root,
           const FunctionSchema& schema, bool needs_shapes) {
  Run run{program, options, budget, root};
  // Without tensors among the inputs, all shapes are known that --input could tell.
  const bool takes_tensors = std::any_of(schema.arguments.begin() + 1, schema.arguments.end(),
                                         [](const auto& formal) { return may_hold_tensor(*formal.type); });
  run.shapes = run.shapes || needs_shapes || !takes_tensors;
  return run;
}

}  // namespace

Interpreter::Interpreter(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget,
                         Findings& findings, GraphTracer& tracer, ModuleId root, const std::string& method)
    : object_(program.object(root)),
      method_(method),
      function_(method_of(*object_, method)),
      schema_(function_.schema()),
      run_(run_of(program, options, budget, root, schema_, findings.state_of(root).needs_shapes)),
      findings_(findings),
      tracer_(tracer) {}

void Interpreter::trace(bool root_is_leaf) {
  findings_.calls.forget(run_.root, 0);
  Values values{Value(object_)};
  std::vector<Argument> arguments;
  const std::map<std::string, Value> plain = plain_inputs();
  RootInputs inputs(recorder_, schema_, plain);
  std::vector<BoundInput> bound = inputs.bind();
  recorder_.has_concrete = inputs.options_give_values();
  find_fixable(inputs, plain, bound);
  if (run_.root.index != 0 && is_forward(method_)) use_call(bound);
  for (auto& [value, given] : bound) {
    arguments.push_back(given ? std::move(*given) : recorder_.argument(value, nullptr));
    values.push_back(std::move(value));
  }
  set_signature(inputs.entries(), values, arguments);
  const Values open = recorder_.has_concrete ? open_values(inputs, values) : Values();
  const TypePtr result_type = schema_.results.empty() ? none_type() : schema_.results[0];
  if (root_is_leaf) {
    for (const Value& value : values) recorder_.note_key_order(value);
    auto [known, cost, inner] =
        evaluator_.abstract_calls().result_of(function_, values, run_.type_of(run_.root));
    const Meta result_meta = meta_of(result_type, known);
    // This run sees the calls of submodules, which describe the inputs of the graphs of these.
    if (!run_.shapes && tracer_.has_failed(run_.root)) evaluator_.abstract_calls().run(function_, values);
    const NodeId call =
        tracer_.call_root(std::move(arguments), result_meta, method_ == "forward" ? "" : method_);
    if (cost) tracer_.set_cost(call, *std::move(cost));
    if (run_.shapes && !known.is_unknown()) tracer_.module_gives(run_.root, tensors_in(known));
    tracer_.output(call, result_meta);
    run_open(open);
    return;
  }
  try {
    const Value output = evaluator_.run_root(function_, std::move(values));
    tracer_.output(recorder_.argument(output, nullptr),
                   meta_of(result_type, run_.shapes ? known_of_value(output) : AbstractValue{}));
    evaluator_.finish();
  } catch (...) {
    state_.changes.undo_to(0);
    throw;
  }
  state_.changes.undo_to(0);  // the next graph starts from the archive's own state
  run_open(open);
}

// Returns the inputs, with unknown values for those that options give values to.
Values Interpreter::open_values(const RootInputs& inputs, const Values& values) const {
  Values open = values;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const FunctionArgument& formal = schema_.arguments[i];
    const Proxy* proxy = find_proxy(values[i]);
    if (inputs.is_given_a_value(formal.name)) {
      open[i] = make_proxy(NodeRef{}, formal.type);
    } else if (proxy != nullptr) {
      open[i] = make_proxy(NodeRef{}, proxy->static_type, known_of_value(values[i]));
    }
  }
  return open;
}

// Values that options give to the root must not decide about the graphs of submodules.  A run without these
// values sees what reaches the inputs of submodules anyway.
void Interpreter::run_open(const Values& open) {
  if (run_.root.index != 0) return;
  findings_.calls.forget_open();
  if (open.empty() || !tracer_.has_failures()) return;
  const Restore restore([&] { recorder_.inputs_are_open = false; });
  recorder_.inputs_are_open = true;
  evaluator_.abstract_calls().run(function_, open);
}

// Sets the graph's signature where its placeholders are not the method's inputs one by one.
void Interpreter::set_signature(std::vector<GraphSignature::Entry> entries, const Values& values,
                                const std::vector<Argument>& arguments) {
  const auto is_whole = [](const GraphSignature::Entry& entry) {
    return entry.path.size() == 1 && entry.node.valid();
  };
  if (std::ranges::all_of(entries, is_whole)) return;
  for (GraphSignature::Entry& entry : entries) {
    if (entry.node.valid() || entry.value) continue;
    for (std::size_t i = 1; i < values.size(); ++i) {  // takes its default
      if (schema_.arguments[i].name == entry.name && is_plain(values[i])) entry.value = arguments[i - 1];
    }
  }
  tracer_.set_signature({std::move(entries), {}});
}

std::map<std::string, Value> Interpreter::plain_inputs() const {
  std::map<std::string, Value> inputs;
  if (run_.root.index == 0 || !is_forward(std::string(function_.name()))) return inputs;
  const auto& formals = schema_.arguments;
  const SeenCalls::Arguments& use = findings_.calls.use(run_.root);
  const auto& plain = use.plain;
  for (std::size_t i = 0; i < plain.size() && i + 1 < formals.size(); ++i) {
    // A value that is the input's default is taken as its default, and the input is left out.
    const auto& formal = formals[i + 1];
    const bool is_default = run_.options.defaults == Defaults::kNeeded && formal.default_value && plain[i] &&
                            are_equal(run_.program.archive().value_of(*formal.default_value), *plain[i]);
    if (plain[i] && !is_default && !use.is_roots.at(i)) inputs.emplace(formal.name, deep_copy(*plain[i]));
  }
  return inputs;
}

void Interpreter::find_fixable(const RootInputs& inputs, const std::map<std::string, Value>& plain,
                               std::vector<BoundInput>& bound) {
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const FunctionArgument& formal = schema_.arguments[i + 1];
    const std::string& name = formal.name;
    if (!inputs.is_unmentioned(name)) continue;
    const auto known = plain.find(name);
    const std::uint32_t node = find_proxy(bound[i].value)->ref.node.index;
    if (known == plain.end()) {
      if (!formal.default_value || run_.options.defaults == Defaults::kNever) continue;
      const Value value = run_.program.archive().value_of(*formal.default_value);
      const bool may_be_tensor = may_hold_tensor(*formal.type);
      recorder_.conditions.add_fixable(
          NodeId{node}, FixedInput{name, python_text(value, &run_.program.archive()), true,
                                   may_be_tensor || value.is_int(), may_be_tensor && value.is_none()});
    } else if (tracer_.is_fixed(name)) {
      bound[i].value = known->second;
      tracer_.guard(equality(Expression::name(name), known->second), std::nullopt, GuardReason::kDefault);
    } else {
      recorder_.conditions.add_fixable(NodeId{node}, FixedInput{name, python_text(known->second), false});
    }
  }
}

void Interpreter::use_call(std::vector<BoundInput>& inputs) {
  if (!run_.shapes) return;
  const SeenCalls::Arguments& use = findings_.calls.use(run_.root);
  const std::vector<AbstractValue>& known = use.known;
  for (std::size_t i = 0; i < inputs.size() && i < known.size(); ++i) {
    const Proxy* proxy = find_proxy(inputs[i].value);
    if (proxy == nullptr || known[i].is_unknown()) continue;
    if (use.is_roots.at(i) && !is_of_tensors(known[i])) continue;
    AbstractValue input = known[i];
    reserve_names(input, state_.dimensions);
    tracer_.set_meta(proxy->ref.node, meta_of(proxy->static_type, input));
    // Shapes follow from the dummy inputs; any other fact that the calls had in common is assumed, under a
    // guard.
    const Expression name = recorder_.condition_of(inputs[i].value);
    const SymInt* integer = input.integer();
    if (input.is_none()) {
      tracer_.guard(Expression::comparison("is", name, Expression::none()), std::nullopt,
                    GuardReason::kInput);
    } else if (proxy->static_type->kind() == TypeKind::kOptional) {
      tracer_.guard(Expression::comparison("is not", name, Expression::none()), std::nullopt,
                    GuardReason::kInput);
    } else if (integer != nullptr && integer->is_number()) {
      tracer_.guard(Expression::comparison(Relation::kEqual, name, *integer), std::nullopt,
                    GuardReason::kInput);
    }
    inputs[i].value = make_proxy(proxy->ref, proxy->static_type, std::move(input));
  }
}

}  // namespace fxtrace::internal::interpreter
