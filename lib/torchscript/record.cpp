// Operators: carried out by LibTorch where everything is known, recorded as nodes where it is not.
#include <ATen/core/enum_type.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <optional>

#include "operators/operators.h"
#include "operators/python_spelling.h"
#include "support/error.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/plain_operators.h"
#include "torchscript/shapes/abstract.h"
#include "torchscript/structure.h"

namespace fxtrace {

namespace prim = c10::prim;
namespace {

// What is kept, in units of the budget.
constexpr std::size_t kUnitsOfNode = 64, kUnitsOfArgument = 4;

bool is_container(const at::IValue& value) { return value.isList() || value.isGenericDict(); }

// Whether elements of any type fit here.
bool takes_anything(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::VarType) return true;
  if (type.kind() == c10::TypeKind::ListType) return takes_anything(*type.containedTypes()[0]);
  if (type.kind() == c10::TypeKind::TupleType) {
    return std::any_of(type.containedTypes().begin(), type.containedTypes().end(),
                       [](const auto& inner) { return takes_anything(*inner); });
  }
  if (type.kind() == c10::TypeKind::DictType) return takes_anything(*type.containedTypes()[1]);
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

NumberMeaning formal_meaning(const c10::FunctionSchema& schema, std::size_t index) {
  return index < schema.arguments().size() ? meaning_of(schema.arguments()[index]) : NumberMeaning::kNumber;
}

}  // namespace

// What a dtype is compared with is a dtype: x.dtype == torch.float32, x.dtype in (torch.int32, torch.int64).
NumberMeaning Interpreter::compared_meaning(const IrNode* node, const Values& values) {
  if (!has_trait(node, traits::kCompares)) return NumberMeaning::kNumber;
  for (const at::IValue& value : values) {
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
  const auto* schema = is_new ? node->maybeSchema() : nullptr;
  if (schema != nullptr) place->second = fxtrace::traits_of(find_operator(*schema));
  return place->second;
}

void Interpreter::run_operator(const IrNode* node) {
  if (node->kind() == prim::tolist) {
    // The type that is asked for is made before it is looked at.
    const at::Tensor constant = find_constant(value(node->input(0)));
    const at::IValue dimensions = node->inputs().size() == 3 ? value(node->input(1)) : at::IValue();
    if (constant.defined() && dimensions.isInt() && dimensions.toInt() == constant.dim()) {
      torch::jit::Stack stack{constant, value(node->input(1)), value(node->input(2))};
      node->getOperation()(stack);
      return set(node->output(), stack.at(0));
    }
    set(node->output(), record_call("torch.Tensor.tolist", {argument(value(node->input(0)), node)}, {},
                                    node->output()->type(), node));
    return;
  }
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) {
    fail(FailureKind::kUnsupportedOp, std::string(node->kind().toQualString()) + " cannot be followed", node);
  }
  Values values = inputs(node);
  if (schema->name() == kNotFollowed && values.size() == 2 && values[0].isString() && values[1].isString()) {
    Failure failure;
    failure.kind = FailureKind::kUnsupportedOp;
    failure.message = values[1].toStringRef();
    failure.op = values[0].toStringRef();
    failure.source = location(node);
    throw TraceFailure(std::move(failure));
  }
  check_numbers(*schema, values, node);
  if (is_structural(node, *schema, values)) return execute(node, std::move(values));
  bool all_plain = true;
  for (const at::IValue& value : values) all_plain = measure(value, node).is_plain && all_plain;
  if (is_carried_out(*schema, traits_of(node), values, all_plain)) return execute(node, std::move(values));
  if (shapes_ && answer_dict(node, *schema, values)) return;
  if (!makes_tensor(*schema) && (shapes_ || asks_size_of_constant(node, values)) &&
      answer(node, *schema, values)) {
    return;
  }
  record(node, *schema, values);
}

bool Interpreter::is_structural(const IrNode* node, const c10::FunctionSchema& schema, const Values& values) {
  if (!has_trait(node, traits::kMovesElements)) return false;
  if (values.empty()) return schema.name() == "aten::dict";  // an empty one
  const auto& formals = schema.arguments();
  if (formals.empty() || values.empty() || !is_container(values[0]) || formals.size() != values.size())
    return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const c10::Type& formal = *formals[i].type();
    if (!takes_anything(formal)) {
      if (!is_plain(values[i])) return false;
    } else if (formal.kind() != c10::TypeKind::VarType && !is_container(values[i])) {
      return false;
    }
  }
  return true;
}

