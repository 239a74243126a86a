#include "torchscript/constant_tensors.h"

#include <algorithm>

#include "script/plain_operators.h"
#include "script/small_tensors.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/shape_questions.h"

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
  if (const Value* kept = find_kept(value))
    return kept->is_tensor() ? TensorRef(&kept->to_tensor()) : TensorRef();
  const TensorInfo* info = known_of(value).tensor();
  const TensorContent* content = info == nullptr ? nullptr : info->find_content();
  return content == nullptr ? TensorRef() : tensor_of(*content);
}

const Value* ConstantTensors::find_kept(const Value& value) const {
  if (made_.empty()) return nullptr;
  const Proxy* proxy = find_proxy(value);
  if (proxy == nullptr || !proxy->ref.valid()) return nullptr;
  const auto found = made_.find(key_of(proxy->ref));
  return found == made_.end() ? nullptr : &found->second;
}

bool ConstantTensors::is_any_known(const Values& values) const {
  if (made_.empty() && in_code_.empty()) return false;
  const auto is_known_value = [this](const Value& value) {
    return value.is_tensor() ? is_known(value.to_tensor()) : find_kept(value) != nullptr;
  };
  return std::ranges::any_of(values, [&](const Value& value) {
    return is_known_value(value) || (value.is_list() && std::ranges::any_of(value.items(), is_known_value));
  });
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
  bool has_tensor = has_constant;
  Values arguments;
  // A number or a tensor that is known, or plain; false for others.
  const auto add = [&](const Value& value, Values& to) {
    if (is_plain(value)) {
      to.push_back(value);
    } else if (const TensorRef constant = find(value)) {
      has_constant = has_tensor = true;
      to.emplace_back(constant);
    } else if (const Value* kept = find_kept(value)) {
      has_constant = true;
      to.push_back(*kept);
    } else {
      return false;
    }
    return true;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    if (i < schema.arguments.size() && schema.arguments[i].name == "device") {
      arguments.push_back(value.is_none() ? Value() : Value(Device{}));
    } else if (i < schema.arguments.size() && schema.arguments[i].name == "pin_memory") {
      arguments.emplace_back();
    } else if (value.is_list() && !is_plain(value)) {
      Values items;
      for (const Value& item : value.items()) {
        if (!add(item, items)) return std::nullopt;
      }
      arguments.push_back(make_list(value.to_list().element_type, std::move(items)));
    } else if (!add(value, arguments)) {
      return std::nullopt;
    }
  }
  if (!has_constant) return std::nullopt;
  if (has_tensor) return script::compute_small(row->name, arguments);
  const script::PlainOperator* plain = script::find_plain_operator(row->name);
  Values results;
  if (plain == nullptr || script::carry_out(*plain, traits, arguments, results)) return std::nullopt;
  return results;
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

namespace {

bool has_content(const AbstractValue& value) {
  const TensorInfo* info = value.tensor();
  if (info != nullptr) return info->find_content() != nullptr;
  const auto* items = value.sequence();
  return items != nullptr && std::ranges::any_of(*items, has_content);
}

void mark_shared(AbstractValue& value, const std::shared_ptr<bool>& valid) {
  if (auto* info = std::get_if<TensorInfo>(&value.value)) {
    if (!info->content) info->content = std::make_shared<TensorContent>(TensorContent{{}, {}, valid});
  } else if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value)) {
    for (AbstractValue& item : *items) mark_shared(item, valid);
  }
}

}  // namespace

void ConstantTensors::note_shared(const FunctionSchema& schema, const Values& values,
                                  std::vector<AbstractValue>& results) const {
  const auto has_one = [](const Value& value) {
    return has_content(known_of(value)) ||
           (value.is_list() && std::ranges::any_of(value.items(), [](const Value& item) {
              return has_content(known_of(item));
            }));
  };
  if (std::ranges::none_of(values, has_one)) return;
  const Operator* row = find_operator(schema);
  if (row != nullptr && aliases(*row).empty()) return;
  for (AbstractValue& result : results) mark_shared(result, contents_valid_);
}

void ConstantTensors::forget_contents() {
  *contents_valid_ = false;
  contents_valid_ = std::make_shared<bool>(true);
}

}  // namespace fxtrace::torchscript
