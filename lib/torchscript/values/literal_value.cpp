#include "torchscript/values/literal_value.h"

namespace fxtrace::internal::torchscript {

AbstractValue literal_value(const Value& value) {
  if (value.is_int()) return {SymInt(value.to_int())};
  if (value.is_bool()) return {value.to_bool()};
  if (value.is_double()) return {value.to_double()};
  if (value.is_string()) return {value.to_string()};
  if (value.is_complex()) {
    return {value.to_complex()};
  }
  return {};
}

Value plain_value(const AbstractValue& value) {
  if (const SymInt* integer = value.integer(); integer != nullptr && integer->is_number())
    return *integer->number();
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* number = value.get_if<double>()) return *number;
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* number = value.get_if<std::complex<double>>()) return *number;
  return {};
}

std::optional<TensorInfo> tensor_info(const TensorValue& tensor) {
  TensorInfo info;
  if (tensor.layout == TensorLayout::kSparseCoo) {
    if (tensor.parts.empty() || tensor.parts[0]->sizes.empty()) return std::nullopt;
    info.sparse_dim = tensor.parts[0]->sizes[0];
  } else if (tensor.layout != TensorLayout::kStrided) {
    return std::nullopt;
  }
  info.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  info.dtype = tensor.dtype;
  // Tensors count as tensors of the CPU, wherever they were saved, except for those without bytes.
  if (tensor.device().type == "meta") info.device = tensor.device();
  info.requires_grad = tensor.requires_grad;
  if (!info.sparse_dim) info.contiguous = tensor.is_contiguous();
  return info;
}

AbstractValue abstract_value(const Value& value) {
  if (value.is_none()) return {NoneValue{}};
  if (value.is_device()) return {value.to_device()};
  if (value.is_list()) {
    AbstractValue::Sequence items;
    for (const Value& item : value.items()) items.push_back(abstract_value(item));
    return {std::move(items)};
  }
  if (!value.is_tensor()) return literal_value(value);
  auto info = tensor_info(value.to_tensor());
  if (!info) return {};
  if (value.to_tensor().elements != nullptr)
    info->content = std::make_shared<const TensorContent>(TensorContent{value.to_tensor().elements, {}});
  return {*std::move(info)};
}

}  // namespace fxtrace::internal::torchscript
