// What is known of a value without running anything: sizes, type and device of a tensor, the integer that a
// size is, as an expression of named dimensions; or the whole value, where it is a plain one.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shapes/device.h"
#include "shapes/scalar_type.h"
#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

// What a small tensor holds that no data goes into.  Traced archives compute with sizes as such tensors, and
// torchvision's detectors compute scales.
struct TensorContent {
  std::optional<SymInt> element;  // of an integer tensor without dimensions
  // The tensor itself, in the form of whoever put it here; null when it is not known in numbers.
  std::shared_ptr<const void> constant;
  std::shared_ptr<const bool>
      valid;  // until a tensor is changed in place that may share memory with this one
};

// Which memory a tensor is in, as the CostLog (costs/cost_log.h) that gave the number counts.  It says
// nothing of the value: any two are equal.
struct MemoryId {
  std::uint32_t log = 0, number = 0;  // 0: of no log
  bool operator==(const MemoryId&) const { return true; }
};

struct TensorInfo {
  std::vector<SymInt> sizes;
  Dtype dtype;
  Device device = {};
  std::optional<bool> requires_grad = std::nullopt;  // known of parameters and of the root's inputs
  // Whether the elements lie in the order of the dimensions, without gaps.  Rules need not care.
  std::optional<bool> contiguous = std::nullopt;
  bool contiguity_assumed = false;  // it is so if the inputs that --input describes are
  // Of a sparse tensor in coordinate format: how many of its dimensions have indices.  Absent for strided
  // tensors; of other layouts nothing is known.
  std::optional<std::int64_t> sparse_dim = std::nullopt;
  // Null for most.  Rules need not care: the interpreter sets it.
  std::shared_ptr<const TensorContent> content = nullptr;
  MemoryId memory = {};  // rules need not care

  const TensorContent* find_content() const { return content && *content->valid ? content.get() : nullptr; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  bool is_static() const;  // every size is a number
  bool operator==(const TensorInfo&) const = default;
};

// A float that is an exact fraction: x.size(0) / 2.
struct Ratio {
  SymInt numerator;
  std::int64_t denominator = 1;  // > 0
  bool operator==(const Ratio&) const = default;
};

// A bool: x.size(0) > n.
struct Condition {
  Relation relation = Relation::kEqual;
  SymInt left, right;
  bool operator==(const Condition&) const = default;
};

// None, where the type would allow more.
struct NoneValue {
  bool operator==(const NoneValue&) const = default;
};

struct AbstractValue {
  // Elements of a list or tuple whose length is known; attributes of an object, by slot.
  using Sequence = std::vector<AbstractValue>;
  // Of a dict whose keys are known.
  struct Dict {
    std::vector<AbstractValue> keys;
    std::vector<AbstractValue> values;  // as many
    bool operator==(const Dict& other) const;
  };
  std::variant<std::monostate, TensorInfo, SymInt, Ratio, Condition, Sequence, Dict, NoneValue, Device,
               double, bool, std::complex<double>, std::string, ScalarType>
      value;

  bool is_unknown() const { return value.index() == 0; }
  const TensorInfo* tensor() const { return std::get_if<TensorInfo>(&value); }
  const SymInt* integer() const { return std::get_if<SymInt>(&value); }
  const Dict* dict() const { return std::get_if<Dict>(&value); }
  bool is_none() const { return std::holds_alternative<NoneValue>(value); }
  const Sequence* sequence() const { return std::get_if<Sequence>(&value); }
  // The alternative `T`, null for others.
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
  bool operator==(const AbstractValue&) const;
};

// Of this value and all inside.
void forget_contents(AbstractValue& value);

// What holds of both, element by element; nothing of those that only one has.
AbstractValue common(const AbstractValue& first, const AbstractValue& second);
AbstractValue::Sequence common(const AbstractValue::Sequence& first, const AbstractValue::Sequence& second);

}  // namespace fxtrace
