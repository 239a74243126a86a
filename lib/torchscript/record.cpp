// Operators: carried out by LibTorch where everything is known, recorded as nodes where it is not.

#include <algorithm>
#include <optional>

#include "operators/operators.h"
#include "operators/python_spelling.h"
#include "script/plain_operators.h"
#include "script/tensor_elements.h"
#include "support/error.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/structure.h"

namespace fxtrace::torchscript {

namespace {

// What is kept, in units of the budget.
constexpr std::size_t kUnitsOfNode = 64, kUnitsOfArgument = 4;

bool is_container(const Value& value) { return value.is_list() || value.is_dict(); }

// Whether elements of any type fit here.
bool takes_anything(const Type& type) {
  if (type.kind() == TypeKind::kVar) return true;
  if (type.kind() == TypeKind::kList) return takes_anything(*type.contained_types()[0]);
  if (type.kind() == TypeKind::kTuple) {
    return std::any_of(type.contained_types().begin(), type.contained_types().end(),
                       [](const auto& inner) { return takes_anything(*inner); });
  }
  if (type.kind() == TypeKind::kDict) return takes_anything(*type.contained_types()[1]);
  return false;
}

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

// Whether one of its results is a tensor or holds one.
bool makes_tensor(const FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns, [](const FunctionArgument& result) {
    return result.type->kind() != TypeKind::kVar && may_hold_tensor(*result.type);
  });
}

// Whether the interpreter carries the operator out; else it records it.
bool is_carried_out(const FunctionSchema& schema, Traits traits, bool all_plain) {
  return all_plain && (traits & traits::kPlain) != 0 && !makes_tensor(schema);
}

FailureKind failure_kind(script::RefusalKind kind) {
  switch (kind) {
    case script::RefusalKind::kRaised:
      return FailureKind::kRaised;
    case script::RefusalKind::kLimit:
      return FailureKind::kLimit;
    default:
      return FailureKind::kUnsupportedOp;
  }
}

bool is_written(const FunctionSchema& schema, std::size_t index) {
  return index < schema.arguments.size() && schema.arguments[index].is_written;
}

}  // namespace

// What a dtype is compared with is a dtype: x.dtype == torch.float32, x.dtype in (torch.int32, torch.int64).
NumberMeaning Interpreter::compared_meaning(const IrNode* node, const Values& values) {
  if (!has_trait(node, traits::kCompares)) return NumberMeaning::kNumber;
  for (const Value& value : values) {
    if (const Proxy* proxy = find_proxy(value);
        proxy != nullptr && proxy->meaning != NumberMeaning::kNumber) {
      return proxy->meaning;
    }
  }
  for (const IrValue* input : node->inputs()) {
    const NumberMeaning meaning = program_.meanings().by_source(input);
    if (meaning != NumberMeaning::kNumber) return meaning;
  }
  return NumberMeaning::kNumber;
}

// What the table says of the operator; looked up once, as loops run it many times.
Traits Interpreter::traits_of(const IrNode* node) const {
  const auto [place, is_new] = traits_.emplace(node, 0);
  const auto* schema = is_new ? node->operator_schema() : nullptr;
  if (schema != nullptr) place->second = fxtrace::traits_of(find_operator(schema->schema));
  return place->second;
}

