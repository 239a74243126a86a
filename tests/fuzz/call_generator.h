// Calls of operators out of bytes: mostly what the schema asks for, with sizes that are names, and extreme
// numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operators.h"
#include "shapes/abstract_value.h"

namespace fxtrace::fuzz {

struct GeneratedCall {
  const Operator* op = nullptr;
  std::vector<AbstractValue> values;          // one for each argument of the schema
  std::map<std::string, std::int64_t> sizes;  // what the names may stand for

  // What is known of the names; `sizes` is allowed.
  ShapeEnv dimensions() const;
  // The values with `sizes` for the names.  Nothing where a tensor would have a negative size, or what 64
  // bits do not hold.
  std::optional<std::vector<AbstractValue>> with_numbers() const;
  std::string text() const;  // "aten::add.Tensor(float32[n,3], 1.5, alpha=1), n=2 ..."
};

// The same bytes give the same call; every string is one.
GeneratedCall generate_call(std::string_view bytes, const std::vector<const Operator*>& operators);

}  // namespace fxtrace::fuzz
