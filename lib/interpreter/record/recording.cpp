#include "interpreter/record/recording.h"

#include "interpreter/program/convert.h"
#include "interpreter/state/abstract.h"
#include "support/text/printable.h"
#include "support/text/utf8.h"

namespace fxtrace::interpreter {
namespace {

// The memory that an argument takes, in units of the budget.
constexpr std::size_t kUnitsOfArgument = 4;

}  // namespace

const Proxy* Recording::find_recorded(const Value& value) const {
  const Proxy* proxy = find_proxy(value);
  return proxy != nullptr && proxy->ref.valid() ? proxy : nullptr;
}

NodeRef Recording::call_function(std::string target, std::vector<Argument> args, Kwargs kwargs,
                                 const TypePtr& type, const AbstractValue& known, const IrNode* node) {
  return tracer.ref(tracer.call_function(std::move(target), std::move(args), std::move(kwargs),
                                         type == nullptr ? Meta{} : meta_of(type, known),
                                         context_.frames.location(node)));
}

NodeRef Recording::call_method(const std::string& method, std::vector<Argument> args, const TypePtr& type,
                               const IrNode* node) {
  return tracer.ref(
      tracer.call_method(method, std::move(args), {}, meta_of(type), context_.frames.location(node)));
}

std::optional<std::int64_t> Recording::number_of(const Value& value) {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return std::nullopt;
  const auto known = ask_graph(proxy->ref, [&](const NumberedGraph& graph) {
    return integer_of(graph, proxy->ref.node, context_.dimensions);
  });
  return known ? context_.dimensions.simplify(*known).number() : std::nullopt;
}

bool Recording::is_unwritten(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  // Writes in a graph that is still being recorded are not among the users of a value around it.
  return proxy != nullptr && &tracer.graph_of(proxy->ref) == &tracer.graph() &&
         ask_graph(proxy->ref,
                   [&](const NumberedGraph& graph) { return fxtrace::is_unwritten(graph, proxy->ref.node); });
}

bool Recording::is_given(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return false;
  const Opcode op = tracer.graph_of(proxy->ref).node(proxy->ref.node).op;
  return op == Opcode::kPlaceholder || op == Opcode::kGetAttr;
}

Recording::Arguments Recording::call_arguments(Function& function, const Values& values, std::size_t first,
                                               const IrNode* node) {
  return arguments(function.schema(), values, first, node, [&](std::size_t index) {
    const NumberMeaning meaning = context_.program.meanings().of_parameter(function, index);
    if (meaning != NumberMeaning::kNumber || node == nullptr) return meaning;
    const std::size_t offset = node->kind() == Symbol::kPrimCallFunction ? 1 : 0;  // the function itself
    return index + offset < node->inputs().size()
               ? context_.program.meanings().by_source(node->input(index + offset))
               : meaning;
  });
}

Recording::Arguments Recording::arguments(const FunctionSchema& schema, const Values& values,
                                          std::size_t first, const IrNode* node,
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

bool Recording::is_default(const torchscript::Constant& literal, const Value& value, const Argument& given,
                           NumberMeaning meaning, const IrNode* node) {
  // Most defaults are numbers or None, which are cheap to compare.
  if (literal.is_none()) return value.is_none();
  if (find_proxy(value) != nullptr || value.is_none()) return false;
  return argument(context_.program.archive().value_of(literal), node, meaning) == given;
}

Argument Recording::argument(const Value& value, const IrNode* node, NumberMeaning meaning) {
  context_.measure(value, node);
  context_.note_key_order(value);
  return argument_part(value, node, meaning);
}

// A dtype and a layout are integers in TorchScript, which its own operators give.
Argument Recording::number_of_attribute(const Proxy& attribute, const IrNode* node) {
  const fxtrace::Node& made_by = tracer.graph_of(attribute.ref).node(attribute.ref.node);
  const auto* tensor = made_by.args.empty() ? nullptr : made_by.args[0].get_if<NodeId>();
  if (made_by.target != "builtins.getattr" || tensor == nullptr) return tracer.use(attribute.ref);
  const std::string target = "prim." + *made_by.args[1].get_if<std::string>() + ".default";
  return tracer.call_function(target, {tracer.use({attribute.ref.graph, *tensor})}, {}, meta_of(int_type()),
                              context_.frames.location(node));
}

Argument Recording::argument_part(const Value& value, const IrNode* node, NumberMeaning meaning) {
  context_.budget.spend(kUnitsOfArgument);
  if (const Proxy* proxy = find_proxy(value)) {
    if (const std::string* why = context_.frames.why_given_away(*proxy)) context_.frames.refuse(*why, node);
    if (!proxy->ref.valid()) {
      context_.frames.refuse("a value is used that only __setstate__ would compute", node);
    }
    if (meaning == NumberMeaning::kNumber && proxy->meaning != meaning)
      return number_of_attribute(*proxy, node);
    return tracer.use(proxy->ref);
  }
  if (value.is_none()) return Argument::None{};
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return context_.number(value.to_int(), meaning, node);
  if (value.is_double()) return value.to_double();
  if (value.is_complex()) return value.to_complex();
  if (value.is_string()) {
    // TorchScript's texts are bytes, which chr() and slices may cut or make.
    std::string text = value.to_string();
    if (valid_utf8(text) != text)
      context_.frames.refuse("a text that is not UTF-8, which Python cannot have: '" + short_line(text) + "'",
                             node);
    return text;
  }
  if (value.is_device()) return Argument::Device{value.to_device().text()};
  if (value.is_enum()) return argument(value.to_enum().value, node);
  if (value.is_tensor()) {
    const TensorValue& tensor = value.to_tensor();
    // A list of parameters has tensors without nodes, as in nn.LSTM.
    if (const ParameterRecord* record = context_.program.find_parameter(tensor)) {
      const TensorNames::Known now = context_.names.find_known(tensor);
      return tracer.get_attr(record->name, meta_of(tensor_type(), now ? *now : known_of_value(value)),
                             context_.frames.location(node));
    }
    return tracer.constant(
        &tensor, [&] { return context_.program.archive().constant(tensor); }, context_.frames.location(node));
  }
  if (const Value* made = context_.frames.find_replacement(value)) return argument_part(*made, node, meaning);
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
    if (const auto module = context_.program.find_module(&object); module && module->index != 0) {
      return tracer.get_attr(name_in_file(context_.program.modules()[module->index]), meta_of(object.type),
                             context_.frames.location(node));
    }
    if (const std::string* path = context_.program.find_path(&object); path != nullptr && !path->empty()) {
      return tracer.get_attr(*path, meta_of(object.type), context_.frames.location(node));
    }
    if (auto constant = context_.program.archive().find_object_constant(&object)) {
      return tracer.constant(&object, [&] { return std::move(*constant); }, context_.frames.location(node));
    }
    context_.frames.refuse(
        "an object of " + type_name(*object.type) + " that was made while tracing is passed as an argument",
        node);
  }
  context_.frames.refuse(
      "a value of type " + type_name(*dynamic_type(value)) + " cannot be an argument of a node", node);
}

std::string Recording::describe(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return "a value";
  return description(tracer.graph_of(proxy->ref), proxy->ref.node);
}

std::string Recording::what_decides(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return "an input";
  return std::string(fxtrace::what_decides(tracer.graph_of(proxy->ref), proxy->ref.node));
}

Expression Recording::condition_of(const Value& value, bool* over_inputs) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return Expression::variable("a value");
  Expression expression =
      guard_expression(tracer.graph_of(proxy->ref), proxy->ref.node, guard_size(), over_inputs);
  guards_length_ += expression.text().size();
  return expression;
}

Expression Recording::length_of(const Value& list, bool* over_inputs) const {
  const NodeRef& ref = find_recorded(list)->ref;
  Expression expression = length_expression(tracer.graph_of(ref), ref.node, guard_size(), over_inputs);
  guards_length_ += expression.text().size();
  return expression;
}

// Thousands of long guards would be longer than the graph.
GuardSize Recording::guard_size() const {
  constexpr std::size_t kMuch = std::size_t{1} << 22;
  return guards_length_ < kMuch ? GuardSize{} : GuardSize{3, 30};
}

}  // namespace fxtrace::interpreter
