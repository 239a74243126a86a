#include "torchscript/interpreter/graph/graph_operators.h"

#include <algorithm>
#include <utility>

#include "operators/operators.h"
#include "opinfo/traits.h"
#include "support/text/shell_word.h"
#include "torchscript/interpreter/program/convert.h"
#include "torchscript/interpreter/state/abstract.h"

namespace fxtrace::interpreter {
namespace {

// Returns whether there is a number in the nested lists, whatever the graph is given.
bool has_number(const Value& data) {
  if (!data.is_list())
    return find_proxy(data) == nullptr || find_proxy(data)->static_type->kind() != TypeKind::kList;
  return std::ranges::any_of(data.items(), has_number);
}

// Returns whether the number, in a tensor of `first`, becomes the same number of `dtype` as it does directly.
// What does not fit wraps around in TorchScript, and Python raises.
bool converts_directly(const Value& number, ScalarType first, Dtype dtype) {
  constexpr double kFitsAll = 127;  // every dtype has the whole numbers up to this
  if (dtype == first || number.is_bool()) return true;
  const bool is_wide = dtype == ScalarType::kFloat32 || dtype == ScalarType::kFloat64;
  if (number.is_double()) {
    const double value = number.to_double();
    const bool is_exact = static_cast<double>(static_cast<float>(value)) == value;
    return is_exact && (is_wide || (value >= 0 && value <= kFitsAll));
  }
  if (number.is_int() && number.to_int() >= 0 && number.to_int() <= static_cast<std::int64_t>(kFitsAll))
    return true;
  return is_wide && first == ScalarType::kInt64;
}

bool all_convert_directly(const Value& data, ScalarType first, Dtype dtype) {
  if (!data.is_list()) return converts_directly(data, first, dtype);
  return std::ranges::all_of(data.items(),
                             [&](const Value& item) { return all_convert_directly(item, first, dtype); });
}

}  // namespace

// Returns the meaning of the integers that are compared: an integer that a dtype is compared with is a dtype,
// as in x.dtype == torch.float32 and x.dtype in (torch.int32, torch.int64).
NumberMeaning GraphOperators::compared_meaning(const IrNode* node, const Values& values) {
  if (!propagation_.has_trait(node, traits::kCompares)) return NumberMeaning::kNumber;
  for (const Value& value : values) {
    if (const Proxy* proxy = find_proxy(value);
        proxy != nullptr && proxy->meaning != NumberMeaning::kNumber) {
      return proxy->meaning;
    }
  }
  for (const IrValue* input : node->inputs()) {
    const NumberMeaning meaning = context_.program.meanings().by_source(input);
    if (meaning != NumberMeaning::kNumber) return meaning;
  }
  return NumberMeaning::kNumber;
}

void GraphOperators::record(const IrNode* node, const FunctionSchema& schema, const Values& values,
                            std::vector<AbstractValue> results) {
  if (record_container_change(node, schema, values, results.empty() ? AbstractValue{} : results[0]))
    return propagation_.note_results(node, schema, values);
  if (record_in_python(node, schema, values)) return;
  if (schema.name.ends_with("Implicit")) check_implicit_conversion(node, schema, values);
  PythonTarget target = python_target(schema.name, schema.overload_name, own_schema(schema));
  const NumberMeaning compared = compared_meaning(node, values);
  auto arguments = recording_.arguments(schema, values, 0, node, [&](std::size_t index) {
    const NumberMeaning meaning = meaning_of_parameter(schema, index);
    return meaning == NumberMeaning::kNumber ? compared : meaning;
  });
  auto& [args, kwargs] = arguments;
  if (target.name == "torch.tensor" || target.name == "torch.as_tensor")
    spell_tensor_of_numbers(node, values, results.at(0), arguments, target);
  NumberMeaning result_meaning = NumberMeaning::kNumber;
  switch (target.form) {
    case TargetForm::kUnsupported:
      for (const Value& value : values) recording_.record_query(value);
      if (const Proxy* dict = values.empty() ? nullptr : recording_.find_recorded(values[0]);
          dict != nullptr && dict->static_type->kind() == TypeKind::kDict &&
          tracer_.graph_of(dict->ref).node(dict->ref.node).op == Opcode::kPlaceholder) {
        const std::string input = recording_.describe(values[0]);
        frames_.refuse(schema.name + " of a dict whose keys are not known: " + input + "; --input " +
                           shell_quoted(input + ".KEY=float32[...]") +
                           ", once for each key, says which it has",
                       node);
      }
      frames_.refuse(schema.name + " of a value that depends on an input", node);
    case TargetForm::kAttribute:
      args = {recording_.argument(values[0], node), target.name};
      if (target.name == "dtype") result_meaning = NumberMeaning::kDtype;
      if (target.name == "layout") result_meaning = NumberMeaning::kLayout;
      target.name = "builtins.getattr";
      break;
    case TargetForm::kSlice: {
      Argument::Slice slice;
      for (std::size_t i = 1; i < 4; ++i) slice.parts.push_back(recording_.argument(values.at(i), node));
      args = {recording_.argument(values[0], node), std::move(slice)};
      break;
    }
    case TargetForm::kExtendOne:
      args = {recording_.argument(values[0], node),
              Argument::List{{recording_.argument(values.at(1), node)}}};
      break;
    case TargetForm::kSame:  // a Python function does not have TorchScript's defaults
    case TargetForm::kOperator:
      break;
  }
  Meta known;
  if (node->outputs().size() == 1) {
    known = meta_of(node->output()->type(), results.at(0));
  } else if (!node->outputs().empty()) {
    std::vector<TypePtr> types;
    for (const IrValue* output : node->outputs()) types.push_back(output->type());
    known = meta_of(tuple_type(std::move(types)), {AbstractValue::Sequence(results.begin(), results.end())});
  } else {
    known = meta_of(none_type());
  }
  const NodeId recorded = tracer_.call_function(std::move(target.name), std::move(args), std::move(kwargs),
                                                std::move(known), frames_.location(node));
  propagation_.keep_answer(node, schema, values, tracer_.ref(recorded));
  recording_.input_guards.note_made(tracer_.ref(recorded));
  set_recorded(node, recorded, result_meaning, std::move(results));
  propagation_.note_results(node, schema, values);
}

// An argument of a number takes only tensors without dimensions, and one of an integer only integers; int()
// and item() take any tensor with one element.
void GraphOperators::check_implicit_conversion(const IrNode* node, const FunctionSchema& schema,
                                               const Values& values) {
  const bool is_integer = schema.name == "aten::IntImplicit";
  if (recording_.find_recorded(values[0]) == nullptr) return;
  const TensorInfo* info = known_of(values[0]).tensor();
  if (info == nullptr) return recording_.conditions.assume_scalar(node, values[0], is_integer);
  if (info->dim() != 0)
    return recording_.report_invalid(node, schema.name, "a tensor with dimensions is no number");
  recording_.rely_on(node, "aten::dim", values, {SymInt(std::int64_t{0})}, {});
  if (!is_integer || !info->dtype) return;
  if (!is_integral(*info->dtype) || info->dtype == ScalarType::kBool)
    return recording_.report_invalid(node, schema.name, dtype_name(*info->dtype) + " is no integer");
  recording_.rely_on(node, "aten::is_floating_point", values, {false}, {});
}

// TorchScript makes a tensor of the dtype that the type of the numbers tells, the default one for floats, and
// converts that; Python takes the numbers as they are, and the dtype of an empty list is always the default.
void GraphOperators::spell_tensor_of_numbers(const IrNode* node, const Values& values,
                                             const AbstractValue& result, Recording::Arguments& arguments,
                                             PythonTarget& target) {
  const Type* type = node->input(0)->type().get();
  while (const auto* list = type->as<ListType>()) type = list->element().get();
  const bool is_float = type->kind() == TypeKind::kFloat;
  if (!is_float && type->kind() != TypeKind::kInt && type->kind() != TypeKind::kBool) return;
  const ScalarType first = is_float                          ? kDefaultFloat
                           : type->kind() == TypeKind::kBool ? ScalarType::kBool
                                                             : ScalarType::kInt64;
  auto& [args, kwargs] = arguments;
  const auto named = [&](std::string_view name) {
    return std::ranges::find(kwargs, name, &Kwargs::value_type::first);
  };
  const auto given = named("dtype");
  const auto own = [&] {
    return recording_.argument(static_cast<std::int64_t>(first), node, NumberMeaning::kDtype);
  };
  if (given == kwargs.end()) {
    if (!is_float && !has_number(values[0])) kwargs.insert(kwargs.begin(), {"dtype", own()});
    return;
  }
  const auto& formals = node->operator_schema()->arguments;
  const auto place = static_cast<std::size_t>(std::ranges::find(formals, "dtype", &FunctionArgument::name) -
                                              formals.begin());
  const Dtype dtype = place < values.size() && values[place].is_int()
                          ? find_scalar_type(values[place].to_int())
                          : std::nullopt;
  const bool is_trained = named("requires_grad") != kwargs.end() && !is_float;  // an integer cannot be
  if (is_trained || all_convert_directly(values[0], first, dtype)) return;
  const Argument wanted = given->second;
  if (is_float) {
    kwargs.erase(given);
  } else {
    given->second = own();
  }
  AbstractValue known = result;
  if (auto* info = std::get_if<TensorInfo>(&known.value)) {
    info->dtype = first;
    info->content = nullptr;
  }
  const Value made =
      recording_.call(target.name, std::move(args), tensor_type(), node, std::move(known), std::move(kwargs));
  target = {"aten.to.dtype", TargetForm::kOperator};
  args = {recording_.argument(made, node), wanted};
  kwargs.clear();
}

// Records changes of a list that the graph makes for which Python has no function, by functions that it has.
bool GraphOperators::record_container_change(const IrNode* node, const FunctionSchema& schema,
                                             const Values& values, const AbstractValue& result) {
  const std::string& name = schema.name;
  if (values.empty() || find_proxy(values[0]) == nullptr) return false;
  const TypePtr none = none_type();
  const Argument self = recording_.argument(values[0], node);
  const auto call = [&](const char* target, std::vector<Argument> args, const TypePtr& type) {
    return recording_.call(target, std::move(args), type, node);
  };
  if (name == "aten::insert") {
    const Argument at = recording_.argument(values.at(1), node);
    call("operator.setitem",
         {self, Argument::Slice{{at, at, Argument::None{}}},
          Argument::List{{recording_.argument(values.at(2), node)}}},
         none);
    return true;
  }
  if (name == "aten::pop" && find_proxy(values[0])->static_type->kind() == TypeKind::kDict &&
      values.size() > 2)
    frames_.refuse("pop() with a default of a dict or a key that depends on an input", node);
  if (name == "aten::pop" && values[0].is_handle() && node->outputs().size() == 1) {
    const Argument at = values.size() > 1 ? recording_.argument(values[1], node) : Argument(-1);
    frames_.set(node, recording_.call("operator.getitem", {self, at}, node->output()->type(), node, result));
    call("operator.delitem", {self, at}, none);
    return true;
  }
  if (name == "aten::reverse") {
    const Argument none_given = Argument::None{};
    const Value reversed = call("operator.getitem", {self, Argument::Slice{{none_given, none_given, -1}}},
                                find_proxy(values[0])->static_type);
    call("operator.setitem",
         {self, Argument::Slice{{none_given, none_given, none_given}}, recording_.argument(reversed, node)},
         none);
    return true;
  }
  if (name == "aten::clear") {
    call("operator.delitem", {self, Argument::Slice{{Argument::None{}, Argument::None{}, Argument::None{}}}},
         none);
    return true;
  }
  return false;
}

// Records "{} and {}".format(a, b) as str(a) + " and " + str(b): str.format itself cannot be the target of a
// node.
Value GraphOperators::formatted(const Values& values, const IrNode* node) {
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
      result = recording_.apply("operator.add", {result, part}, string, node);
    }
  };
  for (std::size_t at = text.find("{}"); at != std::string::npos && next < values.size();
       at = text.find("{}", from)) {
    add(text.substr(from, at - from));
    add(recording_.apply("builtins.str", {values[next++]}, string, node));
    from = at + 2;
  }
  add(text.substr(from));
  return result;
}

