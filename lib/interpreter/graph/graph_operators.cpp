#include "interpreter/graph/graph_operators.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "opinfo/traits.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"
#include "torchscript/operators/plain_operators.h"

namespace fxtrace::internal::interpreter {
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

bool holds_only(const Type& type, std::initializer_list<TypeKind> kinds) {
  if (std::ranges::find(kinds, type.kind()) == kinds.end()) return false;
  return std::ranges::all_of(type.contained_types(),
                             [&](const TypePtr& part) { return holds_only(*part, kinds); });
}

// Returns whether TorchScript's text of such values is known, as _text() in python/fxtrace/_functions.py
// gives it.
bool is_printed_by_value(const Type& type) {
  return holds_only(type,
                    {TypeKind::kBool, TypeKind::kDict, TypeKind::kFloat, TypeKind::kInt, TypeKind::kList,
                     TypeKind::kNone, TypeKind::kOptional, TypeKind::kString, TypeKind::kTuple});
}

// Returns whether Python's text is the same.
bool is_same_text(const Type& type) {
  return holds_only(type, {TypeKind::kBool, TypeKind::kInt, TypeKind::kList, TypeKind::kNone,
                           TypeKind::kOptional, TypeKind::kTuple});
}

bool is_dict_of_tensors(const Type& type) {
  const auto* dict = type.as<DictType>();
  return dict != nullptr && dict->key()->kind() == TypeKind::kString &&
         dict->value()->kind() == TypeKind::kTensor;
}

bool takes_tensors(const FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments, [](const auto& each) { return may_hold_tensor(*each.type); });
}

}  // namespace

// Returns the meaning of the integers that are compared: an integer that a dtype is compared with is a dtype,
// as in x.dtype == torch.float32 and x.dtype in (torch.int32, torch.int64).
NumberMeaning GraphOperators::compared_meaning(const IrNode* node, const Values& values) {
  constexpr std::array kOrders{"aten::lt", "aten::le", "aten::gt", "aten::ge"};  // of which dtypes have none
  if (!propagation_.has_trait(node, traits::kCompares) ||
      std::ranges::find(kOrders, node->operator_schema()->name) != kOrders.end())
    return NumberMeaning::kNumber;
  for (const Value& value : values) {
    if (const Proxy* proxy = find_proxy(value);
        proxy != nullptr && proxy->meaning != NumberMeaning::kNumber) {
      return proxy->meaning;
    }
  }
  for (const IrValue* input : node->inputs()) {
    const NumberMeaning meaning = run_.program.meanings().by_source(input);
    if (meaning != NumberMeaning::kNumber) return meaning;
  }
  return NumberMeaning::kNumber;
}

