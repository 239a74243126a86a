// What shape rules are given: one function for each operator, or several of them, over symbolic sizes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "families/call.h"

namespace fxtrace {

using Results = std::vector<AbstractValue>;  // one for each result of the schema; unknown where nothing tells

// The arguments of a call, by the names of the operator's schema.  Everything but given() and is_tensor()
// throws CannotTell for what is not there, not known, or of another type.
class RuleArguments {
 public:
  RuleArguments(const CalledOperator& op, const CallArguments& values, ShapeEnv& dims)
      : dimensions(dims), op_(op), values_(values) {}

  // The same call, where what is learned of dimensions goes elsewhere.
  RuleArguments with_dimensions(ShapeEnv& dims) const { return {op_, values_, dims}; }

  bool given(std::string_view name) const;  // the schema has it, and it is not None
  bool is_tensor(std::string_view name) const;
  const TensorInfo& tensor(std::string_view name) const;
  std::vector<TensorInfo> tensors(std::string_view name) const;  // of a list
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

  std::string_view name() const { return op_.name; }  // "aten::cat"
  const Schema& schema() const { return op_.schema; }
  Traits traits() const { return op_.traits; }
  const CallArguments& values() const { return values_; }

  ShapeEnv& dimensions;

 private:
  std::size_t find(std::string_view name) const;  // the number of arguments when it is not there

  const CalledOperator& op_;
  const CallArguments& values_;
};

// Throws CannotTell where it needs what is not known, and Raises where torch would raise.
using ShapeRule = Results (*)(const RuleArguments& args);

}  // namespace fxtrace
