// Shape rules: the arguments that a rule sees, the results that it gives, and what kernels refuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operators.h"
#include "shapes/abstract_value.h"

namespace fxtrace::internal {

// The arguments of a call as the rules of operators see them: abstract values, by position in the schema.

// Thrown by a rule, or by its helpers, when the result cannot be determined.
struct CannotTell {};

// Thrown when torch would raise for all possible values of the arguments.  The message names the argument,
// what came and what was expected.
struct Raises {
  std::string message;
};

// TorchScript's numbers for the layouts and memory formats that rules test.
inline constexpr std::int64_t kStridedLayout = 0, kSparseLayout = 1, kContiguousFormat = 0,
                              kChannelsLastFormat = 2, kChannelsLast3dFormat = 3;

// The static type of a value, known even when nothing else is.
struct ValueType {
  enum class Kind : std::uint8_t { kAny, kNone, kTensor, kInt, kFloat, kBool, kComplex } kind = Kind::kAny;
  std::uint8_t lists = 0;  // nesting depth of lists; 2: a list of lists of `kind`
  bool operator==(const ValueType&) const = default;
};

// The arguments of a call, in the order of the schema.  Derived classes convert values on demand: a list may
// be long, and no rule may ask for it.
class CallArguments {
 public:
  virtual ~CallArguments() = default;

  virtual std::size_t size() const = 0;
  // Both take constant time, however large the value is.  `i` must be less than size().
  virtual ValueType type(std::size_t i) const = 0;
  // Returns whether the argument is a literal of the code, not a result of the graph or a container of
  // results.
  virtual bool is_literal(std::size_t i) const = 0;
  // Returns an argument.  Throws CannotTell for an index out of range.  The reference is valid as long as
  // this object.
  const AbstractValue& operator[](std::size_t i) const {
    if (i >= size()) throw CannotTell{};
    return value(i);
  }

 private:
  virtual const AbstractValue& value(std::size_t i) const = 0;
};

ValueType type_of(const AbstractValue& value);

// Arguments for which the caller has abstract values already.
class AbstractArguments final : public CallArguments {
 public:
  explicit AbstractArguments(std::span<const AbstractValue> values) : values_(values) {}

  std::size_t size() const override { return values_.size(); }
  ValueType type(std::size_t i) const override { return type_of(values_[i]); }
  bool is_literal(std::size_t i) const override;

 private:
  const AbstractValue& value(std::size_t i) const override { return values_[i]; }

  std::span<const AbstractValue> values_;
};

// Shape rules: functions that compute the shapes of an operator's results over symbolic sizes, and the
// arguments that they are given.

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

// Checks of arguments that LibTorch's CPU kernels make in addition to those of the shape rules.

// Runs all checks of the operator's row and traits.  Throws Raises when torch would raise for all possible
// values of the arguments.
void check_call(const RuleArguments& args);

// Checks the first argument of operators whose CPU kernels support floating dtypes only.
void check_floating(const RuleArguments& args);

// Checks that the first argument has the dimension `dim`.
void check_dim(const RuleArguments& args);

}  // namespace fxtrace::internal
