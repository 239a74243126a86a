#include "torchscript/operator_calls.h"

#include <algorithm>
#include <optional>

#include "families/python_spelling.h"
#include "families/traits.h"
#include "operators/operators.h"
#include "script/plain_operators.h"
#include "script/tensor_elements.h"
#include "support/shell_word.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/run.h"
#include "torchscript/structure.h"

namespace fxtrace::torchscript {

namespace {

// What is kept, in units of the budget.
constexpr std::size_t kUnitsOfNode = 64;

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

bool is_list_of_integers(const Type& type) {
  const auto* list = type.as<ListType>();
  return list != nullptr && list->element()->kind() == TypeKind::kInt;
}

bool is_written(const FunctionSchema& schema, std::size_t index) {
  return index < schema.arguments.size() && schema.arguments[index].is_written;
}

}  // namespace

// What a dtype is compared with is a dtype: x.dtype == torch.float32, x.dtype in (torch.int32, torch.int64).
NumberMeaning OperatorCalls::compared_meaning(const IrNode* node, const Values& values) {
  if (!run_.knowledge.has_trait(node, traits::kCompares)) return NumberMeaning::kNumber;
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

void OperatorCalls::run(const IrNode* node) {
  if (node->kind() == Symbol::kPrimTolist) {
    // The type that is asked for is made before it is looked at.
    const auto constant = run_.shapes ? run_.constants.find(frames_.input(node, 0)) : nullptr;
    const Value dimensions = node->inputs().size() == 3 ? frames_.input(node, 1) : Value();
    if (constant && constant->is_constant() && dimensions.is_int() &&
        dimensions.to_int() == constant->dim()) {
      TypePtr element = node->output()->type();
      while (const auto* list = element->as<ListType>()) element = list->element();
      if (auto list = script::find_list(*constant, element)) return frames_.set(node, *std::move(list));
    }
    const TypePtr type = node->output()->type();
    AbstractValue known;
    const TensorInfo* info = known_of(frames_.input(node, 0)).tensor();
    const auto elements = constant != nullptr ? constant->integers() : std::vector<SymInt>{};
    if (info != nullptr && info->dim() == 1 && !elements.empty() && is_list_of_integers(*type))
      known.value = AbstractValue::Sequence(elements.begin(), elements.end());
    frames_.set(node, recording_.apply("torch.Tensor.tolist", {frames_.input(node, 0)}, type, node,
                                       std::move(known)));
    return;
  }
  const OperatorSchema* op = node->operator_schema();
  if (op == nullptr && (node->is(Symbol::kPrimEnumName) || node->is(Symbol::kPrimEnumValue))) {
    const Value& member = frames_.input(node, 0);
    if (member.is_enum()) {
      return frames_.set(
          node, node->is(Symbol::kPrimEnumName) ? Value(member.to_enum().name) : member.to_enum().value);
    }
    run_.conditions.ask(member);
    frames_.refuse("which member of its class an enum is depends on an input", node);
  }
  if (op == nullptr) {
    frames_.refuse(std::string(to_text(node->kind())) + " cannot be followed", node);
  }
  const FunctionSchema* schema = &op->schema;
  Values values = frames_.inputs(node);
  recording_.check_numbers(*schema, values, node);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_written(*schema, i)) run_.assignments.note_change(values[i], node);
  }
  if (is_structural(node, *schema, values)) return execute(node, std::move(values));
  bool all_plain = true;
  for (const Value& value : values) all_plain = recording_.measure(value, node).is_plain && all_plain;
  if (is_carried_out(*schema, run_.knowledge.traits_of(node), all_plain))
    return execute(node, std::move(values));
  if (!run_.knowledge.answer(node, *schema, values)) record(node, *schema, values);
  if (run_.mode == Mode::kState && node->outputs().size() == 1 && is_script_object(*node->output()->type()))
    run_.made.add(frames_.value(node->output()), std::move(values));
}

bool OperatorCalls::is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!run_.knowledge.has_trait(node, traits::kMovesElements)) return false;
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

void OperatorCalls::execute(const IrNode* node, Values values) {
  const FunctionSchema& schema = node->operator_schema()->schema;
  const Operator* row = find_operator(schema);
  const auto plain = row == nullptr ? std::nullopt : script::find_plain_operator(*row);
  if (!plain) frames_.refuse(schema.name + " is not carried out", node);
  run_.budget.spend(script::cost_of(schema.name, values));
  // A list is not added to itself while it is gone through.
  if (schema.name == "aten::extend" && values.size() == 2 && values[0].is(values[1]))
    values[1] = copy_of(values[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_written(schema, i) || !is_container(values[i])) continue;
    if (run_.makes_subgraphs()) run_.subgraphs.note_change(values[i], name_of(node->input(i)), node);
    run_.changes.remember(values[i]);
  }
  const auto identities = [&] {  // of what is given: append() gives the list back
    std::vector<const void*> all;
    for (const Value& each : values) all.push_back(is_container(each) ? each.identity() : nullptr);
    return all;
  }();
  Values results;
  if (auto refusal = script::carry_out(*plain, values, results))
    frames_.fail(failure_kind(refusal->kind), readable_message(refusal->why), node);
  constexpr std::size_t kUnitsOfElement = 3;
  for (const Value& result : results) {
    const bool is_given =
        is_container(result) && std::ranges::find(identities, result.identity()) != identities.end();
    if (!is_given) run_.budget.spend(kUnitsOfElement * script::length_of(result));
  }
  const auto& outputs = node->outputs();
  for (std::size_t i = 0; i < outputs.size() && i < results.size(); ++i)
    frames_.set(outputs[i], std::move(results[i]));
}

