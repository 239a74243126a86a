#include "torchscript/recording.h"

#include "script/plain_operators.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"

namespace fxtrace::torchscript {
namespace {

// What is kept, in units of the budget.
constexpr std::size_t kUnitsOfArgument = 4;

template <class Kind>
std::optional<Argument> named(std::optional<std::string> name) {
  if (!name) return std::nullopt;
  return Argument(Kind{std::move(*name)});
}

// Nothing when the number is none of those.
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
  return "there is no " + (what + std::to_string(number));
}

}  // namespace

const Proxy* Recording::find_recorded(const Value& value) const {
  const Proxy* proxy = context_.records() ? find_proxy(value) : nullptr;
  return proxy != nullptr && proxy->ref.valid() ? proxy : nullptr;
}

Extent Recording::measure(const Value& value, const IrNode* node) {
  const Extent extent = extent_of(value);
  context_.budget.spend(extent.looked);
  if (extent.size > script::kMaxPlainSize) {
    frames_.fail(
        FailureKind::kLimit,
        "a value that holds itself, or more than " + std::to_string(script::kMaxPlainSize) + " others", node);
  }
  return extent;
}

Value Recording::call(std::string target, std::vector<Argument> args, const TypePtr& type, const IrNode* node,
                      AbstractValue known, Kwargs kwargs) {
  NodeId id;
  if (context_.records()) {
    id = context_.tracer->call_function(std::move(target), std::move(args), std::move(kwargs),
                                        meta_of(type, known), frames_.location(node));
  }
  return result(id, type, std::move(known));
}

Value Recording::apply(std::string target, const Values& operands, const TypePtr& type, const IrNode* node,
                       AbstractValue known) {
  std::vector<Argument> args;
  for (const Value& operand : operands) args.push_back(argument(operand, node));
  return call(std::move(target), std::move(args), type, node, std::move(known));
}

Value Recording::result(NodeId node, const TypePtr& type, AbstractValue known) const {
  return type->kind() == TypeKind::kNone ? Value() : make_proxy(context_.ref(node), type, std::move(known));
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

bool Recording::is_default(const script::Constant& literal, const Value& value, const Argument& given,
                           NumberMeaning meaning, const IrNode* node) {
  // Nearly all are numbers, or None, and are told apart at a glance.
  if (literal.is_none()) return value.is_none();
  if (find_proxy(value) != nullptr || value.is_none()) return false;
  return argument(context_.program.archive().value_of(literal), node, meaning) == given;
}

Argument Recording::number(std::int64_t number, NumberMeaning meaning, const IrNode* node) const {
  auto argument = number_argument(number, meaning);
  if (!argument) frames_.raise("RuntimeError: " + no_such(number, meaning), node);
  return std::move(*argument);
}

void Recording::check_numbers(const FunctionSchema& schema, const Values& values, const IrNode* node) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_int()) number(values[i].to_int(), meaning_of_parameter(schema, i), node);
  }
}

Argument Recording::argument(const Value& value, const IrNode* node, NumberMeaning meaning) {
  if (!context_.records()) return Argument::None{};  // nobody looks at it
  measure(value, node);
  return argument_part(value, node, meaning);
}

Argument Recording::argument_part(const Value& value, const IrNode* node, NumberMeaning meaning) {
  context_.budget.spend(kUnitsOfArgument);
  if (const Proxy* proxy = find_proxy(value)) {
    if (!proxy->ref.valid()) {
      frames_.refuse("a value that only __setstate__ would compute is used", node);
    }
    return context_.tracer->use(proxy->ref);
  }
  if (value.is_none()) return Argument::None{};
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return number(value.to_int(), meaning, node);
  if (value.is_double()) return value.to_double();
  if (value.is_complex()) return value.to_complex();
  if (value.is_string()) return value.to_string();
  if (value.is_device()) return Argument::Device{value.to_device().text()};
  if (value.is_enum()) return argument(value.to_enum().value, node);
  if (value.is_tensor()) {
    const TensorValue& tensor = value.to_tensor();
    // nn.LSTM has a list of its own parameters.
    if (const ParameterRecord* record = context_.program.find_parameter(tensor)) {
      const TensorNames::Known now = context_.names.find(tensor);
      return context_.tracer->get_attr(
          record->name, meta_of(tensor_type(), now ? *now : known_of_value(value)), frames_.location(node));
    }
    return context_.tracer->constant(
        &tensor, [&] { return context_.program.archive().constant(tensor); }, frames_.location(node));
  }
  if (const Value* made = frames_.find_replacement(value))
    return context_.tracer->use(find_proxy(*made)->ref);
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
      return context_.tracer->get_attr(name_in_file(context_.program.modules()[module->index]),
                                       meta_of(object.type), frames_.location(node));
    }
    if (const std::string* path = context_.program.find_path(&object); path != nullptr && !path->empty()) {
      return context_.tracer->get_attr(*path, meta_of(object.type), frames_.location(node));
    }
    if (auto constant = context_.program.archive().find_object_constant(&object)) {
      return context_.tracer->constant(&object, [&] { return std::move(*constant); }, frames_.location(node));
    }
    frames_.refuse("an object of " + type_name(*object.type) + " made while tracing is passed on whole",
                   node);
  }
  frames_.refuse("a value of type " + type_name(*dynamic_type(value)) + " cannot stand in a graph", node);
}

std::string Recording::describe(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return "a value";
  return description(context_.tracer->graph_of(proxy->ref), proxy->ref.node);
}

std::string Recording::what_decides(const Value& value) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return "an input";
  return std::string(fxtrace::what_decides(context_.tracer->graph_of(proxy->ref), proxy->ref.node));
}

Expression Recording::condition_of(const Value& value, bool* over_inputs) const {
  const Proxy* proxy = find_recorded(value);
  if (proxy == nullptr) return Expression::variable("a value");
  // Thousands of long guards would be longer than the graph.
  constexpr std::size_t kMuch = std::size_t{1} << 22;
  const GuardSize size = guards_length_ < kMuch ? GuardSize{} : GuardSize{3, 30};
  Expression expression =
      guard_expression(context_.tracer->graph_of(proxy->ref), proxy->ref.node, size, over_inputs);
  guards_length_ += expression.text().size();
  return expression;
}

}  // namespace fxtrace::torchscript
