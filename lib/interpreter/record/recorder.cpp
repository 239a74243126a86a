#include "interpreter/record/recorder.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "support/text/unicode.h"

namespace fxtrace::internal::interpreter {
namespace {

// The memory that an argument takes, in units of the budget.
constexpr std::size_t kUnitsOfArgument = 4;

template <class Kind>
std::optional<Argument> named(std::optional<std::string> name) {
  if (!name) return std::nullopt;
  return Argument(Kind{std::move(*name)});
}

// Returns nothing when the number stands for none of those.
std::optional<Argument> number_argument(std::int64_t number, NumberMeaning meaning) {
  switch (meaning) {
    case NumberMeaning::kDtype:
      return named<Argument::Dtype>(find_dtype_name(number));
    case NumberMeaning::kLayout:
      return named<Argument::Layout>(find_layout_name(number));
    case NumberMeaning::kMemoryFormat:
      return named<Argument::MemoryFormat>(find_memory_format_name(number));
    default:
      return Argument(number);
  }
}

std::string no_such(std::int64_t number, NumberMeaning meaning) {
  const char* what = meaning == NumberMeaning::kDtype    ? "dtype "
                     : meaning == NumberMeaning::kLayout ? "layout "
                                                         : "memory format ";
  return "unknown " + (what + std::to_string(number));
}

}  // namespace

const Proxy* Recorder::find_recorded(const Value& value) const {
  const Proxy* proxy = records() ? find_proxy(value) : nullptr;
  return proxy != nullptr && proxy->ref.valid() ? proxy : nullptr;
}

NodeRef Recorder::call_function(std::string target, std::vector<Argument> args, Kwargs kwargs,
                                const TypePtr& type, const AbstractValue& known, const IrNode* node) {
  if (!records()) return {};
  return tracer_->ref(tracer_->call_function(std::move(target), std::move(args), std::move(kwargs),
                                             type == nullptr ? Meta{} : meta_of(type, known),
                                             state.frames.location(node)));
}

NodeRef Recorder::call_method(const std::string& method, std::vector<Argument> args, const TypePtr& type,
                              const IrNode* node) {
  if (!records()) return {};
  return tracer_->ref(
      tracer_->call_method(method, std::move(args), {}, meta_of(type), state.frames.location(node)));
}

Value Recorder::call(std::string target, std::vector<Argument> args, const TypePtr& type, const IrNode* node,
                     AbstractValue known, Kwargs kwargs) {
  const NodeRef made =
      call_function(std::move(target), std::move(args), std::move(kwargs), type, known, node);
  return result(made, type, std::move(known));
}

Value Recorder::apply(std::string target, const Values& operands, const TypePtr& type, const IrNode* node,
                      AbstractValue known) {
  std::vector<Argument> args;
  for (const Value& operand : operands) args.push_back(argument(operand, node));
  return call(std::move(target), std::move(args), type, node, std::move(known));
}

Value Recorder::result(NodeRef node, const TypePtr& type, AbstractValue known) {
  return type->kind() == TypeKind::kNone ? Value() : make_proxy(node, type, std::move(known));
}

Argument Recorder::number(std::int64_t number, NumberMeaning meaning, const IrNode* node) const {
  auto argument = number_argument(number, meaning);
  if (!argument) state.frames.raise("RuntimeError: " + no_such(number, meaning), node);
  return *std::move(argument);
}

std::optional<std::int64_t> Recorder::number_of(const Value& value) {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return std::nullopt;
  const auto known = ask_graph(proxy->ref, [&](const NumberedGraph& graph) {
    return integer_of(graph, proxy->ref.node, state.dimensions);
  });
  return known ? state.dimensions.simplify(*known).number() : std::nullopt;
}

bool Recorder::is_unwritten(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  // Writes in a graph that is still being recorded are not among the users of a value around it.
  return proxy != nullptr && &tracer_->graph_of(proxy->ref) == &tracer_->graph() &&
         ask_graph(proxy->ref, [&](const NumberedGraph& graph) {
           return internal::is_unwritten(graph, proxy->ref.node);
         });
}

bool Recorder::is_given(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return false;
  const Opcode op = tracer_->graph_of(proxy->ref).node(proxy->ref.node).op;
  return op == Opcode::kPlaceholder || op == Opcode::kGetAttr;
}

Recorder::Arguments Recorder::call_arguments(Function& function, const Values& values, std::size_t first,
                                             const IrNode* node) {
  return arguments(function.schema(), values, first, node, [&](std::size_t index) {
    const NumberMeaning meaning = run_.program.meanings().of_parameter(function, index);
    if (meaning != NumberMeaning::kNumber || node == nullptr) return meaning;
    const std::size_t offset = node->kind() == Symbol::kPrimCallFunction ? 1 : 0;  // the function itself
    return index + offset < node->inputs().size()
               ? run_.program.meanings().by_source(node->input(index + offset))
               : meaning;
  });
}

Recorder::Arguments Recorder::arguments(const FunctionSchema& schema, const Values& values, std::size_t first,
                                        const IrNode* node,
                                        const std::function<NumberMeaning(std::size_t)>& meaning) {
  std::vector<Argument> args;
  Kwargs kwargs;
  std::size_t needed = 0;  // positional arguments up to the last that is not at its default
  const auto& formals = schema.arguments;
  for (std::size_t i = first; i < values.size(); ++i) {
    if (i >= formals.size()) {  // more arguments than the schema names: aten::format
      args.push_back(argument(values[i], node));
      needed = args.size();
      continue;
    }
    const FunctionArgument& formal = formals[i];
    const NumberMeaning number = meaning ? meaning(i) : meaning_of_parameter(schema, i);
    Argument value = argument(values[i], node, number);
    const bool at_default =
        formal.default_value && is_default(*formal.default_value, values[i], value, number, node);
    if (formal.keyword_only) {
      if (!at_default) kwargs.emplace_back(formal.name, std::move(value));
    } else {
      args.push_back(std::move(value));
      if (!at_default) needed = args.size();
    }
  }
  args.resize(needed);
  return {std::move(args), std::move(kwargs)};
}

bool Recorder::is_default(const torchscript::ScriptConstant& literal, const Value& value,
                          const Argument& given, NumberMeaning meaning, const IrNode* node) {
  // Most defaults are numbers or None, which are cheap to compare.
  if (literal.is_none()) return value.is_none();
  if (find_proxy(value) != nullptr || value.is_none()) return false;
  return argument(run_.program.archive().value_of(literal), node, meaning) == given;
}

Argument Recorder::argument(const Value& value, const IrNode* node, NumberMeaning meaning) {
  if (!records()) return Argument::None{};
  state.measure(value, node);
  note_key_order(value);
  return argument_part(value, node, meaning);
}

// A dtype and a layout are integers in TorchScript, which its own operators give.
Argument Recorder::number_of_attribute(const Proxy& attribute, const IrNode* node) {
  const internal::Node& made_by = tracer_->graph_of(attribute.ref).node(attribute.ref.node);
  const auto* tensor = made_by.args.empty() ? nullptr : made_by.args[0].get_if<NodeId>();
  if (made_by.target != "builtins.getattr" || tensor == nullptr) return tracer_->use(attribute.ref);
  const std::string target = "prim." + *made_by.args[1].get_if<std::string>() + ".default";
  return tracer_->call_function(target, {tracer_->use({attribute.ref.graph, *tensor})}, {},
                                meta_of(int_type()), state.frames.location(node));
}

Argument Recorder::argument_part(const Value& value, const IrNode* node, NumberMeaning meaning) {
  run_.budget.spend(kUnitsOfArgument);
  if (const Proxy* proxy = find_proxy(value)) {
    if (const std::string* why = state.frames.why_given_away(*proxy)) state.frames.refuse(*why, node);
    if (!proxy->ref.valid()) {
      state.frames.refuse("a value is used that only __setstate__ would compute", node);
    }
    if (meaning == NumberMeaning::kNumber && proxy->meaning != meaning)
      return number_of_attribute(*proxy, node);
    return tracer_->use(proxy->ref);
  }
  if (value.is_none()) return Argument::None{};
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return number(value.to_int(), meaning, node);
  if (value.is_double()) return value.to_double();
  if (value.is_complex()) return value.to_complex();
  if (value.is_string()) {
    // TorchScript's texts are bytes, which chr() and slices may cut or make.
    std::string text = value.to_string();
    if (valid_utf8(text) != text)
      state.frames.refuse("a text that is not UTF-8, which Python cannot have: '" + short_line(text) + "'",
                          node);
    return text;
  }
  if (value.is_device()) return Argument::Device{value.to_device().text()};
  if (value.is_enum()) return argument(value.to_enum().value, node);
  if (value.is_tensor()) {
    const TensorValue& tensor = value.to_tensor();
    // A list of parameters has tensors without nodes, as in nn.LSTM.
    if (const ParameterRecord* record = run_.program.find_parameter(tensor)) {
      const TensorNames::KnownValue now = state.names.find_known(tensor);
      return tracer_->get_attr(record->name, meta_of(tensor_type(), now ? *now : known_of_value(value)),
                               state.frames.location(node));
    }
    return tracer_->constant(
        &tensor, [&] { return run_.program.archive().constant(tensor); }, state.frames.location(node));
  }
  if (const Value* made = state.frames.find_replacement(value)) return argument_part(*made, node, meaning);
  if (value.is_list()) {
    Argument::List list;
    for (const auto& item : value.items()) list.items.push_back(argument_part(item, node, meaning));
    return list;
  }
  if (value.is_tuple()) {
    Argument::Tuple tuple;
    tuple.names = tuple_names(value.to_tuple().type.get());
    for (const auto& item : value.items())
      tuple.items.push_back(argument_part(item, node, NumberMeaning::kNumber));
    return tuple;
  }
  if (value.is_dict()) {
    Argument::Dict dict;
    for (const auto& entry : value.to_dict().entries()) {
      dict.items.emplace_back(argument_part(entry.key, node, NumberMeaning::kNumber),
                              argument_part(entry.value, node, NumberMeaning::kNumber));
    }
    return dict;
  }
  if (value.is_object()) {
    const auto& object = value.to_object();
    if (const auto module = run_.program.find_module(&object); module && module->index != 0) {
      return tracer_->get_attr(name_in_file(run_.program.modules()[module->index]), meta_of(object.type),
                               state.frames.location(node));
    }
    if (const std::string* path = run_.program.find_path(&object); path != nullptr && !path->empty()) {
      return tracer_->get_attr(*path, meta_of(object.type), state.frames.location(node));
    }
    if (auto constant = run_.program.archive().find_object_constant(&object)) {
      return tracer_->constant(&object, [&] { return std::move(*constant); }, state.frames.location(node));
    }
    state.frames.refuse(
        "an object of " + type_name(*object.type) + " that was made while tracing is passed as an argument",
        node);
  }
  state.frames.refuse(
      "a value of type " + type_name(*dynamic_type(value)) + " cannot be an argument of a node", node);
}

std::string Recorder::describe(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return "a value";
  return description(tracer_->graph_of(proxy->ref), proxy->ref.node);
}

std::string Recorder::what_decides(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return "an input";
  return std::string(internal::what_decides(tracer_->graph_of(proxy->ref), proxy->ref.node));
}

Expression Recorder::condition_of(const Value& value, bool* over_inputs) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return Expression::variable("a value");
  Expression expression =
      guard_expression(tracer_->graph_of(proxy->ref), proxy->ref.node, guard_size(), over_inputs);
  guards_length_ += expression.text().size();
  return expression;
}

