#include "torchscript/kernel_arguments.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "torchscript/convert.h"
#include "torchscript/number_meanings.h"

namespace fxtrace {
namespace {

bool is_number_type(at::ScalarType type) {
  return type == at::kBool || at::isIntegralType(type, false) || at::isFloatingType(type) ||
         at::isComplexType(type);
}

bool has_least(std::int64_t number) {
  return number == std::numeric_limits<std::int64_t>::min() ||
         number == std::numeric_limits<std::int32_t>::min();
}

// Of a tensor whose elements are there.
bool has_least(const at::Tensor& tensor) {
  const bool is_wide = tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt;
  if (!is_wide || !is_small(tensor)) return false;
  const at::Tensor elements = tensor.to(at::kLong).contiguous();
  const auto* data = elements.const_data_ptr<std::int64_t>();
  return std::any_of(data, data + elements.numel(), [](std::int64_t number) { return has_least(number); });
}

bool is_harmless(const at::IValue& value, NumberMeaning meaning) {
  if (value.isTensor()) return !value.toTensor().defined() || !has_least(value.toTensor());
  if (value.isList()) {
    return std::ranges::all_of(value.toListRef(),
                               [&](const at::IValue& item) { return is_harmless(item, meaning); });
  }
  if (!value.isInt()) return true;
  const std::int64_t number = value.toInt();
  switch (meaning) {
    case NumberMeaning::kDtype:
      return find_dtype_name(number) && is_number_type(static_cast<at::ScalarType>(number));
    case NumberMeaning::kLayout:
      return number == static_cast<std::int64_t>(at::kStrided);
    case NumberMeaning::kMemoryFormat:
      return find_memory_format_name(number).has_value();
    default:
      return !has_least(number);
  }
}

}  // namespace

bool is_small(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided &&
         is_number_type(tensor.scalar_type()) && tensor.numel() <= kMaxComputed;
}

bool are_harmless(const c10::FunctionSchema& schema, c10::ArrayRef<at::IValue> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_named = i < schema.arguments().size();
    const NumberMeaning meaning = is_named ? meaning_of(schema.arguments()[i]) : NumberMeaning::kNumber;
    if (!is_harmless(arguments[i], meaning)) return false;
  }
  return true;
}

}  // namespace fxtrace
