// Shape rules: functions that compute the shapes of an operator's results over symbolic sizes, and the
// arguments that they are given.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/operators.h"
#include "opinfo/call.h"

namespace fxtrace::internal {

using Results = std::vector<AbstractValue>;  // one for each result of the schema; possibly unknown

struct OperatorEntry;  // operator_entry.h

// The arguments of a call, by the parameter names of the operator's schema.  All functions but is_given() and
// is_tensor() throw CannotTell for an argument that is absent, unknown, or of another type.
class RuleArguments {
 public:
  RuleArguments(const OperatorEntry& op, const CallArguments& values, ShapeEnv& dims)
      : dimensions(dims), op_(op), values_(values) {}

  // Returns the same call with another environment for facts about dimensions.
  RuleArguments with_dimensions(ShapeEnv& dims) const { return {op_, values_, dims}; }

  bool is_given(std::string_view name) const;  // the schema has it, and it is not None
  bool is_tensor(std::string_view name) const;
  const TensorInfo& tensor(std::string_view name) const;
  std::vector<TensorInfo> tensors(std::string_view name) const;  // a list of tensors
  SymInt size(std::string_view name) const;                      // an integer
  std::vector<SymInt> sizes(std::string_view name) const;  // a list of integers; one integer is a list of one
  std::int64_t number(std::string_view name) const;        // an integer that is plain
  std::vector<std::int64_t> numbers(std::string_view name) const;
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  ScalarType dtype(std::string_view name) const;
  const AbstractValue& value(std::string_view name) const;
  ValueType type(std::string_view name) const;

  const OperatorEntry& op() const { return op_; }
  std::string_view name() const;  // "aten::cat"
  const Schema& schema() const;
  Traits traits() const;
  const CallArguments& values() const { return values_; }

  ShapeEnv& dimensions;

 private:
  std::size_t argument_index(std::string_view name) const;  // the number of arguments when there is none

  const OperatorEntry& op_;
  const CallArguments& values_;
};

// A shape rule.  Throws CannotTell when it needs something unknown, and Raises when torch would raise.
using ShapeRule = Results (*)(const RuleArguments& args);

}  // namespace fxtrace::internal
