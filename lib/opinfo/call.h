// The arguments of a call as the rules of operators see them: abstract values, by position in the schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shapes/abstract_value.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
