// A call of an operator as the shape rules see it: what it is, and what is known of its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "families/traits.h"
#include "operators/operators.h"
#include "shapes/abstract_value.h"

namespace fxtrace {

// Thrown by a rule, or by what it asks for, when the result cannot be told.
struct CannotTell {};

// Thrown where torch raises for every value that the arguments may have: says why, with the sizes or types.
struct Raises {
  std::string message;
};

// TorchScript's numbers of what rules ask for.
inline constexpr std::int64_t kStridedLayout = 0, kSparseLayout = 1, kContiguousFormat = 0,
                              kChannelsLastFormat = 2, kChannelsLast3dFormat = 3;

struct CalledOperator {
  std::string name;  // without overload: "aten::cat"
  Schema schema;
  Traits traits = 0;

  static CalledOperator of(const Operator& op) {
    return {std::string(op.base_name()), op.schema(), traits_of(&op)};
  }
};

// What the code says of a value's type, where nothing else may be known of it.
struct ValueType {
  enum class Kind : std::uint8_t { kAny, kNone, kTensor, kInt, kFloat, kBool, kComplex } kind = Kind::kAny;
  std::uint8_t lists = 0;  // 2: a list of lists of `kind`
  bool operator==(const ValueType&) const = default;
};

// The arguments of a call, in the order of the schema.  Whoever has other values converts them when they are
// asked for: a list may be long, and no rule look at it.
class CallArguments {
 public:
  virtual ~CallArguments() = default;

  virtual std::size_t size() const = 0;
  // These two cost nothing that grows with the value.  `i` is less than size().
  virtual ValueType type(std::size_t i) const = 0;
  // A plain value that stands in the code, and no result of the graph nor a container of such.
  virtual bool is_literal(std::size_t i) const = 0;
  // Throws CannotTell when there are not as many.  Stays valid as long as this object.
  const AbstractValue& operator[](std::size_t i) const {
    if (i >= size()) throw CannotTell{};
    return value(i);
  }

 private:
  virtual const AbstractValue& value(std::size_t i) const = 0;
};

ValueType type_of(const AbstractValue& value);

// Arguments that are known as abstract values from the start.
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

}  // namespace fxtrace
