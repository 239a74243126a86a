#include "torchscript/interpreter.h"

#include <algorithm>

#include "script/plain_operators.h"
#include "support/error.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/root_inputs.h"
#include "torchscript/structure.h"
#include "trace/expression.h"

namespace fxtrace::torchscript {

namespace {
constexpr std::int64_t kMaxAbstractNodes = 2'000'000;

// Sizes of another graph that depend on data keep their names, and no new one gets them.
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

}  // namespace

Interpreter::Interpreter(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget,
                         BoundTorchScriptProgram* bound, GraphTracer* tracer)
    : run_(program, options, budget, bound, tracer) {}

// --- entry points ---

void Interpreter::trace(ModuleId root, const std::string& method, bool root_is_leaf) {
  run_.root = run_.module = root;
  run_.bound->calls().forget(root, 0);
  const auto& object = run_.program.object(root);
  Function& function =
      method == "forward" ? *find_forward(class_of(*object)) : *class_of(*object).get_method(method);
  const auto& schema = function.schema();
  Values values{Value(object)};
  std::vector<Argument> arguments;
  const auto make_placeholder = [&](const std::string& name, const TypePtr& type,
                                    const FunctionArgument* formal, AbstractValue known) -> BoundInput {
    std::vector<Argument> defaults;
    // A tensor would be a node in front of its placeholder.
    if (formal != nullptr && formal->default_value) {
      const Value given = run_.program.archive().value_of(*formal->default_value);
      if (is_plain(given)) defaults.push_back(run_.recording.argument(given, nullptr, meaning_of(*formal)));
    }
    const NodeId id = run_.tracer->placeholder(name, std::move(defaults), meta_of(type, known));
    return {make_proxy(run_.ref(id), type, std::move(known)), Argument(id)};
  };
  // Concrete arguments are the model's own, never a submodule's.
  static const TraceOptions nothing_concrete;
  const TraceOptions& options = root.index == 0 ? run_.options : nothing_concrete;
  const std::map<std::string, Value> plain = plain_inputs(root, function);
  RootInputs inputs(
      run_.program.archive(), schema, options, run_.dimensions, make_placeholder,
      [&](const std::string& expr) { run_.tracer->guard(Expression::parse(expr), std::nullopt); },
      [&](const std::string& message) { run_.tracer->misfit(message); },
      [&](const std::string& name) {
        if (run_.tracer->is_given(name)) return RootInputs::Unasked::kIsGiven;
        return run_.tracer->is_fixed(name) && !plain.contains(name) ? RootInputs::Unasked::kTakesDefault
                                                                    : RootInputs::Unasked::kRemains;
      });
  std::vector<BoundInput> bound = inputs.bind();
  std::vector<bool> concrete{false};  // self
  for (std::size_t i = 1; i < schema.arguments.size(); ++i) {
    concrete.push_back(std::ranges::find(options.concrete, schema.arguments[i].name, &ConcreteArg::name) !=
                       options.concrete.end());
  }
  run_.frames.set_concrete(std::move(concrete));
  find_fixable(schema, inputs, plain, bound);
  if (root.index != 0 && is_forward(method)) use_call(root, bound);
  for (auto& [value, given] : bound) {
    arguments.push_back(given ? std::move(*given) : run_.recording.argument(value, nullptr));
    values.push_back(std::move(value));
  }
  if (root.index == 0) set_signature(inputs.entries(), schema, values, arguments);
  const TypePtr result_type = schema.returns.empty() ? none_type() : schema.returns[0].type;
  if (root_is_leaf) {
    auto [known, cost] = result_of(function, values, run_.type_of(root));
    const Meta result_meta = meta_of(result_type, known);
    // What it calls tells of the graphs of its submodules.
    if (!run_.shapes && run_.tracer->has_failed(root)) run_abstractly(function, values);
    const NodeId call = run_.tracer->call_root(std::move(arguments), result_meta);
    if (cost) run_.tracer->set_cost(call, *std::move(cost));
    if (run_.shapes && !known.is_unknown()) run_.tracer->module_gives(root, tensors_in(known));
    run_.tracer->output(call, result_meta);
    return;
  }
  if (run_.tracer->rules().has_function_rules())
    recorded_calls_.emplace(run_.tracer->rules(), run_.program.modules());
  try {
    const Values result = run_root(root, function, std::move(values));
    const Value output = result.empty() ? Value() : result[0];
    if (run_.shapes) run_.tracer->module_gives(root, tensors_in(known_of_value(output)));
    run_.tracer->output(run_.recording.argument(output, nullptr),
                        meta_of(result_type, run_.shapes ? known_of_value(output) : AbstractValue{}));
    if (recorded_calls_) {
      for (std::string& message : recorded_calls_->fold(run_.tracer->finished_graph())) {
        run_.tracer->misfit(std::move(message));
      }
    }
  } catch (...) {
    run_.changes.undo_to(0);
    throw;
  }
  run_.changes.undo_to(0);  // the next graph starts from the archive's own state
}

// Where the inputs of the root's graph are not the method's own, one by one.
void Interpreter::set_signature(std::vector<GraphSignature::Entry> entries, const FunctionSchema& schema,
                                const Values& values, const std::vector<Argument>& arguments) {
  const auto is_whole = [](const GraphSignature::Entry& entry) {
    return entry.path.size() == 1 && entry.node.valid();
  };
  if (std::ranges::all_of(entries, is_whole)) return;
  for (GraphSignature::Entry& entry : entries) {
    if (entry.node.valid() || entry.value) continue;
    for (std::size_t i = 1; i < values.size(); ++i) {  // takes its default
      if (schema.arguments[i].name == entry.name && is_plain(values[i])) entry.value = arguments[i - 1];
    }
  }
  run_.tracer->set_signature({std::move(entries), {}});
}

// The inputs of a submodule's own graph that had the same plain value in all calls that were seen.
std::map<std::string, Value> Interpreter::plain_inputs(ModuleId root, const Function& function) {
  std::map<std::string, Value> inputs;
  if (root.index == 0 || !is_forward(std::string(function.name()))) return inputs;
  const auto& formals = function.schema().arguments;
  const SeenCalls::Arguments& use = run_.bound->calls().use(root);
  const auto& plain = use.plain;
  for (std::size_t i = 0; i < plain.size() && i + 1 < formals.size(); ++i) {
    // What is its default is taken as such, and the input is gone.
    const auto& formal = formals[i + 1];
    const bool is_default = run_.options.defaults == Defaults::kNeeded && formal.default_value && plain[i] &&
                            are_equal(run_.program.archive().value_of(*formal.default_value), *plain[i]);
    // A concrete argument is the root's: what has a default of its own takes that.
    const bool is_roots = formal.default_value && i < use.is_concrete.size() && use.is_concrete[i];
    if (plain[i] && !is_default && !is_roots) inputs.emplace(formal.name, deep_copy(*plain[i]));
  }
  return inputs;
}

// Fixes what was asked for in an earlier run of this graph, and keeps what the other inputs would be.
void Interpreter::find_fixable(const FunctionSchema& schema, const RootInputs& inputs,
                               const std::map<std::string, Value>& plain, std::vector<BoundInput>& bound) {
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const FunctionArgument& formal = schema.arguments[i + 1];
    const std::string& name = formal.name;
    if (!inputs.remains_unasked(name)) continue;
    const auto known = plain.find(name);
    const std::uint32_t node = find_proxy(bound[i].value)->ref.node.index;
    if (known == plain.end()) {
      if (!formal.default_value || run_.options.defaults == Defaults::kNever) continue;
      run_.conditions.add_fixable(
          NodeId{node}, FixedInput{name,
                                   python_text(run_.program.archive().value_of(*formal.default_value),
                                               &run_.program.archive()),
                                   true, may_hold_tensor(*formal.type)});
    } else if (run_.tracer->is_fixed(name)) {
      bound[i].value = known->second;
      run_.tracer->guard(Expression::parse(python_equality(name, known->second)), std::nullopt);
    } else {
      run_.conditions.add_fixable(NodeId{node}, FixedInput{name, python_text(known->second), false});
    }
  }
}