void Interpreter::run_operator(const IrNode* node) {
  if (node->kind() == Symbol::kPrimTolist) {
    // The type that is asked for is made before it is looked at.
    const TensorRef constant = find_constant(value(node->input(0)));
    const Value dimensions = node->inputs().size() == 3 ? value(node->input(1)) : Value();
    if (constant && dimensions.is_int() && dimensions.to_int() == constant->dim()) {
      TypePtr element = node->output()->type();
      while (const auto* list = element->as<ListType>()) element = list->element();
      if (auto list = script::find_list(*constant, element)) return set(node->output(), *std::move(list));
    }
    set(node->output(), record_call("torch.Tensor.tolist", {argument(value(node->input(0)), node)}, {},
                                    node->output()->type(), node));
    return;
  }
  const OperatorSchema* op = node->operator_schema();
  if (op == nullptr && (node->is(Symbol::kPrimEnumName) || node->is(Symbol::kPrimEnumValue))) {
    const Value& member = value(node->input(0));
    if (member.is_enum()) {
      return set(node->output(),
                 node->is(Symbol::kPrimEnumName) ? Value(member.to_enum().name) : member.to_enum().value);
    }
  }
  if (op == nullptr) {
    fail(FailureKind::kUnsupportedOp, std::string(to_text(node->kind())) + " cannot be followed", node);
  }
  const FunctionSchema* schema = &op->schema;
  Values values = inputs(node);
  check_numbers(*schema, values, node);
  if (is_structural(node, *schema, values)) return execute(node, std::move(values));
  bool all_plain = true;
  for (const Value& value : values) all_plain = measure(value, node).is_plain && all_plain;
  if (is_carried_out(*schema, traits_of(node), all_plain)) return execute(node, std::move(values));
  if (shapes_ && answer_dict(node, *schema, values)) return;
  if (!makes_tensor(*schema) && (shapes_ || asks_size_of_constant(node, values)) &&
      answer(node, *schema, values)) {
    return;
  }
  record(node, *schema, values);
}

bool Interpreter::is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!has_trait(node, traits::kMovesElements)) return false;
  if (values.empty()) return schema.name == "aten::dict";  // an empty one
  const auto& formals = schema.arguments;
  if (formals.empty() || values.empty() || !is_container(values[0]) || formals.size() != values.size())
    return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Type& formal = *formals[i].type;
    if (!takes_anything(formal)) {
      if (!is_plain(values[i])) return false;
    } else if (formal.kind() != TypeKind::kVar && !is_container(values[i])) {
      return false;
    }
  }
  return true;
}

void Interpreter::execute(const IrNode* node, Values values) {
  const FunctionSchema& schema = node->operator_schema()->schema;
  const Operator* row = find_operator(schema);
  const script::PlainOperator* plain = row == nullptr ? nullptr : script::find_plain_operator(row->name);
  if (plain == nullptr) fail(FailureKind::kUnsupportedOp, schema.name + " is not carried out", node);
  budget_.spend(script::cost_of(schema.name, values));
  // A list is not added to itself while it is gone through.
  if (schema.name == "aten::extend" && values.size() == 2 && values[0].is(values[1]))
    values[1] = copy_of(values[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_written(schema, i) || !is_container(values[i])) continue;
    if (makes_subgraphs()) note_change(values[i], name_of(node->input(i)), node);
    remember(values[i]);
  }
  Values results;
  if (auto refusal = script::carry_out(*plain, traits_of(node), values, results))
    fail(failure_kind(refusal->kind), readable_message(refusal->why), node);
  constexpr std::size_t kUnitsOfElement = 2;
  for (const Value& result : results) budget_.spend(kUnitsOfElement * script::length_of(result));
  const auto& outputs = node->outputs();
  for (std::size_t i = 0; i < outputs.size() && i < results.size(); ++i)
    set(outputs[i], std::move(results[i]));
}

