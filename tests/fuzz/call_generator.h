// Makes calls of operators from bytes: mostly arguments that the schema allows, with symbolic sizes, and
// extreme numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operators.h"
#include "shapes/abstract_value.h"

namespace fxtrace::internal::fuzz {

struct GeneratedCall {
  const Operator* op = nullptr;
  std::vector<AbstractValue> values;          // one for each argument of the schema
  std::map<std::string, std::int64_t> sizes;  // possible values of the names

  // The ranges of the names; `sizes` is within them.
  ShapeEnv dimensions() const;
  // Returns the values with `sizes` in place of the names; nothing where a tensor would have a negative size,
  // or a number does not fit into 64 bits.
  std::optional<std::vector<AbstractValue>> with_numbers() const;
  std::string text() const;  // "aten::add.Tensor(float32[n,3], 1.5, alpha=1), n=2 ..."
};

// The same bytes give the same call; every string gives one.
GeneratedCall generate_call(std::string_view bytes, const std::vector<const Operator*>& operators);

}  // namespace fxtrace::internal::fuzz