// What is known of the inputs of a submodule's own graph: that of its call in another one.
void Interpreter::use_call(ModuleId root, std::vector<BoundInput>& inputs) {
  if (!run_.shapes) return;
  const SeenCalls::Arguments& use = run_.bound->calls().use(root);
  const std::vector<AbstractValue>& known = use.known;
  for (std::size_t i = 0; i < inputs.size() && i < known.size(); ++i) {
    const Proxy* proxy = find_proxy(inputs[i].value);
    if (proxy == nullptr || known[i].is_unknown() || (i < use.is_concrete.size() && use.is_concrete[i]))
      continue;
    AbstractValue input = known[i];
    reserve_names(input, run_.dimensions);
    run_.tracer->set_meta(proxy->ref.node, meta_of(proxy->static_type, input));
    // Shapes follow from the dummy inputs; what else the calls had in common is assumed.
    const Expression name = run_.recording.condition_of(inputs[i].value);
    const SymInt* integer = input.integer();
    if (input.is_none()) {
      run_.tracer->guard(Expression::comparison("is", name, Expression::none()), std::nullopt);
    } else if (proxy->static_type->kind() == TypeKind::kOptional) {
      run_.tracer->guard(Expression::comparison("is not", name, Expression::none()), std::nullopt);
    } else if (integer != nullptr && integer->is_number()) {
      run_.tracer->guard(Expression::comparison(Relation::kEqual, name, *integer), std::nullopt);
    }
    inputs[i].value = make_proxy(proxy->ref, proxy->static_type, std::move(input));
  }
}

