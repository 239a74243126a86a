// What expressions of a graph are for given inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "symbolic/expression.h"
#include "verify/engine.h"

namespace fxtrace::verify {

// Guards are Python over the graph's inputs: LibTorch's operators answer them.
class GuardEvaluator {
 public:
  // The values of named dimensions, and of inputs by the names that guards have for them.
  GuardEvaluator(const Engine& engine, std::map<std::string, std::int64_t> sizes,
                 std::map<std::string, RunValue> inputs);

  // Nothing where it speaks of something else: of modules, parameters, functions of the model's own.
  std::optional<bool> holds(const Expression& condition) const;

 private:
  bool truth(const Expression& condition) const;
  RunValue value_of(const Expression& expression) const;
  RunValue call(const Expression& expression) const;
  RunValue size_of(const SymInt& size) const;
  RunValue run(const std::string& function, std::vector<RunValue> values) const;

  const Engine& engine_;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, RunValue> inputs_;
};

}  // namespace fxtrace::verify
