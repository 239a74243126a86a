#include "summaries/parameter_sizes.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "shapes/tensor_options.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) return INT64_MAX;
  }
  return count;
}

std::int64_t byte_count(const std::vector<std::int64_t>& shape, const std::string& dtype) {
  const Dtype type = find_scalar_type(dtype);
  if (!type) return 0;
  std::int64_t bytes = 0;
  const std::int64_t elements = element_count(shape), in_byte = elements_in_byte(*type);
  const std::int64_t places = elements / in_byte + (elements % in_byte != 0 ? 1 : 0);
  return __builtin_mul_overflow(places, item_size(*type), &bytes) ? INT64_MAX : bytes;
}

std::int64_t element_count(const ParameterRecord& record) {
  if (!record.is_packed()) return element_count(record.shape);
  std::int64_t count = 0;
  for (const StoredPart& part : record.stored) add_saturated(count, element_count(part.shape));
  return count;
}

std::int64_t byte_count(const std::vector<StoredPart>& parts) {
  std::int64_t bytes = 0;
  for (const StoredPart& part : parts) add_saturated(bytes, byte_count(part.shape, part.dtype));
  return bytes;
}

void TensorTotal::add(const std::vector<std::int64_t>& shape, const std::string& dtype) {
  add_saturated(tensors, 1);
  add_saturated(elements, element_count(shape));
  add_saturated(bytes, byte_count(shape, dtype));
  dtypes.insert(dtype);
}

void TensorTotal::add(const ParameterRecord& record) {
  add_saturated(tensors, 1);
  add_saturated(elements, element_count(record));
  add_saturated(bytes, byte_count(record));
  for_each_stored(record, [&](const auto&, const std::string& dtype) { dtypes.insert(dtype); });
  devices.insert(record.device.value_or("cpu"));
}

std::vector<ModuleSizes> count_parameters(const GraphCollection& collection) {
  const auto& modules = collection.modules;
  std::unordered_map<std::string_view, std::size_t> by_path;
  for (std::size_t i = 0; i < modules.size(); ++i) by_path.emplace(modules[i].path, i);
  std::unordered_map<std::string_view, std::vector<std::string_view>> later_names;  // by first name
  for (const auto& module : modules) {
    if (module.alias_of) later_names[*module.alias_of].push_back(module.path);
  }
  std::unordered_map<std::string_view, std::vector<const ParameterRecord*>> names;  // by first name
  std::vector<std::string_view> tensors;
  for (const auto& parameter : collection.parameters) {
    if (parameter.kind == ParameterKind::kCustomObject) continue;
    const std::string_view first = parameter.alias_of ? *parameter.alias_of : parameter.name;
    auto& list = names[first];
    if (list.empty()) tensors.push_back(first);
    list.push_back(&parameter);
  }

  std::vector<ModuleSizes> sizes(modules.size());
  std::vector<std::size_t> counted_for(modules.size(), SIZE_MAX);
  std::vector<std::string_view> pending;  // modules that have the tensor, and their parents
  for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const auto& list = names[tensors[tensor]];
    const ParameterRecord& record = *list.front();
    const bool is_parameter = record.kind == ParameterKind::kParameter;
    for (const ParameterRecord* parameter : list) {
      const std::string_view owner = QualifiedName(parameter->name).parent();
      const bool seen =
          std::find(pending.begin(), pending.end(), owner) != pending.end();  // two names in one module
      const auto found = by_path.find(owner);
      if (found != by_path.end() && !seen) {
        ModuleSizes& of = sizes[found->second];
        (is_parameter ? of.own_parameters : of.own_buffers).add(record);
      }
      pending.push_back(owner);
    }
    while (!pending.empty()) {
      const std::string_view path = pending.back();
      pending.pop_back();
      if (!path.empty()) pending.push_back(QualifiedName(path).parent());
      const auto found = by_path.find(path);
      if (found == by_path.end()) continue;
      if (counted_for[found->second] == tensor) {
        if (!path.empty()) pending.pop_back();  // its parents were counted as well
        continue;
      }
      counted_for[found->second] = tensor;
      ModuleSizes& of = sizes[found->second];
      (is_parameter ? of.parameters : of.buffers).add(record);
      const auto later = later_names.find(path);
      if (later == later_names.end()) continue;
      for (const std::string_view name : later->second) pending.push_back(QualifiedName(name).parent());
    }
  }
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto first = modules[i].alias_of ? by_path.find(*modules[i].alias_of) : by_path.end();
    if (first != by_path.end()) sizes[i] = sizes[first->second];
  }
  return sizes;
}

}  // namespace fxtrace::internal