void Interpreter::set_state(const Ref<ObjectValue>& object, const Value& state) {
  Function* function = class_of(*object).find_method("__setstate__");
  if (function == nullptr || !function->has_code()) return;
  try {
    call_graph_function(*function, {Value(object), state}, nullptr);
  } catch (const TraceFailure&) {
    // What is missing now is what the state would not tell without running it.
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    // Likewise: the state does not fit the code.
  }
  run_.changes.keep();
}

// --- values ---

Values Interpreter::run_graph(const IrGraph& graph, const Values& inputs, const std::string& function,
                              const std::vector<bool>& is_concrete) {
  run_.frames.push({function});
  const auto& formals = graph.inputs();
  for (std::size_t i = 0; i < formals.size() && i < inputs.size(); ++i) {
    run_.frames.set(formals[i], inputs[i]);
    if (i < is_concrete.size() && is_concrete[i]) run_.frames.top().concrete.insert(formals[i]);
  }
  run_block(*graph.block());
  Values result = run_.frames.outputs(*graph.block());
  run_.frames.pop();
  return result;
}

void Interpreter::run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out) {
  for (const IrNode* node = *block.nodes().begin(); node != block.return_node(); node = node->next()) {
    if (left_out.contains(node)) continue;
    if (run_.makes_subgraphs()) note_loop_starts(block, node);
    if (const IrNode* last = run_hooked_call(node)) {
      node = last;
    } else if (recorded_calls_ && run_.records()) {
      const std::size_t first = run_.tracer->graph().mark().ids;
      run_node(node);
      note_stack(node, first);
    } else {
      run_node(node);
    }
  }
}

// The operations of a call that is followed have told of themselves already.
void Interpreter::note_stack(const IrNode* node, std::size_t first) {
  if (!(run_.tracer->ref(NodeId{}).graph == kRootGraph)) return;
  const Graph& graph = run_.tracer->graph();
  const bool is_call = node->kind() == Symbol::kPrimCallMethod;
  const std::size_t end = graph.mark().ids;
  std::vector<StackFrame> stack;
  for (std::size_t i = first; i < end; ++i) {
    const NodeId id{static_cast<std::uint32_t>(i)};
    if (!graph.contains(id) || graph.node(id).op == Opcode::kGetAttr) continue;
    if (is_call && graph.node(id).op != Opcode::kCallModule) return;
    if (stack.empty()) {
      constexpr int kMaxNodes = 1000, kMaxDepth = 10;
      int nodes = kMaxNodes;
      if (!is_call) {
        stack = run_.program.stack(node);
      } else if (const IrGraph* called = called_method(node)) {
        stack = stack_inside(*called, kMaxDepth, nodes);
        run_.budget.spend(static_cast<std::size_t>(kMaxNodes - std::max(nodes, 0)));
      }
      constexpr std::size_t kBytesOfUnit = 16;
      for (const StackFrame& frame : stack) {
        run_.budget.spend(1 + (frame.file.size() + frame.function.size()) / kBytesOfUnit);
      }
    }
    recorded_calls_->note(id, stack);
  }
}

