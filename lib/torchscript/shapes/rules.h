// The project's own shape rules: one function for each operator, or family of them, over symbolic sizes.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "torchscript/shapes/known.h"

namespace fxtrace {

// Thrown by a rule, or by what it asks for, when the result cannot be told.
struct CannotTell {};

// Thrown where torch raises for every value that the arguments may have: says why, with the sizes or types.
struct Raises {
  std::string message;
};

// The arguments of an operator, by the names of its schema.  Everything but given() throws CannotTell for
// what is not there, not known, or of another type.
class RuleArguments {
 public:
  RuleArguments(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values, Dimensions& dims)
      : dimensions(dims), schema_(schema), values_(values) {}

  bool given(std::string_view name) const;  // the schema has it, and it is not None
  bool is_tensor(std::string_view name) const;
  TensorInfo tensor(std::string_view name) const;
  std::vector<TensorInfo> tensors(std::string_view name) const;  // of a list
  SymInt size(std::string_view name) const;                      // an integer
  std::vector<SymInt> sizes(std::string_view name) const;  // a list of integers; one integer is a list of one
  std::int64_t number(std::string_view name) const;        // an integer that is plain
  std::vector<std::int64_t> numbers(std::string_view name) const;
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  at::ScalarType dtype(std::string_view name) const;
  at::Device device(std::string_view name) const;
  const at::IValue& value(std::string_view name) const;
  const c10::FunctionSchema& schema() const { return schema_; }
  const std::vector<at::IValue>& values() const { return values_; }

  Dimensions& dimensions;

 private:
  const at::IValue* find(std::string_view name) const;

  const c10::FunctionSchema& schema_;
  const std::vector<at::IValue>& values_;
};

using Rule = std::vector<Known> (*)(const RuleArguments& args);

// The rule of an operator such as "aten::cat", for all of its overloads; null when there is none.
Rule find_rule(std::string_view operator_name);
// The same for calls that take a sparse tensor; every other rule is for strided ones.
Rule find_sparse_rule(std::string_view operator_name);

}  // namespace fxtrace
