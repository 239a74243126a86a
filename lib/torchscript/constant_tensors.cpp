#include "torchscript/constant_tensors.h"

#include <algorithm>

#include "costs/cost_log.h"
#include "script/plain_operators.h"
#include "script/small_tensors.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/shape_questions.h"

namespace fxtrace::torchscript {
namespace {

constexpr std::int64_t kMostSizes = 16;

std::vector<SymInt> read_elements(const TensorValue& tensor) {
  const bool is_read = tensor.dim() <= 1 && tensor.numel() <= kMostSizes && tensor.elements &&
                       tensor.dtype != ScalarType::kBool && is_integral(tensor.dtype);
  std::vector<SymInt> elements;
  for (std::int64_t i = 0; is_read && i < tensor.numel(); ++i)
    elements.emplace_back(tensor.element(i).integer);
  return elements;
}

// How many sizes the tensor may be; 0 if there are many, and where they are not exact: 300 is 44 in uint8 and
// True in bool, and float32 rounds what counts many elements.
std::size_t count_of_sizes(const TensorInfo& info) {
  const bool is_exact = info.dtype == ScalarType::kInt64 || info.dtype == ScalarType::kInt32 ||
                        info.dtype == ScalarType::kFloat64;
  if (!is_exact || info.sizes.size() > 1) return 0;
  const auto count = info.sizes.empty() ? 1 : info.sizes[0].number();
  return count && *count <= kMostSizes ? static_cast<std::size_t>(*count) : 0;
}

// That nothing was written to yet.
std::vector<TensorContent::Memory> new_memory() { return {{std::make_shared<std::size_t>(0)}}; }

void count_write(const TensorContent::Memory& memory) { ++*memory.writes; }

// Calls `found` with each memory of contents in the value.
template <typename Found>
void for_each_memory(const AbstractValue& value, const Found& found) {
  if (const TensorInfo* info = value.tensor(); info != nullptr && info->content)
    std::ranges::for_each(info->content->memory, found);
  if (const auto* items = value.sequence()) {
    for (const AbstractValue& item : *items) for_each_memory(item, found);
  }
}

void set_memory(AbstractValue& value, const std::vector<TensorContent::Memory>& memory) {
  if (auto* info = std::get_if<TensorInfo>(&value.value)) {
    TensorContent content = info->content ? *info->content : TensorContent{};
    content.memory = memory;
    info->content = std::make_shared<TensorContent>(std::move(content));
  } else if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value)) {
    for (AbstractValue& item : *items) set_memory(item, memory);
  }
}

// The result may be in each memory that `for_each` calls its argument with.
template <typename ForEach>
void share_memory(AbstractValue& result, const ForEach& for_each) {
  constexpr std::size_t kMost = 64;
  std::vector<TensorContent::Memory> shared;
  for_each([&](const TensorContent::Memory& memory) {
    const bool is_there =
        std::ranges::any_of(shared, [&](const auto& each) { return each.writes == memory.writes; });
    if (!is_there && shared.size() <= kMost) shared.push_back({memory.writes, *memory.writes});
  });
  // As if all were written to, the result included.
  if (shared.size() > kMost) for_each(count_write);
  if (!shared.empty()) set_memory(result, shared);
}

// Whether the tensor is small and what `info` says; what is written in place does not change its type.
bool fits(const Value& value, const TensorInfo& info) {
  if (!value.is_tensor() || !script::is_small(value.to_tensor())) return false;
  const TensorValue& tensor = value.to_tensor();
  return (!info.dtype || *info.dtype == tensor.dtype) &&
         std::ranges::equal(info.sizes, tensor.sizes,
                            [](const SymInt& a, std::int64_t b) { return a == SymInt(b); });
}

// The functional form of an operator that works in place on its first argument alone, of the same arguments;
// null for others.
const Operator* find_functional(const FunctionSchema& schema) {
  thread_local std::unordered_map<const Operator*, const Operator*> known;
  const Operator* row = find_operator(schema);
  if (row == nullptr || !schema.arguments[0].is_written) return nullptr;
  const auto [place, is_new] = known.try_emplace(row);
  if (is_new) {
    const Operator* twin = functional_twin(*row);
    const bool is_alike = twin != nullptr && twin->schema().arguments.size() == schema.arguments.size();
    if (is_alike) place->second = twin;
  }
  return place->second;
}

}  // namespace

void ConstantTensors::read(const TensorValue& tensor) {
  if (script::is_small(tensor)) in_code_.try_emplace(&tensor, std::make_shared<std::size_t>(0));
}

bool ConstantTensors::is_known(const TensorValue& tensor) const {
  const auto found = in_code_.find(&tensor);
  return found != in_code_.end() && *found->second == 0 && is_as_in_code(tensor);
}