// The code of the method that the node calls; null where it has none.
const IrGraph* Interpreter::called_method(const IrNode* node) const {
  const auto* type = node->input(0)->type()->as<ClassType>();
  const Function* method = type == nullptr ? nullptr : type->find_method(node->text());
  return method == nullptr ? nullptr : run_.program.archive().find_graph(*method);
}

// Of the first operation that has one.
std::vector<StackFrame> Interpreter::stack_inside(const IrGraph& graph, int depth, int& nodes) const {
  for (const IrNode* node : graph.nodes()) {
    if (--nodes < 0 || depth == 0) break;
    std::vector<StackFrame> stack;
    if (node->kind() != Symbol::kPrimCallMethod) {
      stack = run_.program.stack(node);
    } else if (const IrGraph* called = called_method(node)) {
      stack = stack_inside(*called, depth - 1, nodes);
    }
    if (!stack.empty()) return stack;
  }
  return {};
}

// --- one node ---

void Interpreter::run_node(const IrNode* node) {
  run_.budget.spend(1);
  // Branches that may both be taken multiply: leaves beyond this have no known shapes.
  if (run_.mode == Mode::kAbstract && ++abstract_nodes_ > kMaxAbstractNodes) {
    run_.frames.fail(FailureKind::kLimit, "shapes of leaves take too many steps", node);
  }
  switch (node->kind()) {
    case Symbol::kPrimConstant: {
      Value constant = run_.program.archive().value_of(*node->constant());
      if (constant.is_function()) return;
      if (run_.shapes && constant.is_tensor()) run_.constants.read(constant.to_tensor());
      return run_.frames.set(node, std::move(constant));
    }
    case Symbol::kPrimGetAttr:
      return get_attribute(node);
    case Symbol::kPrimSetAttr:
      return set_attribute(node);
    case Symbol::kPrimIf:
      return run_if(node);
    case Symbol::kPrimLoop:
      return run_loop(node);
    case Symbol::kPrimRaiseException:
      return raise(node);
    case Symbol::kPrimCallMethod:
      return call_method(node);
    case Symbol::kPrimCallFunction:
      return call_function(node);
    case Symbol::kPrimListConstruct:
    case Symbol::kPrimTupleConstruct:
    case Symbol::kPrimDictConstruct:
    case Symbol::kPrimCreateObject:
      return construct(node);
    case Symbol::kPrimTupleUnpack:
    case Symbol::kPrimListUnpack:
      return unpack(node);
    case Symbol::kPrimIsinstance:
      return is_instance(node);
    case Symbol::kPrimEnter:
      return context_manager(node, true);
    case Symbol::kPrimExit:
      return context_manager(node, false);
    case Symbol::kPrimFork:
    case Symbol::kPrimAwaitable: {
      // Nothing runs at the same time here: the result of the body stands for the future.
      const Values result =
          run_graph(*node->subgraph(), run_.frames.inputs(node), run_.frames.top().function);
      return run_.frames.set(node, result.empty() ? Value() : result[0]);
    }
    case Symbol::kPrimPrint:
    case Symbol::kAtenWarn:
      return;  // no effect on any value
    default:
      if (!run_value_node(node)) run_operator(node);
  }
}

