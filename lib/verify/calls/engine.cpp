#include "verify/calls/engine.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace fxtrace::internal::verify {
namespace {

std::vector<FxtraceValue*> handles(const std::vector<RunValue>& values) {
  std::vector<FxtraceValue*> result;
  result.reserve(values.size());
  for (const RunValue& value : values) result.push_back(value.get());
  return result;
}

// Returns the reason of an error of TorchScript's interpreter, which is the last line of a stack:
// "RuntimeError: ...".
std::string in_one_line(const std::string& text) {
  std::string first;
  std::string last;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    from = end + 1;
    if (line.empty()) continue;
    if (first.empty()) first = line;
    const std::size_t colon = line.find(": ");
    const bool is_reason = colon != std::string::npos && line.find(' ') > colon && line[0] != ' ';
    if (is_reason) last = line;
  }
  std::string line = last.empty() ? first : last;
  // The address of the compilation unit differs each time.
  constexpr std::string_view kUnit = " (of Python compilation unit at: ";
  if (const std::size_t unit = line.find(kUnit); unit != std::string::npos)
    line.erase(unit, line.find(')', unit) - unit + 1);
  return line;
}

// Calls f(arguments) with the arguments as the plugin takes them.
template <class F>
FxtraceValue* with_arguments(const RunArguments& arguments, F&& f) {
  const std::vector<FxtraceValue*> positional = handles(arguments.positional);
  std::vector<const char*> names;
  std::vector<FxtraceValue*> named;
  for (const auto& [name, value] : arguments.named) {
    names.push_back(name.c_str());
    named.push_back(value.get());
  }
  const FxtraceArguments given{positional.data(), positional.size(), names.data(), named.data(),
                               named.size()};
  return f(&given);
}

}  // namespace

RunValue Engine::checked(FxtraceValue* value) const {
  check(value != nullptr);
  return {api_, value};
}

void Engine::check(bool done) const {
  if (done) return;
  const std::string why = api_.failure();
  // A failed allocation is not an error of the model.
  if (why.find("DefaultCPUAllocator: ") != std::string::npos || why == std::bad_alloc().what())
    throw std::bad_alloc();
  // Such operators exist after an import in Python only; no graph is at fault.
  if (why.starts_with("there is no operator ")) throw CannotRun(in_one_line(why));
  throw RunError(in_one_line(why));
}

RunValue Engine::list(const std::vector<RunValue>& items) const {
  return checked(api_.list(handles(items).data(), items.size()));
}

RunValue Engine::tuple(const std::vector<RunValue>& items) const {
  return checked(api_.tuple(handles(items).data(), items.size()));
}

RunValue Engine::dict(const std::vector<RunValue>& keys, const std::vector<RunValue>& values) const {
  return checked(api_.dict(handles(keys).data(), handles(values).data(), keys.size()));
}

RunValue Engine::tensor(const std::string& dtype, const std::vector<std::int64_t>& sizes,
                        const std::vector<std::int64_t>& strides, std::int64_t offset, void* data,
                        std::size_t bytes) const {
  if (sizes.size() != strides.size())
    throw RunError("a tensor of the file has different numbers of sizes and strides");
  return checked(api_.tensor(dtype.c_str(), sizes.data(), strides.data(), sizes.size(), offset, data, bytes));
}

RunValue Engine::random_tensor(const std::string& dtype, const std::vector<std::int64_t>& sizes,
                               std::int64_t low, std::int64_t high, std::uint64_t seed) const {
  return checked(api_.random_tensor(dtype.c_str(), sizes.data(), sizes.size(), low, high, seed));
}

std::vector<RunValue> Engine::items(const RunValue& value) const {
  std::vector<RunValue> result;
  for (std::size_t i = 0; i < size(value); ++i) result.push_back(item(value, i));
  return result;
}

std::optional<std::int64_t> Engine::integer_of(const RunValue& value) const {
  if (!value) return std::nullopt;
  if (kind(value) == kFxtraceBool) return api_.as_bool(value.get()) ? 1 : 0;
  if (kind(value) == kFxtraceInt) return api_.as_int(value.get());
  return std::nullopt;
}

bool Engine::truth(const RunValue& value) const {
  const RunValue answer = is_tensor(value) ? call("aten::Bool", std::nullopt, {{value}, {}}) : value;
  if (kind(answer) == kFxtraceBool) return api_.as_bool(answer.get());
  if (const auto number = integer_of(answer)) return *number != 0;
  throw RunError("a condition is neither a bool nor a tensor");
}

