#include "interpreter/graph/interpreter.h"

#include <algorithm>

#include "interpreter/code/module_calls.h"
#include "interpreter/code/traced_attributes.h"
#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "support/error.h"
#include "support/scope_guard.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"

namespace fxtrace::internal::interpreter {

Value GraphEvaluator::run_root(Function& function, Values arguments) {
  stacks_.begin();
  Value output = calls_.run_root(function, std::move(arguments));
  if (run_.shapes) tracer_.module_gives(run_.root, tensors_in(known_of_value(output)));
  assignments_.finish(output);
  return output;
}

const IrNode* GraphEvaluator::run_from(const IrBlock& block, const IrNode* node) {
  if (makes_subgraphs()) loops_.note_starts(block, node);
  if (const IrNode* last = calls_.run_hooked(node)) return last;
  if (!stacks_.are_kept()) return Evaluator::run_from(block, node);
  const std::size_t first = tracer_.graph().mark().ids;
  run_node(node);
  stacks_.note(node, first);
  return node;
}

void GraphEvaluator::note_change(const Value& value, const std::string& name, const IrNode* node) {
  if (makes_subgraphs()) subgraphs_.note_change(value, name, node);
}

void GraphEvaluator::materialize(const Value& container, const IrNode* node) {
  if (makes_subgraphs())
    subgraphs_.check_change(container, container.is_list() ? "a list is changed" : "a dict is changed", node);
  Evaluator::materialize(container, node);
}

void GraphEvaluator::set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) {
  if (makes_subgraphs())
    subgraphs_.check_change(Value(place.object), "attribute '" + place.name + "' is set", node);
  assignments_.set(place, value, node);
}

void GraphEvaluator::loop(const IrNode* node, const std::string& what, const Value& value,
                          const std::optional<Checkpoint>& start) {
  recorder_.conditions.record_query(value);
  if (!makes_subgraphs()) return Evaluator::loop(node, what, value, start);
  if (start) recorder_.back_to(*start);
  loops_.record(node);
}

Value GraphEvaluator::attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) {
  const auto& [object, slot, name, current] = place;
  const auto module = run_.program.find_module(object.get());
  // An attribute that the code sets may have another value than in the file: after a leaf that sets it, or in
  // a later call.
  const bool may_change =
      module && !current.is_object() && run_.program.is_set_by_code(class_of(*object), name);
  const bool is_open = may_change && assignments_.is_open(*object, slot);
  const bool is_live = may_change && ((is_open && current.is_tensor()) || tracer_.runs_in_leaf(*module) ||
                                      assignments_.is_set_by_leaf(*module, class_of(*object), name));
  if (may_change && current.is_tensor()) state_.assigned.note_read({object.get(), slot});
  const bool is_there = !is_opaque(current) && !is_missing(current, *type);
  if (!current.is_tensor() && !is_live && !is_open && is_there) {
    if (may_change && find_proxy(current) == nullptr) state_.assigned.note_read({object.get(), slot});
    return current;
  }
  if (is_live && tracer_.in_subgraph()) {
    frames_.refuse(
        "attribute '" + name +
            "', which a leaf may have set, is read inside an `if` or a loop that depends on an input",
        node);
  }
  const std::string* path = run_.program.find_path(object.get());
  if (path == nullptr || !module) {  // tensors of a script object have no path, unlike those of modules
    if (current.is_tensor()) return current;
    frames_.refuse("the value of attribute '" + name + "' is not known", node);
  }
  std::string target = (path->empty() ? "" : *path + ".") + part_of_name(name);
  if (const auto& declared = class_of(*object).attributes()[slot];
      current.is_tensor() && !declared.is_parameter && !declared.is_buffer) {
    target = run_.program.first_name(current.to_tensor(), target);
  }
  const bool is_unknown = is_live && current.is_tensor();
  TensorNames::KnownValue shared = is_unknown ? nullptr : known_of_attribute(place);
  Meta known = meta_of(type);
  if (current.is_tensor()) known.type = "Tensor";
  if (current.is_tensor() && !is_live) {
    if (shared && state_.names.has_changed()) {
      known = meta_of(tensor_type(), *shared);
    } else {
      known.dtype = current.to_tensor().dtype;
      known.shape.emplace(current.to_tensor().sizes.begin(), current.to_tensor().sizes.end());
    }
  }
  const auto source = frames_.location(node);
  const NodeId id = is_live   ? tracer_.get_attr_again(target, std::move(known), source)
                    : is_open ? tracer_.get_state(target, std::move(known), source)
                              : tracer_.get_attr(target, std::move(known), source);
  return proxy_of(place, type, tracer_.ref(id), std::move(shared));
}

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

void BoundTorchScriptProgram::run(ModuleId root, const std::string& method, bool root_is_leaf,
                                  GraphTracer& tracer) {
  Interpreter(program_, options_, budget_, findings_, tracer, root, method).trace(root_is_leaf);
}

std::vector<BoundProgram::Attributes> BoundTorchScriptProgram::attributes() const {
  return traced_attributes(program_);
}

namespace {

bool has_hooks(const TorchScriptProgram& program) {
  for (std::uint32_t i = 0; i < program.modules().size(); ++i) {
    const ClassType& type = class_of(*program.object(ModuleId{i}));
    if (!type.forward_hooks().empty() || !type.forward_pre_hooks().empty()) return true;
  }
  return false;
}

}  // namespace

std::vector<Diagnostic> BoundTorchScriptProgram::warnings() const {
  std::vector<Diagnostic> warnings;
  if (options_.hooks == Hooks::kSkip && !has_hooks(program_)) {
    warnings.push_back(
        {"--hooks skip had no effect: the model has no hooks apart from its code; torch.jit.trace makes hooks part of the code"});
  }
  if (auto hooks = hooks_in_callers(program_)) warnings.push_back(*std::move(hooks));
  if (auto invalid = findings_.invalid_calls()) warnings.push_back(*std::move(invalid));
  return warnings;
}

std::vector<Diagnostic> BoundTorchScriptProgram::unfollowed_options(
    const std::function<Leaves()>& leaves) const {
  std::vector<Diagnostic> unfollowed;
  if (options_.hooks != Hooks::kSkip) return unfollowed;
  for (const auto& [module, method] : leaves()) {
    const std::size_t count = count_hooks_inside(program_, module, method);
    if (count == 0) continue;
    const std::string& path = program_.modules()[module.index].path;
    unfollowed.push_back({count == 1
                              ? "--hooks skip cannot leave out {} hook inside of {}, which stays one call"
                              : "--hooks skip cannot leave out {} hooks inside of {}, which stays one call",
                          {std::to_string(count), path.empty() ? "the root" : "'" + path + "'"}});
  }
  return unfollowed;
}

}  // namespace fxtrace::internal::interpreter