// Nodes whose result is one of their inputs, or a part of one.  False when the node is another kind.
bool Interpreter::run_value_node(const IrNode* node) {
  static const Symbol awaitable_wait = script::intern("prim::awaitable_wait");
  static const Symbol awaitable_nowait = script::intern("prim::awaitable_nowait");
  if (node->is(awaitable_wait) || node->is(awaitable_nowait)) {
    run_.frames.set(node, run_.frames.input(node, 0));
    return true;
  }
  switch (node->kind()) {
    case Symbol::kAtenWait:
      run_.frames.set(node, run_.frames.input(node, 0));
      return true;
    case Symbol::kPrimUninitialized:
      run_.frames.set(node, Value::uninitialized());
      return true;
    case Symbol::kPrimUncheckedCast:
    case Symbol::kPrimUncheckedUnwrapOptional:
    case Symbol::kAtenUnwrapOptional: {
      const Value& whole = run_.frames.input(node, 0);
      const Proxy* proxy = find_proxy(whole);
      if (proxy == nullptr) {
        if (node->kind() == Symbol::kAtenUnwrapOptional && whole.is_none()) {
          run_.frames.fail(FailureKind::kRaised, "AssertionError: Unwrapping null optional", node);
        }
        run_.frames.set(node, whole);
        return true;
      }
      if (node->kind() == Symbol::kAtenUnwrapOptional && proxy->static_type->kind() == TypeKind::kOptional) {
        run_.guard(Expression::comparison("is not", run_.recording.condition_of(whole), Expression::none()),
                   run_.frames.location(node));
      }
      const bool narrower = is_subtype(*node->output()->type(), *proxy->static_type);
      Value cast =
          make_proxy(proxy->ref, narrower ? node->output()->type() : proxy->static_type, proxy->meaning);
      static_cast<Proxy&>(cast.to_handle()).known = proxy->known;
      run_.frames.set(node, std::move(cast));
      return true;
    }
    case Symbol::kPrimTupleIndex: {
      const Value& tuple = run_.frames.input(node, 0);
      const Value& index = run_.frames.input(node, 1);
      run_.conditions.ask(index);
      if (!index.is_int())
        run_.frames.fail(FailureKind::kUnsupportedOp,
                         "a tuple is indexed by a value that depends on an input", node);
      std::int64_t i = index.to_int();
      if (tuple.is_tuple()) {
        const auto size = static_cast<std::int64_t>(tuple.items().size());
        if (i < 0) i += size;
        if (i < 0 || i >= size)
          run_.frames.fail(FailureKind::kRaised, "IndexError: Tuple index out of range", node);
        run_.frames.set(node, tuple.items()[static_cast<std::size_t>(i)]);
      } else {
        const auto* items = known_of(tuple).sequence();
        if (items != nullptr && i < 0) i += static_cast<std::int64_t>(items->size());
        run_.frames.set(node,
                        unpacked_item(tuple, static_cast<std::size_t>(i), node->output()->type(), node));
      }
      return true;
    }
    case Symbol::kPrimTupleSlice: {
      const Value& tuple = run_.frames.input(node, 0);
      const std::int64_t begin = node->integer(Symbol::kAttrBegin);
      const std::int64_t end = node->integer(Symbol::kAttrEnd);
      if (tuple.is_tuple()) {
        const auto& items = tuple.items();
        std::vector<Value> part;
        for (std::int64_t i = begin; i < end; ++i) part.push_back(items.at(static_cast<std::size_t>(i)));
        run_.frames.set(node, make_tuple(std::move(part)));
      } else {
        Argument::Slice slice{{begin, end, Argument::None{}}};
        run_.frames.set(node, run_.recording.call("operator.getitem",
                                                  {run_.recording.argument(tuple, node), std::move(slice)},
                                                  node->output()->type(), node));
      }
      return true;
    }
    case Symbol::kPrimModuleContainerIndex: {
      const Value& container = run_.frames.input(node, 0);
      const Value& key = run_.frames.input(node, 1);
      if (!container.is_object() || !(key.is_int() || key.is_string())) {
        run_.conditions.ask(key);
        run_.frames.fail(FailureKind::kDataDependentControlFlow,
                         "which submodule is called depends on an input", node);
      }
      const ClassType& type = class_of(container.to_object());
      std::string name = key.is_string() ? key.to_string() : std::to_string(key.to_int());
      if (key.is_int() && key.to_int() < 0) {
        const auto children =
            std::ranges::count_if(type.attributes(), [](const auto& slot) { return slot.type->is_module(); });
        name = std::to_string(static_cast<std::int64_t>(children) + key.to_int());
      }
      const auto slot = type.find_slot(name);
      if (!slot) run_.frames.fail(FailureKind::kRaised, "IndexError: no submodule " + name, node);
      run_.frames.set(node, container.to_object().slots.at(*slot));
      return true;
    }
    case Symbol::kAtenIs:
    case Symbol::kAtenIsnot:
      return compare_identity(node);
    default:
      return ask_process(node);
  }
}