void Interpreter::record(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!records() && !shapes_) {
    for (const IrValue* output : node->outputs()) set(output, make_proxy(NodeRef{}, output->type()));
    return;
  }
  for (std::size_t i = 0; i < values.size() && i < schema.arguments.size(); ++i) {
    if (is_written(schema, i) && values[i].is_tensor()) written_constants_.insert(values[i].identity());
    const bool numbers_or_dict =
        is_container(values[i]) && schema.arguments[i].type->kind() != TypeKind::kTensor &&
        !(schema.arguments[i].type->kind() == TypeKind::kList &&
          schema.arguments[i].type->contained_types()[0]->kind() == TypeKind::kTensor);
    if (is_written(schema, i) && numbers_or_dict) {
      if (mode_ == Mode::kAbstract)
        fail(FailureKind::kUnsupportedOp, "a list that depends on an input", node);
      materialize(values[i], node);
      return record(node, schema, inputs(node));
    }
  }
  budget_.spend(kUnitsOfNode);
  std::vector<AbstractValue> results = infer_results(node, schema, values);
  if (!records()) return set_recorded(node, NodeId{}, NumberMeaning::kNumber, std::move(results));
  if (record_container_change(node, schema, values, results.empty() ? AbstractValue{} : results[0]) ||
      record_in_python(node, schema, values))
    return;
  PythonTarget target = python_target(schema.name, schema.overload_name, own_schema(schema));
  const NumberMeaning compared = compared_meaning(node, values);
  auto [args, kwargs] = arguments(schema, values, 0, node, [&](std::size_t index) {
    const NumberMeaning meaning = meaning_of_parameter(schema, index);
    return meaning == NumberMeaning::kNumber ? compared : meaning;
  });
  NumberMeaning result_meaning = NumberMeaning::kNumber;
  switch (target.form) {
    case TargetForm::kUnsupported:
      for (const Value& value : values) ask(value);
      if (const Proxy* dict = values.empty() ? nullptr : find_recorded(values[0]);
          dict != nullptr && dict->static_type->kind() == TypeKind::kDict) {
        const std::string input = describe(values[0]);
        fail(FailureKind::kUnsupportedOp,
             schema.name + " of a dict whose keys are not known: " + input + "; --input '" + input +
                 ".KEY=float32[...]', once for each key, says which it has",
             node);
      }
      fail(FailureKind::kUnsupportedOp, schema.name + " of a value that depends on an input", node);
    case TargetForm::kAttribute:
      args = {argument(values[0], node), target.name};
      if (target.name == "dtype") result_meaning = NumberMeaning::kDtype;
      if (target.name == "layout") result_meaning = NumberMeaning::kLayout;
      target.name = "builtins.getattr";
      break;
    case TargetForm::kSlice: {
      Argument::Slice slice;
      for (std::size_t i = 1; i < 4; ++i) slice.parts.push_back(argument(values.at(i), node));
      args = {argument(values[0], node), std::move(slice)};
      break;
    }
    case TargetForm::kExtendOne:
      args = {argument(values[0], node), Argument::List{{argument(values.at(1), node)}}};
      break;
    case TargetForm::kSame:  // a Python function knows nothing of TorchScript's defaults
    case TargetForm::kOperator:
      break;
  }
  Meta known;
  if (node->outputs().size() == 1) {
    known = meta(node->output()->type(), results.at(0));
  } else if (!node->outputs().empty()) {
    std::vector<TypePtr> types;
    for (const IrValue* output : node->outputs()) types.push_back(output->type());
    known = meta(tuple_type(std::move(types)));
  } else {
    known = meta(none_type());
  }
  const NodeId recorded = tracer_->call_function(std::move(target.name), std::move(args), std::move(kwargs),
                                                 std::move(known), location(node));
  set_recorded(node, recorded, result_meaning, std::move(results));
}

// Changes of a list that the graph makes, for which Python has no function: written with those it has.
bool Interpreter::record_container_change(const IrNode* node, const FunctionSchema& schema,
                                          const Values& values, const AbstractValue& result) {
  const std::string& name = schema.name;
  if (values.empty() || find_proxy(values[0]) == nullptr) return false;
  const TypePtr none = none_type();
  const Argument self = argument(values[0], node);
  const auto call = [&](const char* target, std::vector<Argument> args, const TypePtr& type) {
    return record_call(target, std::move(args), {}, type, node);
  };
  if (name == "aten::insert") {
    const Argument at = argument(values.at(1), node);
    call("operator.setitem",
         {self, Argument::Slice{{at, at, Argument::None{}}}, Argument::List{{argument(values.at(2), node)}}},
         none);
    return true;
  }
  if (name == "aten::pop" && values[0].is_handle() && node->outputs().size() == 1) {
    const Argument at = values.size() > 1 ? argument(values[1], node) : Argument(-1);
    set(node->output(),
        record_call("operator.getitem", {self, at}, {}, node->output()->type(), node, result));
    call("operator.delitem", {self, at}, none);
    return true;
  }
  if (name == "aten::reverse") {
    const Argument none_given = Argument::None{};
    const Value reversed = call("operator.getitem", {self, Argument::Slice{{none_given, none_given, -1}}},
                                find_proxy(values[0])->static_type);
    call("operator.setitem",
         {self, Argument::Slice{{none_given, none_given, none_given}}, argument(reversed, node)}, none);
    return true;
  }
  if (name == "aten::clear") {
    call("operator.delitem", {self, Argument::Slice{{Argument::None{}, Argument::None{}, Argument::None{}}}},
         none);
    return true;
  }
  return false;
}

