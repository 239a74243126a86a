// Runs operators of lib/torchscript, one call per line, for tests that compare the results with LibTorch:
//   {"op": "aten::add.int", "arguments": [1, 2]}  ->  {"results": [3], "arguments": [1, 2]}
// A call that is refused gives {"refusal": "raised", "why": "...", "before": true}; `before` says that it had
// not begun.  With "small": true the operator is one of small tensors, and the answer is {"unknown": true} if
// its result is not known.  Values are in the form of script_json.h.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "opinfo/infer.h"
#include "opinfo/operator_entry.h"
#include "script_json.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/operators/plain_operators.h"
#include "torchscript/values/tensor_value.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {
namespace {

using Json = nlohmann::json;

Json write_refusal(const Refusal& refusal, bool before) {
  constexpr const char* kKinds[] = {"raised", "limit", "unsupported"};
  return {{"refusal", kKinds[static_cast<std::size_t>(refusal.kind)]},
          {"why", write_text(refusal.why)},
          {"before", before}};
}

Json write_known(const AbstractValue& value) {
  if (const auto* items = value.sequence()) {
    Json all = Json::array();
    for (const AbstractValue& item : *items) all.push_back(write_known(item));
    const bool is_of_tensors = !items->empty() && items->front().tensor() != nullptr;
    return {{"list", {is_of_tensors ? "Tensor" : "int", all}}};
  }
  if (const auto* device = value.get_if<Device>()) return write_value(Value(*device));
  const TensorInfo* info = value.tensor();
  if (info == nullptr) return write_value(plain_value(value));
  const Array& array = *info->content->array;
  return {{"tensor",
           {{"dtype", dtype_name(array.dtype)},
            {"sizes", array.sizes},
            {"elements", write_values(values_of(array))}}}};
}

Json evaluated(const OperatorEntry& entry, const std::vector<Value>& arguments) {
  std::vector<AbstractValue> values;
  for (const Value& argument : arguments) values.push_back(abstract_value(argument));
  const AbstractArguments given(values);
  ShapeEnv dimensions;
  const RuleArguments args(entry, given, dimensions);
  const auto results = evaluate(args, infer_shapes(args).results);
  if (!results) return {{"unknown", true}};
  Json all = Json::array();
  for (const AbstractValue& result : *results) all.push_back(write_known(result));
  return {{"results", all}};
}

Json answer(const Json& call) {
  const auto name = call["op"].get<std::string>();
  const std::string base = name.substr(0, name.find('.'));
  const std::string overload = base.size() == name.size() ? "" : name.substr(base.size() + 1);
  const Operator* row = find_operator(base, overload);
  if (row == nullptr) return {{"missing", true}};
  const std::vector<Value> arguments = read_values(call["arguments"]);
  if (call.contains("small")) return evaluated(entry_of(*row), arguments);
  const auto op = find_plain_operator(*row);
  if (!op) return {{"missing", true}};
  if (const auto refusal = find_refusal(base, op->entry->traits, arguments))
    return write_refusal(*refusal, true);
  std::vector<Value> results;
  if (const auto refusal = carry_out(*op, arguments, results)) return write_refusal(*refusal, false);
  return {{"results", write_values(results)}, {"arguments", write_values(arguments)}};
}

}  // namespace
}  // namespace fxtrace::internal::torchscript

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << fxtrace::internal::torchscript::answer(nlohmann::json::parse(line)).dump() << '\n';
  }
}