// What is asked of the process that runs the model is answered as for an ordinary one, and a guard says so.
bool Interpreter::ask_process(const IrNode* node) {
  // Symbols without names of their own.
  static const Symbol is_grad_enabled = script::intern("aten::is_grad_enabled");
  static const Symbol set_grad_enabled = script::intern("aten::set_grad_enabled");
  static const std::unordered_map<Symbol, std::string> off = {
      {script::intern("aten::is_autocast_enabled"), "torch.is_autocast_enabled()"},
      {script::intern("aten::is_autocast_cpu_enabled"), "torch.is_autocast_cpu_enabled()"},
      {script::intern("aten::is_vulkan_available"), "torch.is_vulkan_available()"},
      {script::intern("aten::_nnpack_available"), "torch._nnpack_available()"},
      {script::intern("aten::_use_cudnn_rnn_flatten_weight"), "torch._use_cudnn_rnn_flatten_weight()"},
  };
  if (node->kind() == set_grad_enabled) {
    const Value& enabled = run_.frames.input(node, 0);
    if (enabled.is_bool()) run_.switches.grad = enabled.to_bool();
    return true;
  }
  const auto found = off.find(node->kind());
  if (node->kind() != is_grad_enabled && found == off.end()) return false;
  // Inside of `with torch.autocast(...)` the model itself has said so.
  static const Symbol is_autocast_enabled = script::intern("aten::is_autocast_enabled");
  static const Symbol is_autocast_cpu_enabled = script::intern("aten::is_autocast_cpu_enabled");
  const bool is_about_cpu = node->kind() == is_autocast_cpu_enabled;
  const bool is_about_autocast = node->kind() == is_autocast_enabled || is_about_cpu;
  const bool casts = is_about_autocast && run_.switches.casts() &&
                     (run_.switches.autocast.back().device == "cpu") == is_about_cpu;
  const bool answer = found == off.end() ? run_.switches.grad : casts;
  run_.frames.set(node, answer);
  // `with torch.no_grad()` only keeps the answer; and where it is no, the model itself has said so.
  const auto& uses = node->output()->uses();
  const bool decides = std::any_of(uses.begin(), uses.end(),
                                   [](const auto& use) { return use.user->kind() != Symbol::kPrimSetAttr; });
  if (decides && !casts && (answer || found != off.end())) {
    run_.guard(Expression::parse(answer ? "torch.is_grad_enabled()" : "not " + found->second), std::nullopt);
  }
  return true;
}

bool Interpreter::compare_identity(const IrNode* node) {
  const Value& left = run_.frames.input(node, 0);
  const Value& right = run_.frames.input(node, 1);
  const bool is = node->kind() == Symbol::kAtenIs;
  if (left.is_none() && right.is_none()) {
    run_.frames.set(node, is);
    return true;
  }
  if (!left.is_none() && !right.is_none()) return compare_tensors(node, left, right);
  const Value& other = left.is_none() ? right : left;
  const Proxy* proxy = find_proxy(other);
  if (proxy == nullptr || !is_subtype(*none_type(), *proxy->static_type) || !known_of(other).is_unknown()) {
    run_.frames.set(node, known_of(other).is_none() == is);
    return true;
  }
  run_.frames.set(
      node, run_.recording.apply(is ? "operator.is_" : "operator.is_not", {left, right}, bool_type(), node));
  return true;
}

// `query is key`: as in torch.fx, two proxies are the same when they are the same node.  That different nodes
// are different tensors is what the trace assumes.
bool Interpreter::compare_tensors(const IrNode* node, const Value& left, const Value& right) {
  const Proxy* first = find_proxy(left);
  const Proxy* second = find_proxy(right);
  if (first == nullptr || second == nullptr) return false;
  const bool same = left.is(right) || (first->ref.valid() && first->ref == second->ref);
  if (!same)
    run_.guard(Expression::comparison("is not", run_.recording.condition_of(left),
                                      run_.recording.condition_of(right)),
               run_.frames.location(node));
  run_.frames.set(node, same == (node->kind() == Symbol::kAtenIs));
  return true;
}