// "{} and {}".format(a, b) as "" + str(a) + " and " + str(b): str.format itself cannot stand in a graph.
Value Interpreter::formatted(const Values& values, const IrNode* node) {
  const std::string& text = values[0].to_string();
  const TypePtr string = string_type();
  std::size_t next = 1;
  std::size_t from = 0;
  Value result(std::string{});
  const auto add = [&](const Value& part) {
    if (part.is_string() && part.to_string().empty()) return;
    if (result.is_string() && result.to_string().empty()) {
      result = part;
    } else if (result.is_string() && part.is_string()) {
      result = result.to_string() + part.to_string();
    } else {
      result = record_call("operator.add", {argument(result, node), argument(part, node)}, {}, string, node);
    }
  };
  for (std::size_t at = text.find("{}"); at != std::string::npos && next < values.size();
       at = text.find("{}", from)) {
    add(text.substr(from, at - from));
    add(record_call("builtins.str", {argument(values[next++], node)}, {}, string, node));
    from = at + 2;
  }
  add(text.substr(from));
  return result;
}

// What Python does by other means than a function of the same arguments.
bool Interpreter::record_in_python(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  const std::string& name = schema.name;
  const bool is_text = !values.empty() && values[0].is_string();
  if (name == "aten::format" && is_text) {
    set(node->output(), formatted(values, node));
    return true;
  }
  if (name == "aten::percentFormat" && is_text && values.size() == 2) {
    set(node->output(), record_call("operator.mod", {argument(values[0], node), argument(values[1], node)},
                                    {}, string_type(), node));
    return true;
  }
  if (name == "aten::hash") {
    const Proxy* proxy = values.empty() ? nullptr : find_proxy(values[0]);
    if (proxy == nullptr || proxy->static_type->kind() != TypeKind::kInt) {
      // Of text and floats it is another number than Python's.
      fail(FailureKind::kUnsupportedOp, "hash() of a value that depends on an input and is no integer", node);
    }
    set(node->output(), record_call("builtins.hash", {argument(values[0], node)}, {}, int_type(), node));
    return true;
  }
  return false;
}

void Interpreter::set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                               std::vector<AbstractValue> known) {
  const auto& results = node->outputs();
  known.resize(results.size());
  if (results.size() == 1) {
    const TypePtr& type = results[0]->type();
    if (type->kind() == TypeKind::kNone) return set(results[0], Value());
    return set(results[0], meaning == NumberMeaning::kNumber
                               ? make_proxy(ref(recorded), type, std::move(known[0]))
                               : make_proxy(ref(recorded), type, meaning));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->has_uses()) continue;
    const TypePtr& type = results[i]->type();
    NodeId item = recorded;
    if (records()) {
      item = tracer_->call_function("operator.getitem", {recorded, static_cast<std::int64_t>(i)}, {},
                                    meta(type, known[i]), location(node));
    }
    set(results[i], make_proxy(ref(item), type, std::move(known[i])));
  }
}

Value Interpreter::record_call(std::string target, std::vector<Argument> args, Kwargs kwargs,
                               const TypePtr& type, const IrNode* node, AbstractValue known) {
  NodeId id;
  if (records()) {
    id = tracer_->call_function(std::move(target), std::move(args), std::move(kwargs), meta(type, known),
                                location(node));
  }
  return type->kind() == TypeKind::kNone ? Value() : make_proxy(ref(id), type, std::move(known));
}