// Records operators for which Python has no function of the same arguments.
bool GraphOperators::record_in_python(const IrNode* node, const FunctionSchema& schema,
                                      const Values& values) {
  const std::string& name = schema.name;
  const bool is_text = !values.empty() && values[0].is_string();
  if (name == "aten::format" && is_text) {
    frames_.set(node, formatted(values, node));
    return true;
  }
  if (name == "aten::percentFormat" && is_text && values.size() == 2) {
    frames_.set(node, recording_.apply("operator.mod", {values[0], values[1]}, string_type(), node));
    return true;
  }
  if (name == "aten::hash") {
    const Proxy* proxy = values.empty() ? nullptr : find_proxy(values[0]);
    if (proxy == nullptr || proxy->static_type->kind() != TypeKind::kInt) {
      // TorchScript's hash of a text or a float is another number than Python's.
      frames_.refuse("hash() of a value that depends on an input and is not an integer", node);
    }
    frames_.set(node, recording_.apply("builtins.hash", {values[0]}, int_type(), node));
    return true;
  }
  return false;
}

void GraphOperators::set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                                  std::vector<AbstractValue> known) {
  const auto& results = node->outputs();
  known.resize(results.size());
  if (results.size() == 1) {
    const TypePtr& type = results[0]->type();
    return frames_.set(results[0], meaning == NumberMeaning::kNumber
                                       ? Recorder::result(tracer_.ref(recorded), type, std::move(known[0]))
                                       : make_proxy(tracer_.ref(recorded), type, meaning));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->has_uses()) continue;
    const TypePtr& type = results[i]->type();
    const NodeId item = tracer_.call_function("operator.getitem", {recorded, static_cast<std::int64_t>(i)},
                                              {}, meta_of(type, known[i]), frames_.location(node));
    frames_.set(results[i], make_proxy(tracer_.ref(item), type, std::move(known[i])));
  }
}

}  // namespace fxtrace::interpreter