void Interpreter::is_instance(const IrNode* node) {
  const Value& object = run_.frames.input(node, 0);
  run_.recording.measure(object, node);
  const TypePtr type = dynamic_type(object);
  bool possible = false;
  for (const auto& candidate : node->types()) {
    if (is_subtype(*type, *candidate)) return run_.frames.set(node, true);
    possible = possible || is_subtype(*candidate, *type);
  }
  if (possible && !is_plain(object)) {
    run_.conditions.ask(object);
    run_.frames.fail(FailureKind::kDataDependentControlFlow,
                     "isinstance of " + run_.recording.describe(object) + ", whose type " + type_name(*type) +
                         " depends on an input",
                     node);
  }
  run_.frames.set(node, false);
}

// --- containers ---

void Interpreter::construct(const IrNode* node) {
  Values values = run_.frames.inputs(node);
  run_.budget.spend(values.size());
  const TypePtr& type = node->output()->type();
  switch (node->kind()) {
    case Symbol::kPrimListConstruct: {
      return run_.frames.set(node, make_list(type->as<ListType>()->element(), std::move(values)));
    }
    case Symbol::kPrimTupleConstruct: {
      const auto* tuple = type->as<TupleType>();
      const bool is_named = tuple != nullptr && tuple->is_named();
      return run_.frames.set(node, make_tuple(std::move(values), is_named ? type : nullptr));
    }
    case Symbol::kPrimDictConstruct: {
      const auto& dict_type = *type->as<DictType>();
      auto dict = make_counted<DictValue>(dict_type.key(), dict_type.value());
      for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
        if (!DictValue::may_be_key(values[i]) || !is_plain(values[i])) {
          run_.conditions.ask(values[i]);
          run_.frames.fail(FailureKind::kUnsupportedOp, "a dict key depends on an input", node);
        }
        dict->set(values[i], values[i + 1]);
      }
      return run_.frames.set(node, dict);
    }
    default: {  // prim::CreateObject
      if (type->is_module())
        run_.frames.fail(FailureKind::kUnsupportedOp, "a module is made while tracing", node);
      run_.frames.set(node, make_counted<ObjectValue>(type, type->as<ClassType>()->attributes().size()));
    }
  }
}

Value Interpreter::unpacked_item(const Value& sequence, std::size_t index, const TypePtr& type,
                                 const IrNode* node, bool fits) {
  const auto* items = fits ? known_of(sequence).sequence() : nullptr;
  return run_.recording.apply("operator.getitem", {sequence, index}, type, node,
                              items != nullptr && index < items->size() ? (*items)[index] : AbstractValue{});
}

void Interpreter::unpack(const IrNode* node) {
  const Value sequence = run_.frames.input(node, 0);
  const auto& results = node->outputs();
  if (find_proxy(sequence) != nullptr) {
    const auto* items = known_of(sequence).sequence();
    const bool fits = items == nullptr || items->size() == results.size();
    if (!fits) {
      run_.knowledge.report_invalid(node, "unpacking",
                                    "expected " + std::to_string(results.size()) + " elements but found " +
                                        std::to_string(items->size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i]->has_uses()) continue;
      run_.frames.set(results[i], unpacked_item(sequence, i, results[i]->type(), node, fits));
    }
    return;
  }
  Values items;
  if (sequence.is_tuple()) {
    items.assign(sequence.items().begin(), sequence.items().end());
  } else if (sequence.is_list()) {
    items = sequence.items();
  } else {
    run_.frames.fail(FailureKind::kRaised, "cannot unpack a value that is not a sequence", node);
  }
  if (items.size() != results.size()) {
    run_.frames.fail(FailureKind::kRaised,
                     "ValueError: expected " + std::to_string(results.size()) + " elements but found " +
                         std::to_string(items.size()),
                     node);
  }
  for (std::size_t i = 0; i < results.size(); ++i) run_.frames.set(results[i], std::move(items[i]));
}

// --- attributes ---

