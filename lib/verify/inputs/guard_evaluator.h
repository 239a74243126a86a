// Guards for given inputs: whether they hold, and which numbers make them hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "symbolic/expression.h"
#include "symbolic/python_operators.h"
#include "symbolic/sym_int.h"
#include "verify/calls/engine.h"

namespace fxtrace::internal::verify {

// Evaluates guards of a graph for given inputs.

// Guards are Python expressions over the graph's inputs; LibTorch's operators evaluate them.
class GuardEvaluator {
 public:
  // `sizes` are the values of named dimensions; `inputs` the graph's inputs by their names in guards.
  GuardEvaluator(const Engine& engine, std::map<std::string, std::int64_t> sizes,
                 std::map<std::string, RunValue> inputs);

  // Returns whether the condition holds; nothing if it mentions modules, parameters or functions of the
  // model.
  std::optional<bool> holds(const Expression& condition) const;

 private:
  bool truth(const Expression& condition) const;
  RunValue value_of(const Expression& expression) const;
  RunValue call(const Expression& expression) const;
  RunValue size_of(const SymInt& size) const;
  RunValue of_two(const PythonOperator& op, RunValue left, RunValue right) const;
  RunValue run(const std::string& function, std::vector<RunValue> values) const;

  const Engine& engine_;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, RunValue> inputs_;
};

// Solves for dimensions: finds the value of a dimension from a known size.

// Returns the only dimension of the expression that `sizes` lacks, with the value for which the expression is
// `result`: {s, 3} for s*2 and 6.  Returns nothing if there are several, if there is no such value, and for
// other forms than s*a + b, which is how torch.export derives sizes.
std::optional<std::pair<std::string, std::int64_t>> solve(const SymInt& size, std::int64_t result,
                                                          const std::map<std::string, std::int64_t>& sizes);

}  // namespace fxtrace::internal::verify