std::vector<std::int64_t> Engine::shape(const RunValue& tensor) const {
  std::vector<std::int64_t> sizes(size(tensor));
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = api_.extent(tensor.get(), i);
  return sizes;
}

RunValue Engine::call(const std::string& name, const std::optional<std::string>& overload,
                      const RunArguments& arguments) const {
  return checked(with_arguments(arguments, [&](const FxtraceArguments* given) {
    return api_.call(name.c_str(), overload ? overload->c_str() : nullptr, given);
  }));
}

RunValue Engine::call_method(const RunValue& object, const std::string& name,
                             const RunArguments& arguments) const {
  return checked(with_arguments(arguments, [&](const FxtraceArguments* given) {
    return api_.call_method(object.get(), name.c_str(), given);
  }));
}

RunValue Engine::call_python(const std::string& name, const RunArguments& arguments) const {
  return checked(with_arguments(
      arguments, [&](const FxtraceArguments* given) { return api_.call_python(name.c_str(), given); }));
}

RunValue Engine::call_function(const RunValue& module, const std::string& name,
                               const RunArguments& arguments) const {
  return checked(with_arguments(arguments, [&](const FxtraceArguments* given) {
    return api_.call_function(module.get(), name.c_str(), given);
  }));
}

RunValue nested(const Engine& engine, const std::vector<NestedItem>& parts, std::size_t depth) {
  if (parts.empty()) return engine.none();
  if (parts.size() == 1 && parts[0].path->size() == depth) return parts[0].value;
  std::vector<bool> seen(parts.size());
  std::vector<std::pair<Argument, RunValue>> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (seen[i] || parts[i].path->size() <= depth) continue;
    const Argument& key = (*parts[i].path)[depth];
    std::vector<NestedItem> below;
    for (std::size_t j = i; j < parts.size(); ++j) {
      if (parts[j].path->size() <= depth || (*parts[j].path)[depth] != key) continue;
      seen[j] = true;
      below.push_back(parts[j]);
    }
    found.emplace_back(key, nested(engine, below, depth + 1));
  }
  const bool by_position =
      std::ranges::all_of(found, [](const auto& part) { return part.first.template is<std::int64_t>(); });
  std::vector<RunValue> items;
  if (!by_position) {
    std::vector<RunValue> keys;
    for (const auto& [key, value] : found) {
      keys.push_back(engine.constant(key));
      items.push_back(value);
    }
    return engine.dict(keys, items);
  }
  constexpr std::int64_t kMost = 100'000;
  for (const auto& [key, value] : found) {
    const std::int64_t at = *key.get_if<std::int64_t>();
    if (at < 0 || at > kMost) throw RunError("a value has no such place");
    if (items.size() <= static_cast<std::size_t>(at))
      items.resize(static_cast<std::size_t>(at) + 1, engine.none());
    items[static_cast<std::size_t>(at)] = value;
  }
  return engine.tuple(items);
}

std::vector<std::pair<std::string, RunValue>> arguments_of_forward(const Engine& engine,
                                                                   const ModuleGraph& graph,
                                                                   const std::vector<RunValue>& inputs) {
  if (!graph.signature) return {};
  std::unordered_map<std::uint32_t, RunValue> given;
  std::size_t next = 0;
  for (NodeId id = graph.graph.first(); id.valid() && next < inputs.size(); id = graph.graph.next(id)) {
    if (graph.graph.node(id).op == Opcode::kPlaceholder) given.emplace(id.index, inputs[next++]);
  }
  std::vector<std::pair<std::string, std::vector<NestedItem>>> parts;  // parts, by argument
  for (const GraphSignature::Entry& entry : graph.signature->inputs) {
    const std::string* name = entry.path.empty() ? nullptr : entry.path[0].get_if<std::string>();
    const auto value = given.find(entry.node.index);
    if (name == nullptr || (value == given.end() && !entry.value)) continue;
    if (parts.empty() || parts.back().first != *name) parts.emplace_back(*name, std::vector<NestedItem>());
    parts.back().second.push_back(
        {&entry.path, value == given.end() ? engine.constant(*entry.value) : value->second});
  }
  std::vector<std::pair<std::string, RunValue>> arguments;
  for (const auto& [name, of] : parts) arguments.emplace_back(name, nested(engine, of, 1));
  return arguments;
}

}  // namespace fxtrace::internal::verify