Expression Recorder::length_of(const Value& list, bool* over_inputs) const {
  const NodeRef& ref = find_recorded(list)->ref;
  Expression expression = length_expression(tracer_->graph_of(ref), ref.node, guard_size(), over_inputs);
  guards_length_ += expression.text().size();
  return expression;
}

void Recorder::guard(Expression condition, const std::optional<SourceLocation>& source, GuardReason reason) {
  if (records()) tracer_->guard(std::move(condition), source, reason);
}

void Recorder::assume_length(const IrNode* node, const Value& list, std::size_t length) {
  if (records() && !conditions.assume_length(node, list, length))
    rely_on(node, "aten::len", {list}, {SymInt(static_cast<std::int64_t>(length))}, {});
}

// "conv1: aten.conv2d of float32[1,5,8,8], float32[4,3,3,3] raises (net.py:12): ..."
void Recorder::report_invalid(const IrNode* node, const std::string& what, const std::string& error) {
  if (!records() && mode != Mode::kLeaf) return;
  const std::string& path = run_.program.modules()[state.module.index].path;
  std::string text = (path.empty() ? "the root module" : path) + ": " + what + " raises";
  if (const std::optional<SourceLocation> source = state.frames.location(node))
    text += " (" + source->file + ":" + std::to_string(source->line) + ")";
  findings_->report_invalid(state.module, node, text + ": " + error);
}

