#include "exported/verifier/call_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/node_arguments.h"
#include "operators/operators.h"
#include "opinfo/infer.h"
#include "opinfo/operator_entry.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMaxShownName = 100;

std::string shown_name(std::string_view name) { return "'" + cut(name, kMaxShownName) + "'"; }

// Returns the type as schemas write it: "int[]?".
std::string type_text(const SchemaType& type) {
  if (type.is_optional() && !type.parts.empty()) return type_text(type.parts[0]) + "?";
  if (type.is_list() && !type.parts.empty()) return type_text(type.parts[0]) + "[]";
  return type.name;
}

std::string number_text(std::size_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

// Returns whether a result with this form in the JSON may have the type; a result that is not used is None.
bool may_be_result(std::string_view form, const SchemaType& given) {
  const SchemaType& type = given.required();
  if (form == "as_none" || type.is_variable() || type.name == "Any") return true;
  const std::string_view element = type.is_list() && !type.parts.empty()
                                       ? std::string_view(type.parts[0].required().name)
                                       : std::string_view(type.name);
  const auto any_of = [&](std::initializer_list<std::string_view> forms) {
    return std::ranges::find(forms, form) != forms.end();
  };
  if (type.is_list()) {
    if (element == "Tensor") return any_of({"as_tensors", "as_optional_tensors", "as_nested_tensors"});
    if (element == "int" || element == "SymInt") return any_of({"as_sym_ints", "as_ints"});
    return true;
  }
  if (element == "Tensor") return any_of({"as_tensor", "as_optional_tensor"});
  if (element == "int" || element == "SymInt") return any_of({"as_sym_int", "as_int"});
  if (element == "float") return any_of({"as_sym_float", "as_float"});
  if (element == "bool") return any_of({"as_sym_bool", "as_bool"});
  if (element == "Scalar" || element == "number")
    return any_of({"as_sym_int", "as_sym_float", "as_sym_bool", "as_int", "as_float", "as_bool"});
  return true;
}

// Returns the number of arguments of a function of Python on numbers; nothing for other targets.
std::optional<std::size_t> arguments_of(std::string_view target) {
  constexpr std::string_view kOne[] = {"operator.neg",  "operator.pos",  "operator.not_",  "operator.invert",
                                       "math.ceil",     "math.floor",    "math.trunc",     "math.sqrt",
                                       "torch.sym_not", "torch.sym_int", "torch.sym_float"};
  if (std::ranges::find(kOne, target) != std::end(kOne)) return 1;
  const PythonOperator* op = operator_of_target(target);
  const bool is_extreme = target == "torch.sym_max" || target == "torch.sym_min";
  if (is_extreme || (op != nullptr && op->takes_numbers())) return 2;
  return target == "torch.sym_ite" ? std::optional<std::size_t>(3) : std::nullopt;
}

std::optional<ProgramView> body_at(const ProgramView& graph, const Node& operation, std::size_t argument) {
  const auto* name =
      argument < operation.args.size() ? operation.args[argument].get_if<argument::GraphRef>() : nullptr;
  return name == nullptr ? std::nullopt : graph.find_subgraph(name->name);
}

}  // namespace

CallCheck::CallCheck(const ProgramView& graph, ShapeEnv& dimensions, const std::vector<bool>& opaque)
    : graph_(graph), dimensions_(dimensions) {
  known_.resize(graph.graph().id_count());
  for (const NodeId id : graph.graph().order()) {
    if (!opaque[id.index]) known_[id.index] = known_value(graph.meta(id));
  }
}

void CallCheck::check(const Node& operation, const JsonValue& node, bool is_cast, const Tell& tell) {
  if (target_parts(operation).kind == TargetKind::kHigherOrder) return bodies(operation, tell);
  const Operator* op = graph_.facts(operation.id).op;
  if (op == nullptr) return function(operation, tell);
  const Schema& schema = entry_of(*op).schema;
  // The JSON of a call that is ordered by a token has the token among its arguments and results.
  const bool fits_arguments = arguments(operation, schema, node, tell);
  const bool fits_results = graph_.facts(operation.id).has_effect || results(schema, node, tell);
  if (fits_arguments && fits_results) shapes(operation, is_cast, tell);
}

// --- arguments ---

