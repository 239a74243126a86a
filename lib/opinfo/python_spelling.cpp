#include "opinfo/python_spelling.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "opinfo/operator_row.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

bool has_tensor(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), [](const SchemaArgument& argument) {
    const SchemaType& type = argument.type.required();
    return (type.is_list() ? type.parts.front() : type).name == "Tensor";
  });
}

// Returns whether an argument has a type variable: torch.ops takes no values for such arguments.
bool takes_any_type(const Schema& schema) {
  const std::function<bool(const SchemaType&)> has_variable = [&](const SchemaType& type) {
    return type.is_variable() || std::any_of(type.parts.begin(), type.parts.end(), has_variable);
  };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [&](const SchemaArgument& argument) { return has_variable(argument.type); });
}

}  // namespace

PythonTarget python_target(std::string_view base_name, std::string_view overload, const Schema& schema) {
  const auto colon = base_name.find("::");
  const std::string_view space = base_name.substr(0, colon);
  const std::string_view base = base_name.substr(colon + 2);
  const bool aten = space == "aten";
  const bool prim = space == "prim";
  if (aten || prim) {
    const OperatorFacts& facts = facts_of(base_name);
    const auto has = [&](Traits trait) { return (facts.traits & trait) != 0; };
    if (!facts.python.empty()) return {std::string(facts.python), TargetForm::kSame};
    if (has(traits::kAttribute)) return {std::string(base), TargetForm::kAttribute};
    if (!has_tensor(schema)) {
      const std::string first = schema.arguments.empty() ? "" : schema.arguments[0].type.name;
      const std::string result = schema.results.empty() ? "" : schema.results[0].name;
      if (base_name == "aten::slice") return {"operator.getitem", TargetForm::kSlice};
      if (base_name == "aten::copy" && first == "Dict") return {"builtins.dict", TargetForm::kSame};
      if (base_name == "aten::append") return {"operator.iadd", TargetForm::kExtendOne};
      if (base_name == "aten::pow" && result == "float") return {"math.pow", TargetForm::kSame};
      // A method of str counts characters, an operator bytes.
      if (first == "str" && has(traits::kTextMethod)) return operator_target(base_name, overload, schema);
      if (!facts.on_values.empty()) return {std::string(facts.on_values), TargetForm::kSame};
      if (has(traits::kMathFunction) && result != "complex") {
        return {"math." + std::string(base), TargetForm::kSame};
      }
      if (aten && first == "str" && !has(traits::kPlain))
        return {std::string(base), TargetForm::kUnsupported};
      const bool container = first == "List" || first == "Dict";
      if (aten && container && schema.writes()) return {std::string(base), TargetForm::kUnsupported};
      if (base_name == "aten::items" || base_name == "aten::values") {
        return {std::string(base), TargetForm::kUnsupported};
      }
    }
  }
  return operator_target(base_name, overload, schema);
}

PythonTarget operator_target(std::string_view base_name, std::string_view overload, const Schema& schema) {
  const auto colon = base_name.find("::");
  const std::string base(base_name.substr(colon + 2));
  if (takes_any_type(schema) || schema.is_variadic) return {base, TargetForm::kUnsupported};
  return {std::string(base_name.substr(0, colon)) + "." + base + "." +
              (overload.empty() ? "default" : std::string(overload)),
          TargetForm::kOperator};
}

std::string_view python_function(std::string_view target) {
  static const auto functions = [] {
    std::map<std::string, std::string, std::less<>> found;
    for (const Operator& op : registered_operators()) {
      const Schema schema = op.schema();
      const auto is_plain = [](const SchemaArgument& argument) {
        return has_word("int float bool Scalar complex str", argument.type.innermost().name);
      };
      if (schema.arguments.empty() || !std::ranges::all_of(schema.arguments, is_plain)) continue;
      PythonTarget python = python_target(op.base_name(), op.overload(), schema);
      if (python.form == TargetForm::kSame) found.emplace(op.target(), std::move(python.name));
    }
    return found;
  }();
  const auto function = functions.find(target);
  return function == functions.end() ? target : std::string_view(function->second);
}

std::string operator_of_python(std::string_view target) {
  static const auto operators = [] {
    std::unordered_map<std::string_view, std::string> found;
    for_each_row([&](std::string_view name, const OperatorFacts& facts) {
      const std::string whole =
          (name.find("::") == std::string_view::npos ? "aten::" : "") + std::string(name);
      const auto has_side_effect = [](const Operator& op) { return has_trait(&op, traits::kSideEffect); };
      if (std::ranges::any_of(overloads(whole), has_side_effect)) return;
      for (const std::string_view python : {facts.on_values, facts.python}) {
        if (python.empty()) continue;
        const auto rank = [&](std::string_view op) {
          return std::pair(!python.ends_with("." + std::string(op.substr(op.find("::") + 2))), op);
        };
        std::string& best = found[python];
        if (best.empty() || rank(whole) < rank(best)) best = whole;
      }
    });
    return found;
  }();
  const auto found = operators.find(target);
  return found == operators.end() ? std::string() : found->second;
}

}  // namespace fxtrace::internal