std::pair<std::vector<Argument>, Kwargs> Interpreter::call_arguments(Function& function, const Values& values,
                                                                     std::size_t first, const IrNode* node) {
  return arguments(function.schema(), values, first, node, [&](std::size_t index) {
    const NumberMeaning meaning = program_.meanings().of_parameter(function, index);
    if (meaning != NumberMeaning::kNumber || node == nullptr) return meaning;
    const std::size_t offset = node->kind() == Symbol::kPrimCallFunction ? 1 : 0;  // the function itself
    return index + offset < node->inputs().size() ? program_.meanings().by_source(node->input(index + offset))
                                                  : meaning;
  });
}

std::pair<std::vector<Argument>, Kwargs> Interpreter::arguments(
    const FunctionSchema& schema, const Values& values, std::size_t first, const IrNode* node,
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

bool Interpreter::is_default(const script::Constant& literal, const Value& value, const Argument& given,
                             NumberMeaning meaning, const IrNode* node) {
  // Nearly all are numbers, or None, and are told apart at a glance.
  if (literal.is_none()) return value.is_none();
  if (find_proxy(value) != nullptr || value.is_none()) return false;
  return argument(program_.archive().value_of(literal), node, meaning) == given;
}

Argument Interpreter::number(std::int64_t number, NumberMeaning meaning, const IrNode* node) {
  auto argument = number_argument(number, meaning);
  if (!argument) fail(FailureKind::kRaised, "RuntimeError: " + no_such(number, meaning), node);
  return std::move(*argument);
}

// LibTorch looks such numbers up in tables, whatever they are.
void Interpreter::check_numbers(const FunctionSchema& schema, const Values& values, const IrNode* node) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_int()) number(values[i].to_int(), meaning_of_parameter(schema, i), node);
  }
}

Argument Interpreter::argument(const Value& value, const IrNode* node, NumberMeaning meaning) {
  if (!records()) return Argument::None{};  // nobody looks at it
  measure(value, node);
  return argument_part(value, node, meaning);
}

Argument Interpreter::argument_part(const Value& value, const IrNode* node, NumberMeaning meaning) {
  budget_.spend(kUnitsOfArgument);
  if (const Proxy* proxy = find_proxy(value)) {
    if (!proxy->ref.valid()) {
      fail(FailureKind::kUnsupportedOp, "a value that only __setstate__ would compute is used", node);
    }
    return tracer_->use(proxy->ref);
  }
  if (value.is_none()) return Argument::None{};
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return number(value.to_int(), meaning, node);
  if (value.is_double()) return value.to_double();
  if (value.is_complex()) {
    return value.to_complex();
  }
  if (value.is_string()) return value.to_string();
  if (value.is_device()) return Argument::Device{value.to_device().text()};
  if (value.is_enum()) return argument(value.to_enum().value, node);
  if (value.is_tensor()) {
    const TensorValue& tensor = value.to_tensor();
    // nn.LSTM has a list of its own parameters.
    if (const ParameterRecord* record = program_.find_parameter(tensor)) {
      return tracer_->get_attr(record->name, meta(tensor_type(), known_of_value(value)), location(node));
    }
    return tracer_->constant(&tensor, [&] { return program_.archive().constant(tensor); }, location(node));
  }
  if (!materialized_.empty() && is_container(value)) {
    const auto made = materialized_.find(value.identity());
    if (made != materialized_.end()) return tracer_->use(find_proxy(made->second.proxy)->ref);
  }
  if (value.is_list()) {
    Argument::List list;
    for (const auto& item : value.items()) list.items.push_back(argument_part(item, node, meaning));
    return list;
  }
  if (value.is_tuple()) {
    Argument::Tuple tuple;
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
    if (const std::string* path = program_.find_path(&object); path != nullptr && !path->empty()) {
      return tracer_->get_attr(*path, meta(object.type), location(node));
    }
    if (auto constant = program_.archive().find_object_constant(&object)) {
      return tracer_->constant(&object, [&] { return std::move(*constant); }, location(node));
    }
    fail(FailureKind::kUnsupportedOp,
         "an object of " + type_name(*object.type) + " made while tracing is passed on whole", node);
  }
  fail(FailureKind::kUnsupportedOp,
       "a value of type " + type_name(*dynamic_type(value)) + " cannot stand in a graph", node);
}

}  // namespace fxtrace::torchscript