void GraphOperators::record(const IrNode* node, const FunctionSchema& schema, const Values& values,
                            std::vector<AbstractValue> results) {
  if (record_container_change(node, schema, values, results.empty() ? AbstractValue{} : results[0]))
    return propagation_.note_results(node, schema, values);
  if (schema.name == "aten::Generator")
    frames_.refuse(
        "aten::Generator: torch makes one generator when it loads the code, and each call goes on with "
        "its numbers; a graph makes a new one in each call",
        node);
  if (record_in_python(node, schema, values)) return;
  if (schema.name.ends_with("Implicit")) check_implicit_conversion(node, schema, values);
  const Schema plain_schema = own_schema(schema);
  PythonTarget target = python_target(schema.name, schema.overload_name, plain_schema);
  if ((target.form == TargetForm::kSame || target.form == TargetForm::kSlice) && !plain_schema.writes() &&
      !takes_tensors(schema) && ranges_.differs_in_python(node, schema, plain_schema, values)) {
    target = operator_target(schema.name, schema.overload_name, plain_schema);
  }
  const NumberMeaning compared = compared_meaning(node, values);
  auto arguments = recorder_.arguments(schema, values, 0, node, [&](std::size_t index) {
    const NumberMeaning meaning = meaning_of_parameter(schema, index);
    return meaning == NumberMeaning::kNumber ? compared : meaning;
  });
  auto& [args, kwargs] = arguments;
  if (target.name == "torch.tensor" || target.name == "torch.as_tensor")
    spell_tensor_of_numbers(node, values, results.at(0), arguments, target);
  NumberMeaning result_meaning = NumberMeaning::kNumber;
  switch (target.form) {
    case TargetForm::kUnsupported:
      for (const Value& value : values) recorder_.conditions.record_query(value);
      if (const Proxy* dict = values.empty() ? nullptr : recorder_.find_recorded(values[0]);
          dict != nullptr && is_dict_of_tensors(*dict->static_type) && recorder_.is_given(values[0]) &&
          run_.root.index == 0) {  // options are about inputs of the model, not of its submodules
        const std::string input = recorder_.describe(values[0]);
        frames_.refuse(schema.name + " of a dict whose keys are not known: " + input + "; --input " +
                           shell_quoted(input + ".KEY=float32[...]") +
                           ", once for each key, says which it has",
                       node);
      }
      frames_.refuse(schema.name + " of a value that depends on an input", node);
    case TargetForm::kAttribute:
      args = {recorder_.argument(values[0], node), target.name};
      if (target.name == "dtype") result_meaning = NumberMeaning::kDtype;
      if (target.name == "layout") result_meaning = NumberMeaning::kLayout;
      target.name = "builtins.getattr";
      break;
    case TargetForm::kSlice: {
      Argument::Slice slice;
      for (std::size_t i = 1; i < 4; ++i) slice.parts.push_back(recorder_.argument(values.at(i), node));
      args = {recorder_.argument(values[0], node), std::move(slice)};
      break;
    }
    case TargetForm::kExtendOne:
      args = {recorder_.argument(values[0], node), Argument::List{{recorder_.argument(values.at(1), node)}}};
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
  recorder_.input_guards.note_made(tracer_.ref(recorded));
  set_recorded(node, recorded, result_meaning, std::move(results));
  propagation_.note_results(node, schema, values);
}

// An argument of a number takes only tensors without dimensions, and one of an integer only integers; int()
// and item() take any tensor with one element.
void GraphOperators::check_implicit_conversion(const IrNode* node, const FunctionSchema& schema,
                                               const Values& values) {
  const bool is_integer = schema.name == "aten::IntImplicit";
  if (recorder_.find_recorded(values[0]) == nullptr) return;
  const TensorInfo* info = known_of(values[0]).tensor();
  if (info == nullptr) return recorder_.conditions.assume_scalar(node, values[0], is_integer);
  if (info->dim() != 0)
    return recorder_.report_invalid(node, schema.name, "a tensor with dimensions is no number");
  recorder_.rely_on(node, "aten::dim", values, {SymInt(std::int64_t{0})}, {});
  if (!is_integer || !info->dtype) return;
  if (!is_integral(*info->dtype) || info->dtype == ScalarType::kBool)
    return recorder_.report_invalid(node, schema.name, dtype_name(*info->dtype) + " is no integer");
  recorder_.rely_on(node, "aten::is_floating_point", values, {false}, {});
}

// TorchScript makes a tensor of the dtype that the type of the numbers tells, the default one for floats, and
// converts that; Python takes the numbers as they are, and the dtype of an empty list is always the default.
void GraphOperators::spell_tensor_of_numbers(const IrNode* node, const Values& values,
                                             const AbstractValue& result, Recorder::Arguments& arguments,
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
    return recorder_.argument(static_cast<std::int64_t>(first), node, NumberMeaning::kDtype);
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
      recorder_.call(target.name, std::move(args), tensor_type(), node, std::move(known), std::move(kwargs));
  target = {"aten.to.dtype", TargetForm::kOperator};
  args = {recorder_.argument(made, node), wanted};
  kwargs.clear();
}

// Records changes of a list or dict that the graph makes for which Python has no function, by functions that
// it has: an operator of torch.ops would change a copy.
bool GraphOperators::record_container_change(const IrNode* node, const FunctionSchema& schema,
                                             const Values& values, const AbstractValue& result) {
  const std::string& name = schema.name;
  if (values.empty()) return false;
  if (dynamic_type(values[0])->kind() == TypeKind::kDict) return record_dict_change(node, schema, values);
  const Proxy* container = find_proxy(values[0]);
  if (container == nullptr) return false;
  const TypePtr none = none_type();
  const Argument self = recorder_.argument(values[0], node);
  const auto call = [&](const char* target, std::vector<Argument> args, const TypePtr& type) {
    return recorder_.call(target, std::move(args), type, node);
  };
  const Argument all = Argument::Slice{{Argument::None{}, Argument::None{}, Argument::None{}}};
  const Argument backwards = Argument::Slice{{Argument::None{}, Argument::None{}, -1}};
  if (name == "aten::insert") {
    const Argument at = recorder_.argument(values.at(1), node);
    call("operator.setitem",
         {self, Argument::Slice{{at, at, Argument::None{}}},
          Argument::List{{recorder_.argument(values.at(2), node)}}},
         none);
    return true;
  }
  if (name == "aten::pop" && find_proxy(values[0])->static_type->kind() == TypeKind::kDict &&
      values.size() > 2)
    frames_.refuse("pop() with a default of a dict or a key that depends on an input", node);
  if (name == "aten::pop" && values[0].is_handle() && node->outputs().size() == 1) {
    const Argument at = values.size() > 1 ? recorder_.argument(values[1], node) : Argument(-1);
    frames_.set(node, recorder_.call("operator.getitem", {self, at}, node->output()->type(), node, result));
    call("operator.delitem", {self, at}, none);
    return true;
  }
  if (name == "aten::remove") {
    const std::string index = "aten.index.list_" + schema.overload_name;
    const Value at = call(index.c_str(), {self, recorder_.argument(values.at(1), node)}, int_type());
    call("operator.delitem", {self, recorder_.argument(at, node)}, none);
    return true;
  }
  if (name == "aten::sort" && values.size() == 2) {
    if (!values[1].is_bool()) frames_.refuse("sort(reverse=...) of a value that depends on an input", node);
    const bool is_any = schema.overload_name == "any";  // torch.ops takes no such lists
    const std::string sorted = is_any ? "builtins.sorted" : "aten.sorted." + schema.overload_name;
    Value made = call(sorted.c_str(), {self}, container->static_type);
    if (values[1].to_bool())
      made = call("operator.getitem", {recorder_.argument(made, node), backwards}, container->static_type);
    call("operator.setitem", {self, all, recorder_.argument(made, node)}, none);
    return true;
  }
  if (name == "aten::reverse") {
    const Value reversed = call("operator.getitem", {self, backwards}, container->static_type);
    call("operator.setitem", {self, all, recorder_.argument(reversed, node)}, none);
    return true;
  }
  if (name == "aten::clear") {
    call("operator.delitem", {self, all}, none);
    return true;
  }
  return false;
}

// Python's methods of dicts cannot be targets.  d.get(k, v) is ({k: v} | d)[k].
bool GraphOperators::record_dict_change(const IrNode* node, const FunctionSchema& schema,
                                        const Values& values) {
  const std::string& name = schema.name;
  const TypePtr dict_type = dynamic_type(values[0]);
  const TypePtr none = none_type();
  const auto call = [&](const char* target, std::vector<Argument> args, const TypePtr& type) {
    return recorder_.call(target, std::move(args), type, node);
  };
  const auto argument = [&](const Value& value) { return recorder_.argument(value, node); };
  if (!has_word("aten::get aten::pop aten::popitem aten::setdefault aten::update", name)) return false;
  const Argument self = argument(values[0]);
  if (name == "aten::update") {
    call("operator.ior", {self, argument(values.at(1))}, none);
    return true;
  }
  if (name == "aten::popitem") {  // the oldest
    const auto& types = dict_type->contained_types();
    const Value keys = call("builtins.list", {self}, list_type(types[0]));
    const Value key = call("operator.getitem", {argument(keys), 0}, types[0]);
    const Value item = call("operator.getitem", {self, argument(key)}, types[1]);
    call("operator.delitem", {self, argument(key)}, none);
    frames_.set(node, make_tuple({key, item}));
    return true;
  }
  const bool is_pop = name == "aten::pop", is_set = name == "aten::setdefault";
  const TypePtr& type = node->output()->type();
  const Argument key = argument(values.at(1));
  if (is_pop && values.size() == 2) {
    frames_.set(node, call("operator.getitem", {self, key}, type));
    call("operator.delitem", {self, key}, none);
    return true;
  }
  const Argument otherwise = values.size() > 2 ? argument(values[2]) : Argument::None{};
  const Argument one =
      argument(call("builtins.dict", {Argument::List{{Argument::Tuple{{key, otherwise}}}}}, dict_type));
  const Value both = call("operator.or_", {one, self}, dict_type);
  const Value item = call("operator.getitem", {argument(both), key}, type);
  frames_.set(node, item);
  if (is_set) call("operator.setitem", {self, key, argument(item)}, none);
  if (is_pop) {
    call("operator.ior", {self, one}, none);  // so that it has the key
    call("operator.delitem", {self, key}, none);
  }
  return true;
}

// Returns the text of a plain value, as TorchScript's str() gives it, or as a format with one `%`.
Value GraphOperators::plain_text(const Value& value, const std::string& format, const IrNode* node) {
  const bool is_str = format == "%s";
  const auto plain = torchscript::find_plain_operator(
      *internal::find_operator(is_str ? "aten::str" : "aten::percentFormat", ""));
  Values texts;
  const Values arguments = is_str ? Values{value} : Values{Value(format), value};
  if (const auto refusal = torchscript::carry_out(*plain, arguments, texts))
    frames_.refuse(refusal->why, node);
  return texts.at(0);
}

// Records str(value).
Value GraphOperators::text_of(const Value& value, const IrNode* node) {
  if (is_plain(value)) return plain_text(value, "%s", node);
  const TypePtr type = dynamic_type(value);
  if (type->kind() == TypeKind::kString) return value;
  if (may_hold_tensor(*type) || !is_printed_by_value(*type)) {
    recorder_.conditions.record_query(value);
    frames_.refuse("the text of a " + type_name(*type) + " that depends on an input", node);
  }
  // Python has another text of floats, and of texts in a list.
  return recorder_.apply(is_same_text(*type) ? "builtins.str" : "aten.str.default", {value}, string_type(),
                         node);
}

Value GraphOperators::joined(const Value& text, const Value& more, const IrNode* node) {
  if (text.is_string() && more.is_string()) return text.to_string() + more.to_string();
  if (text.is_string() && text.to_string().empty()) return more;
  if (more.is_string() && more.to_string().empty()) return text;
  return recorder_.apply("operator.add", {text, more}, string_type(), node);
}

// Records "{} and {}".format(a, b) as str(a) + " and " + str(b): str.format itself cannot be the target of a
// node.
Value GraphOperators::formatted(const Values& values, const IrNode* node) {
  const std::string& text = values[0].to_string();
  Value result(std::string{});
  std::size_t next = 1;
  std::size_t from = 0;
  for (std::size_t at = text.find("{}"); at != std::string::npos && next < values.size();
       at = text.find("{}", from)) {
    result = joined(result, text.substr(from, at - from), node);
    result = joined(result, text_of(values[next++], node), node);
    from = at + 2;
  }
  return joined(result, text.substr(from), node);
}

// Records "%s: %d" % (a, b) likewise.
Value GraphOperators::percent_formatted(const Values& values, const IrNode* node) {
  const std::string& text = values[0].to_string();
  const Values given = values[1].is_tuple() ? Values(values[1].items()) : Values{values[1]};
  Value result(std::string{});
  std::size_t used = 0;
  std::size_t from = 0;
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', from)) {
    if (at + 1 == text.size()) frames_.refuse("the format string ends with %", node);
    const char key = text[at + 1];
    result = joined(result, text.substr(from, at - from), node);
    from = at + 2;
    if (key == '%') {
      result = joined(result, Value(std::string("%")), node);
      continue;
    }
    if (used == given.size()) frames_.refuse("too few arguments for the format string", node);
    const Value& part = given[used++];
    const bool is_integer = (key == 'd' || key == 'i') && dynamic_type(part)->kind() == TypeKind::kInt;
    if (is_plain(part)) {
      result = joined(result, plain_text(part, std::string("%") + key, node), node);
    } else if (key == 's' || is_integer) {
      result = joined(result, text_of(part, node), node);
    } else {
      recorder_.conditions.record_query(part);
      frames_.refuse(std::string("%") + key + " in a format string, of a value that depends on an input",
                     node);
    }
  }
  if (used != given.size()) frames_.refuse("too many arguments for the format string", node);
  return joined(result, text.substr(from), node);
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
    frames_.set(node, percent_formatted(values, node));
    return true;
  }
  if (name == "aten::str" && values.size() == 1) {
    frames_.set(node, text_of(values[0], node));
    return true;
  }
  if (name == "aten::hash") {
    if (values.empty() || dynamic_type(values[0])->kind() != TypeKind::kInt)
      frames_.refuse("hash() of a value that depends on an input and is not an integer", node);
    frames_.set(node, values[0]);  // TorchScript's hash of an integer is the integer, not Python's
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

}  // namespace fxtrace::internal::interpreter
