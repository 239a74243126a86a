#include "verify/inputs/guard_evaluator.h"

#include <string_view>
#include <vector>

#include "symbolic/affine.h"
#include "verify/calls/graph_run.h"

namespace fxtrace::internal::verify {
namespace {

// Thrown for a value that is not known.
struct Unknown {};

using Kind = Expression::Kind;

// Returns the dotted name of the expression, such as "torch.float32"; empty if it is none.
std::string dotted(const Expression& expression) {
  if (const SymInt* size = expression.size()) return size->symbol_name().value_or("");
  if (expression.kind() == Kind::kVerbatim) return expression.name();
  if (expression.kind() != Kind::kAttribute) return {};
  const std::string holder = dotted(expression.parts()[0]);
  return holder.empty() ? holder : holder + "." + expression.name();
}

}  // namespace

GuardEvaluator::GuardEvaluator(const Engine& engine, std::map<std::string, std::int64_t> sizes,
                               std::map<std::string, RunValue> inputs)
    : engine_(engine), sizes_(std::move(sizes)), inputs_(std::move(inputs)) {
  for (const auto& [name, value] : inputs_) {
    if (const auto number = engine_.integer_of(value)) sizes_.emplace(name, *number);
  }
}

std::optional<bool> GuardEvaluator::holds(const Expression& condition) const {
  try {
    return truth(condition);
  } catch (const Unknown&) {
    return std::nullopt;
  } catch (const RunError&) {  // for a size that is not drawn yet, or a value without such an operator
    return std::nullopt;
  }
}

bool GuardEvaluator::truth(const Expression& condition) const {
  if (condition.kind() == Kind::kAnd) {
    for (const Expression& part : condition.parts()) {
      if (!truth(part)) return false;
    }
    return true;
  }
  if (condition.kind() == Kind::kOr) {
    for (const Expression& part : condition.parts()) {
      if (truth(part)) return true;
    }
    return false;
  }
  if (condition.kind() == Kind::kNot) return !truth(condition.parts()[0]);
  return engine_.truth(value_of(condition));
}

RunValue GuardEvaluator::run(const std::string& function, std::vector<RunValue> values) const {
  FunctionCall call;
  call.target = function;
  for (RunValue& value : values) call.args.emplace_back(std::move(value));
  return run_function(engine_, call);
}

RunValue GuardEvaluator::size_of(const SymInt& size) const {
  if (const auto name = size.symbol_name()) {
    if (const auto input = inputs_.find(*name); input != inputs_.end()) return input->second;
  }
  const auto number = size.evaluate(sizes_);
  if (!number) throw Unknown();
  return engine_.integer(*number);
}

RunValue GuardEvaluator::call(const Expression& expression) const {
  const Expression& function = expression.parts()[0];
  std::vector<RunValue> values;
  const auto add_arguments = [&] {
    for (std::size_t i = 1; i < expression.parts().size(); ++i)
      values.push_back(value_of(expression.parts()[i]));
  };
  const std::string name = dotted(function);
  if (name.starts_with("torch.ops.")) {
    add_arguments();
    return run(name.substr(std::string_view("torch.ops.").size()), std::move(values));
  }
  if (name.starts_with("math.")) {
    add_arguments();
    return run(name, std::move(values));
  }
  if ((name == "len" || name == "list" || name == "sorted") && expression.parts().size() == 2) {
    const RunValue value = value_of(expression.parts()[1]);
    const bool is_dict = engine_.kind(value) == kFxtraceDict;
    if (name == "len" && (is_dict || engine_.kind(value) == kFxtraceTuple))
      return engine_.integer(static_cast<std::int64_t>(engine_.size(value)));
    if (name != "len" && is_dict) {
      std::vector<RunValue> keys;
      for (std::size_t i = 0; i < engine_.size(value); ++i) keys.push_back(engine_.key(value, i));
      const RunValue list = engine_.list(keys);
      return name == "list" ? list : engine_.call("aten::sorted", std::nullopt, {{list}, {}});
    }
    if (name == "sorted") throw Unknown();
  }
  if (name == "len" || name == "int" || name == "float" || name == "bool" || name == "list" ||
      name == "min" || name == "max" || name == "abs" || name == "any" || name == "all" || name == "sum") {
    add_arguments();
    return run("builtins." + name, std::move(values));
  }
  if (function.kind() != Kind::kAttribute) throw Unknown();
  values.push_back(value_of(function.parts()[0]));
  add_arguments();
  const std::string method = engine_.kind(values[0]) == kFxtraceText ? "builtins.str." + function.name() : "";
  if (!method.empty()) return run(method, std::move(values));
  return engine_.call("aten::" + function.name(), std::nullopt, {values, {}});
}

RunValue GuardEvaluator::of_two(const PythonOperator& op, RunValue left, RunValue right) const {
  if (op.name.empty()) throw Unknown();
  const std::string function = "operator." + std::string(op.name);
  const auto a = engine_.integer_of(left), b = engine_.integer_of(right);
  // LibTorch wraps integers to 64 bits, and divides them as floats.
  if (a && b && op.takes_numbers()) {
    const auto result = evaluate_python(function, {*a, *b});
    if (!result) throw Unknown();
    return std::visit([&](auto number) { return engine_.constant(number); }, *result);
  }
  return run(function, {std::move(left), std::move(right)});
}

RunValue GuardEvaluator::value_of(const Expression& expression) const {
  if (const SymInt* size = expression.size()) return size_of(*size);
  const auto part = [&](std::size_t i) { return value_of(expression.parts().at(i)); };
  const auto all = [&] {
    std::vector<RunValue> values;
    for (const Expression& item : expression.parts()) values.push_back(value_of(item));
    return values;
  };
  switch (expression.kind()) {
    case Kind::kFloat:
      return engine_.constant(expression.floating());
    case Kind::kConstant:
      return expression.name() == "None" ? engine_.none() : engine_.constant(expression.name() == "True");
    case Kind::kText:
      return engine_.text(expression.name());
    case Kind::kNegative:
      return run("operator.neg", {part(0)});
    case Kind::kNot:
    case Kind::kAnd:
    case Kind::kOr:
      return engine_.constant(truth(expression));
    case Kind::kBinary:
    case Kind::kComparison:
      return of_two(*operator_of_symbol(expression.name()), part(0), part(1));
    case Kind::kCall:
      return call(expression);
    case Kind::kAttribute: {
      const std::string name = dotted(expression);
      if (name.starts_with("torch.")) return engine_.constant(Argument::Dtype{expression.name()});
      return run("builtins.getattr", {part(0), engine_.text(expression.name())});
    }
    case Kind::kItem:
      return run("operator.getitem", {part(0), part(1)});
    case Kind::kList:
      return engine_.list(all());
    case Kind::kTuple:
      return engine_.tuple(all());
    case Kind::kVerbatim: {
      const auto input = inputs_.find(expression.name());
      if (input != inputs_.end()) return input->second;
      throw Unknown();
    }
    default:
      throw Unknown();
  }
}

std::optional<std::pair<std::string, std::int64_t>> solve(const SymInt& size, std::int64_t result,
                                                          const std::map<std::string, std::int64_t>& sizes) {
  try {
    const SymInt left = size.substitute({sizes.begin(), sizes.end()});
    const std::vector<std::string> names = left.symbols();
    if (names.size() != 1) return std::nullopt;
    const auto affine = find_affine(SymInt::symbol(names[0]), left);
    const auto value = affine ? affine->apply(result) : std::nullopt;
    return value ? std::optional(std::pair(names[0], *value)) : std::nullopt;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

}  // namespace fxtrace::internal::verify