Value Interpreter::attribute(const ObjectValue& object, const std::string& name, const TypePtr& type,
                             const IrNode* node) {
  const auto slot = class_of(object).find_slot(name);
  if (!slot) run_.frames.fail(FailureKind::kRaised, "AttributeError: no attribute '" + name + "'", node);
  const Value current = *slot < object.slots.size() ? object.slots[*slot] : Value();
  const Proxy* proxy = find_proxy(current);
  const bool opaque_proxy = proxy != nullptr && !proxy->ref.valid();
  const auto module = run_.program.find_module(&object);
  const bool live = module && run_.records() && run_.program.is_set_by_code(class_of(object), name) &&
                    run_.tracer->runs_in_leaf(*module);
  if (!current.is_tensor() && !opaque_proxy && !live) {
    // An attribute that only __setstate__ would have filled.
    const bool missing = current.is_none() && !is_subtype(*none_type(), *type);
    if (!missing) return current;
  }
  const TypePtr static_type = current.is_tensor() ? TypePtr(tensor_type()) : type;
  AbstractValue info;
  if (run_.shapes && (current.is_tensor() || opaque_proxy)) info = known_of_value(current);
  if (!run_.records()) return make_proxy(NodeRef{}, static_type, std::move(info));
  const std::string* path = run_.program.find_path(&object);
  if (path == nullptr) {
    if (current.is_tensor()) return current;
    run_.frames.fail(FailureKind::kUnsupportedOp, "the value of attribute '" + name + "' is not known", node);
  }
  const std::string target = (path->empty() ? "" : *path + ".") + path_part(name);
  Meta known = meta_of(type);
  if (current.is_tensor()) {
    known.type = "Tensor";
    known.dtype = dtype_name(current.to_tensor().dtype);
    known.shape.emplace(current.to_tensor().sizes.begin(), current.to_tensor().sizes.end());
  }
  const NodeId id = live ? run_.tracer->get_attr_again(target, std::move(known), run_.frames.location(node))
                         : run_.tracer->get_attr(target, std::move(known), run_.frames.location(node));
  return make_proxy(run_.ref(id), static_type, std::move(info));
}

void Interpreter::get_attribute(const IrNode* node) {
  const Value holder = run_.frames.input(node, 0);
  const std::string& name = node->text();
  if (const Proxy* proxy = find_proxy(holder)) {
    const auto* class_type = proxy->static_type->as<ClassType>();
    const auto slot = class_type != nullptr ? class_type->find_slot(name) : std::nullopt;
    const auto* slots = known_of(holder).sequence();
    AbstractValue known =
        slot && slots != nullptr && *slot < slots->size() ? (*slots)[*slot] : AbstractValue{};
    return run_.frames.set(node, run_.recording.apply("builtins.getattr", {holder, name},
                                                      node->output()->type(), node, std::move(known)));
  }
  if (!holder.is_object())
    run_.frames.fail(FailureKind::kRaised, "AttributeError: no attribute '" + name + "'", node);
  run_.frames.set(node, attribute(holder.to_object(), name, node->output()->type(), node));
}

void Interpreter::set_attribute(const IrNode* node) {
  const Value holder = run_.frames.input(node, 0);
  const std::string& name = node->text();
  if (!holder.is_object()) {
    run_.frames.fail(FailureKind::kUnsupportedOp,
                     "attribute '" + name + "' of a value that depends on an input is set", node);
  }
  const Ref<ObjectValue> object(&holder.to_object());
  if (run_.makes_subgraphs()) check_change(holder, "attribute '" + name + "' is set", node);
  const auto found = class_of(*object).find_slot(name);
  if (!found) run_.frames.fail(FailureKind::kRaised, "AttributeError: no attribute '" + name + "'", node);
  const std::size_t slot = *found;
  Value before = slot < object->slots.size() ? object->slots[slot] : Value();
  run_.changes.add([object, slot, before] { object->slots.at(slot) = before; });
  object->slots.at(slot) = run_.frames.input(node, 1);
}

// --- undoing ---

void Interpreter::materialize(const Value& container, const IrNode* node) {
  const bool list = container.is_list();
  if (run_.makes_subgraphs()) check_change(container, list ? "a list is changed" : "a dict is changed", node);
  Value proxy = run_.recording.apply(list ? "builtins.list" : "builtins.dict", {container},
                                     dynamic_type(container), node);
  run_.frames.replace(container, std::move(proxy));
  run_.changes.add([this, container] { run_.frames.take_back_replacement(container); });
}

}  // namespace fxtrace::torchscript
