// Costs that a user gives to operators: --cost "ns::op=2*numel(out)*in0.size(-1)".
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "graph/node.h"
#include "shapes/abstract_value.h"
#include "symbolic/expression.h"

namespace fxtrace::internal {

// Reads "ns::op=EXPR", where EXPR gives the multiply-accumulates of a call, as Python over its arguments
// in0, in1, ... or their names, and its results out, out0, ...: numel(x), x.numel(), x.size(i), x.shape[i],
// x.dim(), len(x), min(), max(), + - * // % **.  Throws Error(kUsage) for another form, and for an
// expression with other parts.
CustomCost read_custom_cost(const std::string& text);
CustomCost make_custom_cost(std::string_view name, const std::string& text);

class CustomCosts {
 public:
  CustomCosts() = default;
  explicit CustomCosts(const std::vector<CustomCost>& costs);  // the last one with a name counts

  struct Rule {
    std::string name;
    Expression macs;
  };
  bool empty() const { return rules_.empty(); }
  static bool matches(const Rule& rule, std::string_view target);
  // Returns the rule for "ns.op.overload"; null when there is none.
  const Rule* find_rule(std::string_view target) const;
  const std::vector<Rule>& rules() const { return rules_; }

  // Returns the names in the expression of a rule that no call with `arguments` positional arguments, these
  // named ones and `results` results has.
  static std::vector<std::string> names_without_value(const Rule& rule, std::size_t arguments,
                                                      const std::vector<std::string>& named,
                                                      std::size_t results);

  // The values of a call.  Arguments are looked up by position and by name; absent when there is none.
  struct Call {
    std::function<std::optional<AbstractValue>(std::size_t place)> argument;
    std::function<std::optional<AbstractValue>(const std::string& name)> named;
    std::vector<AbstractValue> results;
  };
  // Returns the cost of a call, without memory; unknown when the rule uses a size that is unknown.
  static Cost cost(const Rule& rule, const Call& call);

 private:
  std::vector<Rule> rules_;
};

}  // namespace fxtrace::internal