std::string CallCheck::kind_of(const Argument& value) const {
  if (const auto* id = value.get_if<NodeId>()) {
    switch (graph_.meta(*id).kind()) {
      case ValueKind::kTensor:
        return "a tensor";
      case ValueKind::kInt:
        return "an integer";
      case ValueKind::kFloat:
        return "a float";
      case ValueKind::kBool:
        return "a bool";
      default:
        return "an object";
    }
  }
  if (value.is<argument::None>()) return "None";
  if (value.is<bool>()) return "a bool";
  if (value.is<std::int64_t>()) return "an integer";
  if (value.is<double>()) return "a float";
  if (value.is<std::complex<double>>()) return "a complex number";
  if (value.is<std::string>()) return "a text";
  if (value.is<argument::Dtype>()) return "a dtype";
  if (value.is<argument::Device>()) return "a device";
  if (value.is<argument::Layout>()) return "a layout";
  if (value.is<argument::MemoryFormat>()) return "a memory format";
  if (const auto* items = items_of(value)) {
    for (const Argument& item : *items) {
      if (const std::string first = kind_of(item); first != kind_of(items->front()))
        return "a list of several kinds";
    }
    return items->empty() ? "an empty list" : "a list (first item: " + kind_of(items->front()) + ")";
  }
  return "a value of another kind";
}

bool CallCheck::fits(const Argument& value, const SchemaType& type) const {
  if (type.is_variable()) return true;
  if (type.is_optional()) return value.is<argument::None>() || fits(value, type.parts.at(0));
  if (!type.is_list()) return fits_name(value, type.name);
  const SchemaType& element = type.parts.at(0);
  const auto* items = items_of(value);
  return items != nullptr &&
         std::ranges::all_of(*items, [&](const Argument& item) { return fits(item, element); });
}

bool CallCheck::fits(const Argument& value, const SchemaArgument& formal) const {
  if (fits(value, formal.type)) return true;
  return formal.length && items_of(value) == nullptr && fits(value, formal.type.required().parts.at(0));
}

bool CallCheck::fits_name(const Argument& value, std::string_view type) const {
  std::optional<ValueKind> kind;  // the kind of a number or tensor
  if (const auto* id = value.get_if<NodeId>()) {
    const Meta& meta = graph_.meta(*id);
    if (!meta.type) return true;  // the missing type is reported elsewhere
    kind = meta.kind();
  } else if (value.is<bool>()) {
    kind = ValueKind::kBool;
  } else if (value.is<std::int64_t>()) {
    kind = ValueKind::kInt;
  } else if (value.is<double>()) {
    kind = ValueKind::kFloat;
  }
  const bool is_real = kind == ValueKind::kInt || kind == ValueKind::kFloat;
  const bool is_number = is_real || kind == ValueKind::kBool || value.is<std::complex<double>>();
  if (type == "Tensor") return kind == ValueKind::kTensor || is_number;  // torch converts numbers to tensors
  if (type == "Scalar" || type == "number" || type == "complex") return is_number;
  if (type == "int" || type == "SymInt") return kind == ValueKind::kInt;
  if (type == "float") return is_real;
  if (type == "bool" || type == "SymBool") return kind == ValueKind::kBool;
  if (type == "str") return value.is<std::string>();
  if (type == "ScalarType") return value.is<argument::Dtype>();
  if (type == "Device") return value.is<argument::Device>();
  if (type == "Layout") return value.is<argument::Layout>();
  if (type == "MemoryFormat") return value.is<argument::MemoryFormat>();
  return !value.is<argument::None>() || type == "NoneType" || type == "Any";
}

bool CallCheck::arguments(const Node& operation, const Schema& schema, const JsonValue& node,
                          const Tell& tell) const {
  bool fits_all = true;
  const auto wrong = [&](const std::string& message) {
    fits_all = false;
    tell(ProgramFaultKind::kCall, message);
  };
  const auto& formals = schema.arguments;
  std::vector<bool> given(formals.size());
  const auto take = [&](std::size_t at, const Argument& value) {
    if (given[at]) return wrong("the argument " + shown_name(formals[at].name) + " is given twice");
    given[at] = true;
    if (!fits(value, formals[at]))
      wrong("the argument " + shown_name(formals[at].name) + " is " + kind_of(value) + ", expected " +
            type_text(formals[at].type));
  };
  for (std::size_t i = 0; i < operation.args.size(); ++i) {
    if (i < formals.size() && !formals[i].keyword_only) {
      take(i, operation.args[i]);
    } else if (!schema.is_variadic) {
      const auto most = static_cast<std::size_t>(std::ranges::count(
          formals, false, [](const SchemaArgument& formal) { return formal.keyword_only; }));
      wrong(number_text(operation.args.size(), "argument is", "arguments are") +
            " given by position, but the operator takes at most " + std::to_string(most));
      break;
    }
  }
  for (const auto& [name, value] : operation.kwargs) {
    if (const auto place = schema.find_argument(name))
      take(*place, value);
    else
      wrong("the operator has no argument " + shown_name(name));
  }
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (!given[i] && !formals[i].default_value)
      wrong("the argument " + shown_name(formals[i].name) + " is missing");
    else if (!given[i] && is_python_keyword(formals[i].name))
      wrong("the argument " + shown_name(formals[i].name) +
            " is missing: torch.export.load needs it, as a keyword of Python, also where it has its default");
  }
  const TargetParts parts = target_parts(operation);
  if (is_python_keyword(parts.overload))
    wrong("the overload " + shown_name(parts.overload) +
          " is a keyword of Python, so that torch cannot write the call as code");
  if (graph_.facts(operation.id).has_effect) return fits_all;
  // The JSON names arguments that are given by position, too, and some versions of torch pass them by name.
  std::size_t position = 0;
  for (const JsonValue input : node.at("inputs").items()) {
    if (position == operation.args.size() || position == formals.size()) break;
    const std::size_t at = position++;
    const auto name = input.find("name");
    if (name && !name->string().empty() && name->string() != formals[at].name)
      wrong("the argument at the position of " + shown_name(formals[at].name) + " has the name " +
            shown_name(name->string()));
  }
  return fits_all;
}

