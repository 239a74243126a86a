#include "interpreter/propagate/operator_evaluation.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "interpreter/program/symbolic_value.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "opinfo/infer.h"
#include "opinfo/operator_entry.h"

namespace fxtrace::internal::interpreter {
namespace {

// Returns a memory block that nothing was written to yet.
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

// Notes that the result may be in each memory block that `for_each` calls its argument with.
template <typename ForEach>
void share_memory(AbstractValue& result, const ForEach& for_each) {
  constexpr std::size_t kMost = 64;
  std::vector<TensorContent::Memory> shared;
  for_each([&](const TensorContent::Memory& memory) {
    const bool is_there =
        std::ranges::any_of(shared, [&](const auto& each) { return each.writes == memory.writes; });
    if (!is_there && shared.size() <= kMost) shared.push_back({memory.writes, *memory.writes});
  });
  // There are too many: all count as written to, the result included.
  if (shared.size() > kMost) for_each(count_write);
  if (!shared.empty()) set_memory(result, shared);
}

// Returns the functional form, with the same arguments, of an operator that is in-place on its first argument
// alone; null for others.
const OperatorEntry* find_functional(const OperatorEntry& entry) {
  if (entry.schema.arguments.empty() || !entry.schema.arguments[0].is_written || entry.twin == nullptr)
    return nullptr;
  const OperatorEntry& twin = entry_of(*entry.twin);
  return twin.schema.arguments.size() == entry.schema.arguments.size() ? &twin : nullptr;
}

std::shared_ptr<const Array> array_in(const AbstractValue& value) {
  const TensorInfo* info = value.tensor();
  const TensorContent* content = info == nullptr ? nullptr : info->find_content();
  return content == nullptr ? nullptr : content->array;
}

// Adds the elements of `computed` to a result with the same sizes and dtype.
void add_content(AbstractValue& result, const AbstractValue& computed) {
  if (auto* items = std::get_if<AbstractValue::Sequence>(&result.value)) {
    const auto* more = computed.sequence();
    for (std::size_t i = 0; more != nullptr && i < std::min(items->size(), more->size()); ++i)
      add_content((*items)[i], (*more)[i]);
    return;
  }
  auto* info = std::get_if<TensorInfo>(&result.value);
  const TensorInfo* found = computed.tensor();
  if (info == nullptr || found == nullptr || info->sizes != found->sizes || info->dtype != found->dtype)
    return;
  const auto array = array_in(computed);
  if (array != nullptr && (array->is_constant() || !array->integers().empty()))
    info->content = std::make_shared<TensorContent>(TensorContent{array, new_memory()});
}

}  // namespace

void ConstantTensors::read(const TensorValue& tensor) {
  if (tensor.elements != nullptr) in_code_.try_emplace(&tensor, std::make_shared<std::size_t>(0));
}

bool ConstantTensors::is_known(const TensorValue& tensor) const {
  const auto found = in_code_.find(&tensor);
  return found != in_code_.end() && *found->second == 0 && is_as_in_code(tensor);
}

// Calls `found` with each memory block of a tensor, or of the tensors in a list.
template <typename Found>
void ConstantTensors::for_each_memory(const Value& value, const Found& found) const {
  const auto visit = [&](const Value& each) {
    if (!each.is_tensor()) return interpreter::for_each_memory(known_of(each), found);
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
  interpreter::for_each_memory(value, count_write);
}

std::shared_ptr<const TensorContent> ConstantTensors::written(TensorContent content) {
  for (auto& [writes, seen] : content.memory) seen = *writes;
  return std::make_shared<const TensorContent>(std::move(content));
}

bool ConstantTensors::is_as_in_code(const TensorValue& tensor) const {
  return program_.find_parameter(tensor) == nullptr && !written_.contains(&tensor);
}

std::shared_ptr<const Array> ConstantTensors::find_elements(const Value& value) const {
  if (value.is_tensor()) return find_elements(value.to_tensor());
  const AbstractValue* kept = find_kept(value);
  return array_in(kept != nullptr ? *kept : known_of(value));
}

const AbstractValue* ConstantTensors::find_kept(const Value& value) const {
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

// Returns the value as an argument for evaluation: plain numbers and lists, and tensors whose elements are
// known, have a value; a device has none.
AbstractValue ConstantTensors::argument(const Value& value) const {
  if (const AbstractValue* kept = find_kept(value)) return *kept;
  if (value.is_list() && !is_plain(value)) {
    AbstractValue::Sequence items;
    for (const Value& item : value.items()) items.push_back(argument(item));
    return {std::move(items)};
  }
  const std::vector<Value> alone{value};
  return InterpreterArguments(alone, [this](const TensorValue& tensor) { return find_elements(tensor); })[0];
}

std::optional<Results> ConstantTensors::compute(const FunctionSchema& schema, const Values& values) const {
  const Operator* row = schema.writes() ? nullptr : find_operator(schema);
  if (row == nullptr || entry_of(*row).value == nullptr) return std::nullopt;
  std::vector<AbstractValue> arguments;
  for (const Value& value : values) arguments.push_back(argument(value));
  const AbstractArguments given(arguments);
  ShapeEnv dimensions;
  const RuleArguments args(entry_of(*row), given, dimensions);
  return evaluate(args, internal::infer_shapes(args).results);
}

void ConstantTensors::add_contents(const FunctionSchema& schema, const Values& values,
                                   std::vector<AbstractValue>& results) const {
  const Operator* row = find_operator(schema);
  if (row == nullptr) return;
  const OperatorEntry* entry = schema.writes() ? find_functional(entry_of(*row)) : &entry_of(*row);
  if (entry == nullptr || entry->value == nullptr) return;
  const InterpreterArguments given(values,
                                   [this](const TensorValue& tensor) { return find_elements(tensor); });
  ShapeEnv dimensions;
  const auto computed = evaluate(RuleArguments(*entry, given, dimensions), results);
  for (std::size_t i = 0; computed && i < std::min(results.size(), computed->size()); ++i)
    add_content(results[i], (*computed)[i]);
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
  const std::vector<Alias>* aliases = row == nullptr ? nullptr : &entry_of(*row).aliases;
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

std::shared_ptr<const Array> ConstantTensors::find_elements(const TensorValue& tensor) const {
  return is_known(tensor) ? tensor.elements : nullptr;
}

namespace {

const OperatorEntry& entry_of(const FunctionSchema& schema, OperatorEntry& other) {
  const Operator* row = find_operator(schema);
  if (row != nullptr) return internal::entry_of(*row);
  other = declared_entry(schema.name, converted_schema(schema));
  return other;
}

// Clears other literals than integers.  Only sizes, tensors and containers of them are remembered, as plain
// numbers and strings are in the code.
void forget_literals(AbstractValue& value) {
  const bool is_literal = value.get_if<double>() != nullptr || value.get_if<bool>() != nullptr ||
                          value.get_if<std::string>() != nullptr ||
                          value.get_if<std::complex<double>>() != nullptr;
  if (is_literal) value = {};
  if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value))
    std::ranges::for_each(*items, forget_literals);
  if (auto* dict = std::get_if<AbstractValue::Dict>(&value.value))
    std::ranges::for_each(dict->values, forget_literals);
}

}  // namespace

Inferred infer_shapes(const FunctionSchema& schema, const std::vector<Value>& values, ShapeEnv& dimensions,
                      const ReadConstant& constant) {
  const InterpreterArguments arguments(values, constant);
  OperatorEntry other;
  return internal::infer_shapes(RuleArguments(entry_of(schema, other), arguments, dimensions));
}

std::optional<Pieces> pieces_of(const FunctionSchema& schema, const std::vector<Value>& values,
                                ShapeEnv& dimensions, std::int64_t count) {
  const InterpreterArguments arguments(values);
  OperatorEntry other;
  return internal::pieces_of(RuleArguments(entry_of(schema, other), arguments, dimensions), count);
}

Evaluated evaluate_plain(const FunctionSchema& schema, const std::vector<Value>& values,
                         ShapeEnv& dimensions) {
  const InterpreterArguments arguments(values);
  OperatorEntry other;
  Evaluated result = internal::evaluate_plain(RuleArguments(entry_of(schema, other), arguments, dimensions));
  forget_literals(result.known);
  return result;
}

std::optional<ChangedList> changed_list(const FunctionSchema& schema, const std::vector<Value>& values) {
  std::optional<ChangedList> result = internal::changed_list(schema.name, InterpreterArguments(values));
  if (result) std::ranges::for_each(result->rest, forget_literals);
  return result;
}

}  // namespace fxtrace::internal::interpreter