// Of a tensor, or of those in a list.
template <typename Found>
void ConstantTensors::for_each_memory(const Value& value, const Found& found) const {
  const auto visit = [&](const Value& each) {
    if (!each.is_tensor()) return torchscript::for_each_memory(known_of(each), found);
    const auto constant = in_code_.find(&each.to_tensor());
    if (constant != in_code_.end()) found(TensorContent::Memory{constant->second, *constant->second});
  };
  if (value.is_list()) {
    std::ranges::for_each(value.items(), visit);
  } else {
    visit(value);
  }
}

void ConstantTensors::note_write(const Value& value) {
  if (value.is_tensor()) written_.insert(&value.to_tensor());
  for_each_memory(value, count_write);
}

void ConstantTensors::note_write(const AbstractValue& value) {
  torchscript::for_each_memory(value, count_write);
}

std::shared_ptr<const TensorContent> ConstantTensors::written(TensorContent content) {
  for (auto& [writes, seen] : content.memory) seen = *writes;
  return std::make_shared<const TensorContent>(std::move(content));
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

std::optional<Values> ConstantTensors::compute(const FunctionSchema& schema, Traits traits,
                                               const Values& values) const {
  const Operator* row = schema.is_mutable() ? nullptr : find_operator(schema);
  return row == nullptr ? std::nullopt : compute(*row, schema, traits, values);
}

// The operator's own results for tensors that are known in numbers.  Nothing of the model's data is in them,
// and they are small.
std::optional<Values> ConstantTensors::compute(const Operator& row, const FunctionSchema& schema,
                                               Traits traits, const Values& values) const {
  constexpr Traits kAllowed =
      fxtrace::traits::kPlain | fxtrace::traits::kMakesTensor | fxtrace::traits::kSmallTensors;
  if ((traits & kAllowed) == 0) return std::nullopt;
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
  if (has_tensor) return script::compute_small(row.name, arguments);
  const script::PlainOperator* plain = script::find_plain_operator(row.name);
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
  const Operator* row = find_operator(schema);
  std::string_view name = schema.name;
  if (schema.is_mutable()) {
    row = find_functional(schema);
    if (row == nullptr) return;
    traits = traits_of(row);
    name = row->base_name();
  }
  std::optional<Values> computed;
  if (row != nullptr && std::all_of(results.begin(), results.end(), is_known_small))
    computed = compute(*row, schema, traits, values);
  const ReadConstant read = [this](const TensorValue& tensor) { return find_elements(tensor); };
  if (auto* parts = results.empty() ? nullptr : std::get_if<AbstractValue::Sequence>(&results[0].value);
      parts != nullptr && name == "aten::unbind") {
    const auto elements = evaluate_elements("aten::alias", values, parts->size(), read);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (auto* info = std::get_if<TensorInfo>(&(*parts)[i].value))
        info->content = std::make_shared<TensorContent>(TensorContent{{elements[i]}, {}, new_memory()});
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto* info = std::get_if<TensorInfo>(&results[i].value);
    if (info == nullptr) continue;
    TensorContent content{{}, {}, new_memory()};
    if (computed && i < computed->size() && fits((*computed)[i], *info)) {
      content.constant = content_of(TensorRef(&(*computed)[i].to_tensor()));
      content.elements = read_elements((*computed)[i].to_tensor());
    } else if (const std::size_t count = count_of_sizes(*info); count > 0 && results.size() == 1) {
      content.elements = evaluate_elements(name, values, count, read);
    }
    if (content.constant || !content.elements.empty()) {
      info->content = std::make_shared<TensorContent>(std::move(content));
    }
  }
}

void ConstantTensors::note_shared(const FunctionSchema& schema, const Values& values,
                                  std::vector<AbstractValue>& results) const {
  const auto has_memory = [this](const Value& value) {
    bool has_one = false;
    for_each_memory(value, [&](const auto&) { has_one = true; });
    return has_one;
  };
  if (std::ranges::none_of(values, has_memory)) return;
  const Operator* row = find_operator(schema);
  const std::vector<Alias>* aliases = row == nullptr ? nullptr : &costed_operator(*row).aliases;
  const auto may_alias = [aliases](std::size_t result, std::size_t argument) {
    return aliases == nullptr || std::ranges::any_of(*aliases, [&](const Alias& alias) {
             return alias.result == result && alias.argument == argument;
           });
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    share_memory(results[i], [&](const auto& found) {
      for (std::size_t j = 0; j < values.size(); ++j) {
        if (may_alias(i, j)) for_each_memory(values[j], found);
      }
    });
  }
}

void ConstantTensors::note_choice(AbstractValue& result, const Values& of) const {
  share_memory(result, [&](const auto& found) {
    for (const Value& value : of) for_each_memory(value, found);
  });
}

std::vector<SymInt> ConstantTensors::find_elements(const TensorValue& tensor) const {
  return is_known(tensor) ? read_elements(tensor) : std::vector<SymInt>{};
}

}  // namespace fxtrace::torchscript