void Recorder::note_key_order(const Value& value) {
  if (key_orders.empty()) return;
  if (const auto found = key_orders.find(value.identity()); value.is_dict() && found != key_orders.end()) {
    const Expression order = found->second;
    key_orders.erase(found);
    state.changes.add([this, key = value.identity(), order] { key_orders.emplace(key, order); });
    guard(order, std::nullopt, GuardReason::kConcrete);
  }
  if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries()) note_key_order(entry.value);
  } else if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items()) note_key_order(item);
  }
}

// The arguments that all calls of a module have in common describe the inputs of its own graph.
void Recorder::remember_call(ModuleId module, const Values& values, const IrNode* node) {
  if (mode == Mode::kNothing) return;
  constexpr std::size_t kUnitsOfKnown = 16;
  for (const Value& argument : values) run_.budget.spend(kUnitsOfKnown * extent_of(argument).looked);
  SeenCalls& calls = findings_->calls;
  const Values given(values.begin() + 1, values.end());
  if (inputs_are_open) return calls.remember_open(module, given);
  std::vector<bool> may_be_roots;
  for (std::size_t i = 1; has_concrete && i < node->inputs().size(); ++i)
    may_be_roots.push_back(!node->input(i)->node()->is(Symbol::kPrimConstant));
  calls.remember(run_.root, module, given, std::move(may_be_roots));
}