void OperatorCalls::record(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!run_.records() && !run_.shapes) {
    for (const IrValue* output : node->outputs()) frames_.set(output, make_proxy(NodeRef{}, output->type()));
    return;
  }
  for (std::size_t i = 0; i < values.size() && i < schema.arguments.size(); ++i) {
    if (is_written(schema, i) && values[i].is_tensor()) run_.constants.note_write(values[i]);
    const bool numbers_or_dict =
        is_container(values[i]) && schema.arguments[i].type->kind() != TypeKind::kTensor &&
        !(schema.arguments[i].type->kind() == TypeKind::kList &&
          schema.arguments[i].type->contained_types()[0]->kind() == TypeKind::kTensor);
    if (is_written(schema, i) && numbers_or_dict) {
      if (run_.mode == Mode::kAbstract) frames_.refuse("a list that depends on an input", node);
      materialize(values[i], node);
      return record(node, schema, frames_.inputs(node));
    }
  }
  run_.budget.spend(kUnitsOfNode);
  std::vector<AbstractValue> results = run_.knowledge.infer_results(node, schema, values);
  if (!run_.records()) {
    set_recorded(node, NodeId{}, NumberMeaning::kNumber, std::move(results));
    return run_.knowledge.note_results(node, schema, values);
  }
  if (record_container_change(node, schema, values, results.empty() ? AbstractValue{} : results[0]))
    return run_.knowledge.note_results(node, schema, values);
  if (record_in_python(node, schema, values)) return;
  PythonTarget target = python_target(schema.name, schema.overload_name, own_schema(schema));
  const NumberMeaning compared = compared_meaning(node, values);
  auto [args, kwargs] = recording_.arguments(schema, values, 0, node, [&](std::size_t index) {
    const NumberMeaning meaning = meaning_of_parameter(schema, index);
    return meaning == NumberMeaning::kNumber ? compared : meaning;
  });
  NumberMeaning result_meaning = NumberMeaning::kNumber;
  switch (target.form) {
    case TargetForm::kUnsupported:
      for (const Value& value : values) run_.conditions.ask(value);
      if (const Proxy* dict = values.empty() ? nullptr : recording_.find_recorded(values[0]);
          dict != nullptr && dict->static_type->kind() == TypeKind::kDict) {
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
    case TargetForm::kSame:  // a Python function knows nothing of TorchScript's defaults
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
  const NodeId recorded = run_.tracer->call_function(
      std::move(target.name), std::move(args), std::move(kwargs), std::move(known), frames_.location(node));
  run_.knowledge.keep_answer(node, schema, values, run_.ref(recorded));
  run_.input_guards.made(run_.ref(recorded));
  set_recorded(node, recorded, result_meaning, std::move(results));
  run_.knowledge.note_results(node, schema, values);
}

// Changes of a list that the graph makes, for which Python has no function: written with those it has.
bool OperatorCalls::record_container_change(const IrNode* node, const FunctionSchema& schema,
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

// "{} and {}".format(a, b) as "" + str(a) + " and " + str(b): str.format itself cannot stand in a graph.
Value OperatorCalls::formatted(const Values& values, const IrNode* node) {
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

// What Python does by other means than a function of the same arguments.
bool OperatorCalls::record_in_python(const IrNode* node, const FunctionSchema& schema, const Values& values) {
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
      // Of text and floats it is another number than Python's.
      frames_.refuse("hash() of a value that depends on an input and is no integer", node);
    }
    frames_.set(node, recording_.apply("builtins.hash", {values[0]}, int_type(), node));
    return true;
  }
  return false;
}

void OperatorCalls::set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                                 std::vector<AbstractValue> known) {
  const auto& results = node->outputs();
  known.resize(results.size());
  if (results.size() == 1) {
    const TypePtr& type = results[0]->type();
    if (type->kind() == TypeKind::kNone) return frames_.set(results[0], Value());
    return frames_.set(results[0], meaning == NumberMeaning::kNumber
                                       ? make_proxy(run_.ref(recorded), type, std::move(known[0]))
                                       : make_proxy(run_.ref(recorded), type, meaning));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->has_uses()) continue;
    const TypePtr& type = results[i]->type();
    NodeId item = recorded;
    if (run_.records()) {
      item = run_.tracer->call_function("operator.getitem", {recorded, static_cast<std::int64_t>(i)}, {},
                                        meta_of(type, known[i]), frames_.location(node));
    }
    frames_.set(results[i], make_proxy(run_.ref(item), type, std::move(known[i])));
  }
}

void OperatorCalls::materialize(const Value& container, const IrNode* node) {
  const bool list = container.is_list();
  if (run_.makes_subgraphs())
    run_.subgraphs.check_change(container, list ? "a list is changed" : "a dict is changed", node);
  Value proxy =
      recording_.apply(list ? "builtins.list" : "builtins.dict", {container}, dynamic_type(container), node);
  frames_.replace(container, std::move(proxy));
  run_.changes.add([this, container] { frames_.take_back_replacement(container); });
}

}  // namespace fxtrace::torchscript