// --- results ---

bool CallCheck::results(const Schema& schema, const JsonValue& node, const Tell& tell) const {
  if (schema.has_variadic_results) return true;
  std::vector<std::string_view> forms;
  for (const JsonValue output : node.at("outputs").items()) forms.push_back(output.alternative().key);
  if (schema.results.empty()) std::erase(forms, "as_none");
  if (forms.size() != schema.results.size()) {
    tell(ProgramFaultKind::kCall, "it has " + number_text(forms.size(), "result", "results") +
                                      ", but the operator returns " + std::to_string(schema.results.size()));
    return false;
  }
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (may_be_result(forms[i], schema.results[i])) continue;
    tell(ProgramFaultKind::kCall, "its result has the form " + shown_name(forms[i]) +
                                      ", but the operator returns " + type_text(schema.results[i]));
    return false;
  }
  return true;
}

const AbstractValue& CallCheck::known(NodeId value) { return known_[value.index]; }

void CallCheck::shapes(const Node& operation, bool is_cast, const Tell& tell) {
  const OperatorEntry& op = entry_of(*graph_.facts(operation.id).op);
  const auto value_of = [this](NodeId value) -> const AbstractValue& { return known(value); };
  const KnownArguments values(op, operation, value_of);
  const Inferred inferred = infer_shapes(RuleArguments(op, values, dimensions_));
  if (!inferred.error.empty() && is_cast) return;
  if (!inferred.error.empty())
    return tell(ProgramFaultKind::kCall, "torch refuses this call: " + inferred.error);
  for (const auto& [value, path] : graph_.results(operation.id)) {
    const AbstractValue* result = inferred.results.empty() ? nullptr : inferred.results.data();
    if (result == nullptr || known(value).is_unknown()) continue;
    std::size_t next = 0;
    if (inferred.results.size() > 1) {
      if (path.empty() || static_cast<std::size_t>(path[0]) >= inferred.results.size()) continue;
      result = &inferred.results[static_cast<std::size_t>(path[next++])];
    }
    bool is_there = true;
    for (; next < path.size() && result->sequence() != nullptr; ++next) {
      const auto& items = *result->sequence();
      const auto at = static_cast<std::size_t>(path[next]);
      if (at >= items.size()) {
        tell(ProgramFaultKind::kCall, "it uses result number " + std::to_string(at) +
                                          ", but the operator returns " + std::to_string(items.size()));
        is_there = false;
        break;
      }
      result = &items[at];
    }
    if (is_there && next == path.size()) compare(*result, value, is_cast, tell);
  }
}