Checkpoint Recorder::checkpoint() {
  const Journal::Mark now = state.changes.mark();
  Checkpoint made{now,         state.frames.size(), state.changes.begin_stretch(now),
                  state.steps, state.switches,      {}};
  if (records()) {
    made.recorded = {tracer_->mark(), tracer_->graph().mark().ids, findings_->calls.count(run_.root),
                     state.dimensions, conditions.assumed()};
  }
  return made;
}

void Recorder::back_to(Checkpoint before) {
  if (before.recorded) tracer_->undo_to(before.recorded->nodes);
  state.frames.pop_to(before.frames);
  state.changes.undo_to(before.changes);
  state.changes.begin_stretch(before.stretch);
  state.steps = before.steps;
  state.switches = std::move(before.switches);
  if (!before.recorded) return;
  findings_->calls.forget(run_.root, before.recorded->seen_calls);
  state.dimensions = std::move(before.recorded->dimensions);
  conditions.set_assumed(std::move(before.recorded->assumed));
  input_guards.forget_nodes();
}

// Thousands of long guards would be longer than the graph.
GuardSize Recorder::guard_size() const {
  constexpr std::size_t kMuch = std::size_t{1} << 22;
  return guards_length_ < kMuch ? GuardSize{} : GuardSize{3, 30};
}

void RecordedStacks::begin() {
  if (tracer_.rules().has_function_rules()) calls_.emplace(tracer_.rules(), run_.program.modules());
}

void RecordedStacks::fold() {
  if (calls_) tracer_.add_unwrapped_calls(calls_->fold(tracer_.graph_to_rewrite()));
}

// The nodes of a call that is followed have the stacks of the operations within.
void RecordedStacks::note(const IrNode* node, std::size_t first) {
  if (node->kind() != Symbol::kPrimCallMethod) note(first, run_.program.stack(node));
}

void RecordedStacks::note_leaf(const IrNode* node, std::size_t first) {
  constexpr int kMaxNodes = 1000, kMaxDepth = 10;
  const IrGraph* called = called_method(node);
  if (called == nullptr) return;
  int nodes = kMaxNodes;
  note(first, stack_inside(*called, kMaxDepth, nodes));
  run_.budget.spend(static_cast<std::size_t>(kMaxNodes - std::max(nodes, 0)));
}

void RecordedStacks::note(std::size_t first, const std::vector<StackFrame>& stack) {
  if (!(tracer_.ref(NodeId{}).graph == kRootGraph)) return;
  const Graph& graph = tracer_.graph();
  const std::size_t end = graph.mark().ids;
  if (first == end) return;
  constexpr std::size_t kBytesOfUnit = 16;
  for (const StackFrame& frame : stack)
    run_.budget.spend(1 + (frame.file.size() + frame.function.size()) / kBytesOfUnit);
  for (std::size_t i = first; i < end; ++i) {
    const NodeId id{static_cast<std::uint32_t>(i)};
    if (graph.contains(id) && graph.node(id).op != Opcode::kGetAttr) calls_->note(id, stack);
  }
}

// Returns the code of the method that the node calls; null where it has none.
const IrGraph* RecordedStacks::called_method(const IrNode* node) const {
  const Function* method = find_called(*node);
  return method == nullptr ? nullptr : run_.program.archive().find_graph(*method);
}

// Returns the stack of the first operation that has one.  Constants and attributes are passed over, as they
// have the stack of their user.
std::vector<StackFrame> RecordedStacks::stack_inside(const IrGraph& graph, int depth, int& nodes) const {
  for (const IrNode* node : graph.nodes()) {
    if (--nodes < 0 || depth == 0) break;
    if (node->is(Symbol::kPrimConstant) || node->is(Symbol::kPrimGetAttr)) continue;
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

}  // namespace fxtrace::internal::interpreter
