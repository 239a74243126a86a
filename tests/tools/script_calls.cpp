// Carries out operators of lib/script, a call a line, for tests that hold what they give against LibTorch:
//   {"op": "aten::add.int", "arguments": [1, 2]}  ->  {"results": [3], "arguments": [1, 2]}
// A call that is refused gives {"refusal": "raised", "why": "...", "before": true}: `before` when it was not
// begun.  With "small": true the operator is one of small tensors, and {"unknown": true} where its result is
// not known.  Values are as script_json.h has them.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/traits.h"
#include "operators/operators.h"
#include "script/plain_checks.h"
#include "script/plain_operators.h"
#include "script/small_tensors.h"
#include "script/value.h"
#include "script_json.h"

namespace fxtrace::script {
namespace {

using Json = nlohmann::json;

Json write_refusal(const Refusal& refusal, bool before) {
  constexpr const char* kKinds[] = {"raised", "limit", "unsupported"};
  return {{"refusal", kKinds[static_cast<std::size_t>(refusal.kind)]},
          {"why", write_text(refusal.why)},
          {"before", before}};
}

Json answer(const Json& call) {
  const auto name = call["op"].get<std::string>();
  const std::string base = name.substr(0, name.find('.'));
  const std::string overload = base.size() == name.size() ? "" : name.substr(base.size() + 1);
  const Traits traits = traits_of(find_operator(base, overload));
  const std::vector<Value> arguments = read_values(call["arguments"]);
  if (call.contains("small")) {
    const auto results = compute_small(name, arguments);
    return results ? Json{{"results", write_values(*results)}} : Json{{"unknown", true}};
  }
  const PlainOperator* op = find_plain_operator(name);
  if (op == nullptr) return {{"missing", true}};
  if (const auto refusal = find_refusal(base, traits, arguments)) return write_refusal(*refusal, true);
  std::vector<Value> results;
  if (const auto refusal = carry_out(*op, traits, arguments, results)) return write_refusal(*refusal, false);
  return {{"results", write_values(results)}, {"arguments", write_values(arguments)}};
}

}  // namespace
}  // namespace fxtrace::script

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << fxtrace::script::answer(nlohmann::json::parse(line)).dump() << '\n';
  }
}