void Interpreter::execute(const IrNode* node, Values values) {
  const c10::FunctionSchema& schema = *node->maybeSchema();
  const auto check = [&](std::optional<Refusal> refusal) {
    if (refusal) fail(refusal->kind, std::move(refusal->why), node);
  };
  check(find_refusal(schema.name(), traits_of(node), values));
  budget_.spend(cost_of(schema.name(), values));
  // LibTorch inserts the list's own range into it, which std::vector does not allow.
  if (schema.name() == "aten::extend" && values.size() == 2 && values[0].is(values[1])) {
    values[1] = values[1].toList().copy();
  }
  Values changed;
  if (schema.is_mutable()) {
    for (std::size_t i = 0; i < values.size() && i < schema.arguments().size(); ++i) {
      const auto* alias = schema.arguments()[i].alias_info();
      if (alias == nullptr || !alias->isWrite() || !is_container(values[i])) continue;
      if (makes_subgraphs()) note_change(values[i], name_of(node->input(i)), node);
      remember(values[i]);
      changed.push_back(values[i]);
    }
  }
  try {
    torch::jit::Stack stack(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
    if (schema.is_vararg()) stack.emplace_back(static_cast<std::int64_t>(node->inputs().size()));
    node->getOperation()(stack);
    for (const at::IValue& result : stack) {
      check(find_refusal(result));
      budget_.spend(length_of(result));
    }
    for (const at::IValue& container : changed) check(find_refusal(container));
    const auto results = node->outputs();
    for (std::size_t i = 0; i < results.size() && i < stack.size(); ++i) set(results[i], std::move(stack[i]));
  } catch (const TraceFailure&) {
    throw;
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    fail(FailureKind::kRaised, readable_message(e.what()), node);
  }
}

void Interpreter::record(const IrNode* node, const c10::FunctionSchema& schema, const Values& values) {
  if (!records() && !shapes_) {
    for (const IrValue* output : node->outputs()) set(output, make_proxy(NodeRef{}, output->type()));
    return;
  }
  for (std::size_t i = 0; i < values.size() && i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite() && values[i].isTensor()) {
      written_constants_.insert(values[i].toTensor().unsafeGetTensorImpl());
    }
    const bool numbers_or_dict =
        is_container(values[i]) && schema.arguments()[i].type()->kind() != c10::TypeKind::TensorType &&
        !(schema.arguments()[i].type()->kind() == c10::TypeKind::ListType &&
          schema.arguments()[i].type()->containedTypes()[0]->kind() == c10::TypeKind::TensorType);
    if (alias != nullptr && alias->isWrite() && numbers_or_dict) {
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
  PythonTarget target = python_target(schema.name(), schema.overload_name(), own_schema(schema));
  const NumberMeaning compared = compared_meaning(node, values);
  auto [args, kwargs] = arguments(schema, values, 0, node, [&](std::size_t index) {
    const NumberMeaning meaning = formal_meaning(schema, index);
    return meaning == NumberMeaning::kNumber ? compared : meaning;
  });
  NumberMeaning result_meaning = NumberMeaning::kNumber;
  switch (target.form) {
    case TargetForm::kUnsupported:
      for (const at::IValue& value : values) ask(value);
      if (const Proxy* dict = values.empty() ? nullptr : find_recorded(values[0]);
          dict != nullptr && dict->type->kind() == c10::TypeKind::DictType) {
        const std::string input = describe(values[0]);
        fail(FailureKind::kUnsupportedOp,
             schema.name() + " of a dict whose keys are not known: " + input + "; --input '" + input +
                 ".KEY=float32[...]', once for each key, says which it has",
             node);
      }
      fail(FailureKind::kUnsupportedOp, schema.name() + " of a value that depends on an input", node);
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
    std::vector<c10::TypePtr> types;
    for (const IrValue* output : node->outputs()) types.push_back(output->type());
    known = meta(c10::TupleType::create(std::move(types)));
  } else {
    known = meta(c10::NoneType::get());
  }
  const NodeId recorded = tracer_->call_function(std::move(target.name), std::move(args), std::move(kwargs),
                                                 std::move(known), location(node));
  set_recorded(node, recorded, result_meaning, std::move(results));
}

// Changes of a list that the graph makes, for which Python has no function: written with those it has.
bool Interpreter::record_container_change(const IrNode* node, const c10::FunctionSchema& schema,
                                          const Values& values, const AbstractValue& result) {
  const std::string& name = schema.name();
  if (values.empty() || find_proxy(values[0]) == nullptr) return false;
  const c10::TypePtr none = c10::NoneType::get();
  const Argument self = argument(values[0], node);
  const auto call = [&](const char* target, std::vector<Argument> args, const c10::TypePtr& type) {
    return record_call(target, std::move(args), {}, type, node);
  };
  if (name == "aten::insert") {
    const Argument at = argument(values.at(1), node);
    call("operator.setitem",
         {self, Argument::Slice{{at, at, Argument::None{}}}, Argument::List{{argument(values.at(2), node)}}},
         none);
    return true;
  }
  if (name == "aten::pop" && values[0].isCapsule() && node->outputs().size() == 1) {
    const Argument at = values.size() > 1 ? argument(values[1], node) : Argument(-1);
    set(node->output(),
        record_call("operator.getitem", {self, at}, {}, node->output()->type(), node, result));
    call("operator.delitem", {self, at}, none);
    return true;
  }
  if (name == "aten::reverse") {
    const Argument none_given = Argument::None{};
    const at::IValue reversed =
        call("operator.getitem", {self, Argument::Slice{{none_given, none_given, -1}}},
             find_proxy(values[0])->type);
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
at::IValue Interpreter::formatted(const Values& values, const IrNode* node) {
  const std::string& text = values[0].toStringRef();
  const c10::TypePtr string = c10::StringType::get();
  std::size_t next = 1;
  std::size_t from = 0;
  at::IValue result(std::string{});
  const auto add = [&](const at::IValue& part) {
    if (part.isString() && part.toStringRef().empty()) return;
    if (result.isString() && result.toStringRef().empty()) {
      result = part;
    } else if (result.isString() && part.isString()) {
      result = result.toStringRef() + part.toStringRef();
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
bool Interpreter::record_in_python(const IrNode* node, const c10::FunctionSchema& schema,
                                   const Values& values) {
  const std::string& name = schema.name();
  const bool is_text = !values.empty() && values[0].isString();
  if (name == "aten::format" && is_text) {
    set(node->output(), formatted(values, node));
    return true;
  }
  if (name == "aten::percentFormat" && is_text && values.size() == 2) {
    set(node->output(), record_call("operator.mod", {argument(values[0], node), argument(values[1], node)},
                                    {}, c10::StringType::get(), node));
    return true;
  }
  if (name == "aten::hash") {
    const Proxy* proxy = values.empty() ? nullptr : find_proxy(values[0]);
    if (proxy == nullptr || proxy->type->kind() != c10::TypeKind::IntType) {
      // Of text and floats it is another number than Python's.
      fail(FailureKind::kUnsupportedOp, "hash() of a value that depends on an input and is no integer", node);
    }
    set(node->output(),
        record_call("builtins.hash", {argument(values[0], node)}, {}, c10::IntType::get(), node));
    return true;
  }
  return false;
}

void Interpreter::set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                               std::vector<AbstractValue> known) {
  const auto results = node->outputs();
  known.resize(results.size());
  if (results.size() == 1) {
    const c10::TypePtr& type = results[0]->type();
    if (type->kind() == c10::TypeKind::NoneType) return set(results[0], at::IValue());
    return set(results[0], meaning == NumberMeaning::kNumber
                               ? make_proxy(ref(recorded), type, std::move(known[0]))
                               : make_proxy(ref(recorded), type, meaning));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->hasUses()) continue;
    const c10::TypePtr& type = results[i]->type();
    NodeId item = recorded;
    if (records()) {
      item = tracer_->call_function("operator.getitem", {recorded, static_cast<std::int64_t>(i)}, {},
                                    meta(type, known[i]), location(node));
    }
    set(results[i], make_proxy(ref(item), type, std::move(known[i])));
  }
}

at::IValue Interpreter::record_call(std::string target, std::vector<Argument> args, Kwargs kwargs,
                                    const c10::TypePtr& type, const IrNode* node, AbstractValue known) {
  NodeId id;
  if (records()) {
    id = tracer_->call_function(std::move(target), std::move(args), std::move(kwargs), meta(type, known),
                                location(node));
  }
  return type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(ref(id), type, std::move(known));
}

std::pair<std::vector<Argument>, Kwargs> Interpreter::call_arguments(torch::jit::Function& function,
                                                                     const Values& values, std::size_t first,
                                                                     const IrNode* node) {
  return arguments(function.getSchema(), values, first, node, [&](std::size_t index) {
    const NumberMeaning meaning = program_.meanings().of_parameter(function, index);
    if (meaning != NumberMeaning::kNumber || node == nullptr) return meaning;
    const std::size_t offset = node->kind() == prim::CallFunction ? 1 : 0;  // the function itself
    return index + offset < node->inputs().size() ? program_.meanings().by_source(node->input(index + offset))
                                                  : meaning;
  });
}

std::pair<std::vector<Argument>, Kwargs> Interpreter::arguments(
    const c10::FunctionSchema& schema, const Values& values, std::size_t first, const IrNode* node,
    const std::function<NumberMeaning(std::size_t)>& meaning) {
  std::vector<Argument> args;
  Kwargs kwargs;
  std::size_t needed = 0;  // positional arguments up to the last that is not at its default
  const auto& formals = schema.arguments();
  for (std::size_t i = first; i < values.size(); ++i) {
    if (i >= formals.size()) {  // more arguments than the schema names: aten::format
      args.push_back(argument(values[i], node));
      needed = args.size();
      continue;
    }
    const c10::Argument& formal = formals[i];
    const NumberMeaning number = meaning ? meaning(i) : meaning_of(formal);
    Argument value = argument(values[i], node, number);
    const bool at_default =
        formal.default_value() && argument(*formal.default_value(), node, number) == value;
    if (formal.kwarg_only()) {
      if (!at_default) kwargs.emplace_back(formal.name(), std::move(value));
    } else {
      args.push_back(std::move(value));
      if (!at_default) needed = args.size();
    }
  }
  args.resize(needed);
  return {std::move(args), std::move(kwargs)};
}

Argument Interpreter::number(std::int64_t number, NumberMeaning meaning, const IrNode* node) {
  auto argument = number_argument(number, meaning);
  if (!argument) fail(FailureKind::kRaised, "RuntimeError: " + no_such(number, meaning), node);
  return std::move(*argument);
}

// LibTorch looks such numbers up in tables, whatever they are.
void Interpreter::check_numbers(const c10::FunctionSchema& schema, const Values& values, const IrNode* node) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].isInt()) number(values[i].toInt(), formal_meaning(schema, i), node);
  }
}

Argument Interpreter::argument(const at::IValue& value, const IrNode* node, NumberMeaning meaning) {
  if (!records()) return Argument::None{};  // nobody looks at it
  measure(value, node);
  return argument_part(value, node, meaning);
}

Argument Interpreter::argument_part(const at::IValue& value, const IrNode* node, NumberMeaning meaning) {
  budget_.spend(kUnitsOfArgument);
  if (const Proxy* proxy = find_proxy(value)) {
    if (!proxy->ref.valid()) {
      fail(FailureKind::kUnsupportedOp, "a value that only __setstate__ would compute is used", node);
    }
    return tracer_->use(proxy->ref);
  }
  if (value.isNone()) return Argument::None{};
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return number(value.toInt(), meaning, node);
  if (value.isDouble()) return value.toDouble();
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return std::complex<double>(number.real(), number.imag());
  }
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return Argument::Device{value.toDevice().str()};
  if (value.isEnum()) return argument(value.toEnumHolder()->value(), node);
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return Argument::None{};
    // nn.LSTM has a list of its own parameters.
    if (const ParameterRecord* record = program_.find_parameter(tensor)) {
      return tracer_->get_attr(record->name, meta(c10::TensorType::get(), known_of_value(value)),
                               location(node));
    }
    return tracer_->constant(
        tensor.unsafeGetTensorImpl(), [&] { return program_.archive().constant(tensor); }, location(node));
  }
  if (!materialized_.empty() && is_container(value)) {
    const auto made = materialized_.find(value.internalToPointer());
    if (made != materialized_.end()) return tracer_->use(find_proxy(made->second.proxy)->ref);
  }
  if (value.isList()) {
    Argument::List list;
    for (const auto& item : value.toListRef()) list.items.push_back(argument_part(item, node, meaning));
    return list;
  }
  if (value.isTuple()) {
    Argument::Tuple tuple;
    for (const auto& item : value.toTupleRef().elements())
      tuple.items.push_back(argument_part(item, node, NumberMeaning::kNumber));
    return tuple;
  }
  if (value.isGenericDict()) {
    Argument::Dict dict;
    for (const auto& entry : value.toGenericDict()) {
      dict.items.emplace_back(argument_part(entry.key(), node, NumberMeaning::kNumber),
                              argument_part(entry.value(), node, NumberMeaning::kNumber));
    }
    return dict;
  }
  if (value.isObject()) {
    const auto& object = value.toObjectRef();
    if (const std::string* path = program_.find_path(&object); path != nullptr && !path->empty()) {
      return tracer_->get_attr(*path, meta(object.type()), location(node));
    }
    if (auto constant = program_.archive().find_object_constant(&object)) {
      return tracer_->constant(&object, [&] { return std::move(*constant); }, location(node));
    }
    fail(FailureKind::kUnsupportedOp,
         "an object of " + type_name(*object.type()) + " made while tracing is passed on whole", node);
  }
  fail(FailureKind::kUnsupportedOp,
       "a value of type " + type_name(*value.type()) + " cannot stand in a graph", node);
}

}  // namespace fxtrace