void CallCheck::compare(const AbstractValue& inferred, NodeId value, bool is_cast, const Tell& tell) const {
  const auto wrong = [&](const std::string& said, const std::string& is) {
    tell(ProgramFaultKind::kMeta,
         "the program says that " + shown_name(graph_.value_name(value)) + " " + said + ", but it " + is);
  };
  const auto differ = [&](const SymInt& a, const SymInt& b) {
    return dimensions_.decide(Relation::kEqual, a, b) == false;
  };
  const Meta& meta = graph_.meta(value);
  if (const SymInt* number = inferred.integer()) {
    const SymInt* said = meta.value ? meta.value->size() : nullptr;
    if (said != nullptr && differ(*number, *said)) wrong("is " + said->text(), "is " + number->text());
    return;
  }
  const TensorInfo* tensor = inferred.tensor();
  if (tensor == nullptr) return;
  if (meta.kind() != ValueKind::kTensor) return wrong("is not a tensor", "is one");
  if (!is_cast && tensor->dtype && meta.has_dtype() && tensor->dtype != meta.dtype)
    return wrong("has the dtype " + *meta.dtype_text(), "has " + dtype_name(*tensor->dtype));
  if (!meta.shape) return;
  if (tensor->sizes.size() != meta.shape->size()) {
    return wrong("has " + number_text(meta.shape->size(), "dimension", "dimensions"),
                 "has " + std::to_string(tensor->sizes.size()));
  }
  for (std::size_t i = 0; i < tensor->sizes.size(); ++i) {
    const SymInt* said = (*meta.shape)[i].size();
    if (said != nullptr && differ(tensor->sizes[i], *said))
      return wrong("has the size " + said->text() + " in dimension " + std::to_string(i),
                   "has " + tensor->sizes[i].text());
  }
}

// --- functions of numbers ---

void CallCheck::function(const Node& operation, const Tell& tell) const {
  const std::size_t count = operation.args.size() + operation.kwargs.size();
  const auto wanted = arguments_of(*operation.target);
  if (wanted && count != *wanted)
    return tell(ProgramFaultKind::kCall, "it has " + number_text(count, "argument", "arguments") +
                                             ", but the function takes " + std::to_string(*wanted));
  for (const Argument& value : operation.args) {
    if (wanted && !fits_name(value, "Scalar"))
      return tell(ProgramFaultKind::kCall,
                  "an argument is " + kind_of(value) + ", but the function takes numbers");
  }
}

// --- bodies of control flow ---

// Returns whether a value of one graph and a value of another may be the same: of one kind, dtype and rank.
bool CallCheck::may_be(const ProgramView& graph, const Argument& value, const ProgramView& other,
                       const Argument& said) {
  const auto* id = value.get_if<NodeId>();
  const auto* other_id = said.get_if<NodeId>();
  if (id == nullptr || other_id == nullptr) return true;
  const Meta& one = graph.meta(*id);
  const Meta& two = other.meta(*other_id);
  if (!one.type || !two.type) return true;
  return one.kind() == two.kind() && one.dtype == two.dtype &&
         (!one.shape || !two.shape || one.shape->size() == two.shape->size());
}

void CallCheck::bodies(const Node& operation, const Tell& tell) const {
  const std::string_view name = target_parts(operation).name;
  const bool is_cond = name == "cond", is_loop = name == "while_loop";
  if (!is_cond && !is_loop) return;
  constexpr std::size_t kFirst = 2, kSecond = 3;  // positions of the lists of operands
  std::vector<Argument> operands, results;
  std::size_t carried = 0;
  for (const std::size_t at : {kFirst, kSecond}) {
    const auto* items = at < operation.args.size() ? items_of(operation.args[at]) : nullptr;
    if (items == nullptr && (at == kSecond) == is_cond) return;  // the operator is called in another form
    if (items == nullptr) continue;
    if (at == kFirst) carried = items->size();
    operands.insert(operands.end(), items->begin(), items->end());
  }
  for (const ProgramResult& output : graph_.results(operation.id)) {
    if (output.path.size() > 1) return;
    results.emplace_back(output.value);
  }
  const auto hold = [&](const ProgramView& inner, const std::vector<Argument>& values,
                        const std::vector<Argument>& outer, const std::string& what) {
    if (values.size() != outer.size())
      return tell(ProgramFaultKind::kCall, what + ": " + std::to_string(values.size()) + " inside, but " +
                                               std::to_string(outer.size()) + " outside");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!may_be(inner, values[i], graph_, outer[i]))
        tell(ProgramFaultKind::kMeta,
             what + ": kind, dtype or rank at position " + std::to_string(i) + " differs from that outside");
    }
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    const auto body = body_at(graph_, operation, at);
    if (!body) continue;
    const std::string shown = shown_name(operation.args[at].get_if<argument::GraphRef>()->name);
    std::vector<Argument> inputs;
    for (const NodeId input : body->inputs()) inputs.emplace_back(input);
    const std::vector<Argument> outputs = body->outputs();
    hold(*body, inputs, operands, "inputs of " + shown);
    if (is_loop && at == 0) {
      if (outputs.size() != 1)
        tell(ProgramFaultKind::kCall, "the condition " + shown + " does not return one value");
      continue;
    }
    hold(*body, outputs, results, "results of " + shown);
    if (is_loop && outputs.size() != carried)
      tell(ProgramFaultKind::kCall,
           "results of " + shown + ": expected one for each value that the loop carries");
  }
}

}  // namespace fxtrace::internal
