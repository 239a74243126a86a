#include "torchscript/constant_tensors.h"

#include <algorithm>

#include "script/small_tensors.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/infer.h"

namespace fxtrace::torchscript {
namespace {

std::optional<SymInt> read_element(const TensorValue& tensor) {
  if (tensor.dim() != 0 || !tensor.elements || tensor.dtype == ScalarType::kBool ||
      !is_integral(tensor.dtype))
    return std::nullopt;
  return SymInt(tensor.element(0).integer);
}

}  // namespace

void ConstantTensors::read(const TensorValue& tensor) {
  if (script::is_small(tensor)) in_code_.insert(&tensor);
}

bool ConstantTensors::is_as_in_code(const TensorValue& tensor) const {
  return program_.find_parameter(tensor) == nullptr && !written_.contains(&tensor);
}

TensorRef ConstantTensors::find(const Value& value) const {
  if (value.is_tensor()) {
    TensorValue& tensor = value.to_tensor();
    return is_known(tensor) ? TensorRef(&tensor) : TensorRef();
  }
  const TensorInfo* info = known_of(value).tensor();
  const TensorContent* content = info == nullptr ? nullptr : info->find_content();
  return content == nullptr ? TensorRef() : tensor_of(*content);
}

// The operator's own results for tensors that are known in numbers.  Nothing of the model's data is in them,
// and they are small.
std::optional<Values> ConstantTensors::compute(const FunctionSchema& schema, Traits traits,
                                               const Values& values) const {
  constexpr Traits kAllowed =
      fxtrace::traits::kPlain | fxtrace::traits::kMakesTensor | fxtrace::traits::kSmallTensors;
  const Operator* row = find_operator(schema);
  if ((traits & kAllowed) == 0 || schema.is_mutable() || row == nullptr) return std::nullopt;
  bool has_constant = (traits & fxtrace::traits::kMakesTensor) != 0;
  Values arguments;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    if (i < schema.arguments.size() && schema.arguments[i].name == "device") {
      arguments.push_back(value.is_none() ? Value() : Value(Device{}));
    } else if (i < schema.arguments.size() && schema.arguments[i].name == "pin_memory") {
      arguments.emplace_back();
    } else if (is_plain(value)) {
      arguments.push_back(value);
    } else if (value.is_list()) {
      Values items;
      for (const Value& item : value.items()) {
        const TensorRef constant = find(item);
        if (!constant && !is_plain(item)) return std::nullopt;
        has_constant = has_constant || constant;
        items.push_back(constant ? Value(constant) : item);
      }
      arguments.push_back(make_list(value.to_list().element_type, std::move(items)));
    } else {
      const TensorRef constant = find(value);
      if (!constant) return std::nullopt;
      has_constant = true;
      arguments.push_back(constant);
    }
  }
  if (!has_constant) return std::nullopt;
  return script::compute_small(row->name, arguments);
}

void ConstantTensors::add_contents(const FunctionSchema& schema, Traits traits, const Values& values,
                                   std::vector<AbstractValue>& results) const {
  const auto is_known_small = [](const AbstractValue& result) {
    const TensorInfo* info = result.tensor();
    if (info == nullptr || !info->is_static()) return false;
    std::int64_t elements = 1;
    for (const SymInt& size : info->sizes) {
      elements *= std::min(*size.number(), script::kMaxKnownElements + 1);
      if (elements > script::kMaxKnownElements) return false;
    }
    return true;
  };
  std::optional<Values> computed;
  if (std::all_of(results.begin(), results.end(), is_known_small)) computed = compute(schema, traits, values);
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto* info = std::get_if<TensorInfo>(&results[i].value);
    if (info == nullptr) continue;
    TensorContent content{std::nullopt, {}, contents_valid_};
    if (computed && i < computed->size() && (*computed)[i].is_tensor() &&
        script::is_small((*computed)[i].to_tensor())) {
      content.constant = content_of(TensorRef(&(*computed)[i].to_tensor()));
      content.element = read_element((*computed)[i].to_tensor());
    } else if (results.size() == 1 && info->sizes.empty()) {
      content.element =
          evaluate_element(schema, values, [this](const TensorValue& tensor) -> std::optional<SymInt> {
            return is_known(tensor) ? read_element(tensor) : std::nullopt;
          });
    }
    if (content.constant || content.element) {
      info->content = std::make_shared<TensorContent>(std::move(content));
    }
  }
}

void ConstantTensors::forget_contents() {
  *contents_valid_ = false;
  contents_valid_ = std::make_shared<bool>(true);
}

}  // namespace fxtrace::torchscript
