#include "archive/stored_tensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"
#include "support/error.h"

namespace fxtrace::internal {
namespace {

using PickleKind = PickleMachine::Kind;

// Limits for the values that are copied for each tensor, as a file can use one value again and again.
constexpr std::size_t kMaxDimensions = 64;
constexpr std::size_t kMaxStorageKey = 64;
constexpr int kMaxWrappers = 4;
constexpr std::size_t kMaxAttribute = 64;  // bytes of an attribute's name
constexpr std::size_t kMaxParts = 16;      // tensors in a wrapper subclass
constexpr std::size_t kMaxName = 100;      // bytes of the name of a class

constexpr auto kElementTypes = std::to_array<ElementType>({
    {"Float", "float32", 4},
    {"Double", "float64", 8},
    {"Half", "float16", 2},
    {"BFloat16", "bfloat16", 2},
    {"Long", "int64", 8},
    {"Int", "int32", 4},
    {"Short", "int16", 2},
    {"Char", "int8", 1},
    {"Byte", "uint8", 1},
    {"Bool", "bool", 1},
    {"ComplexFloat", "complex64", 8},
    {"ComplexDouble", "complex128", 16},
    {"QInt8", "qint8", 1},
    {"QUInt8", "quint8", 1},
    {"QInt32", "qint32", 4},
    {"QUInt4x2", "quint4x2", 1, false, 2},
    {"QUInt2x4", "quint2x4", 1, false, 4},
    {"UInt16", "uint16", 2, true},
    {"UInt32", "uint32", 4, true},
    {"UInt64", "uint64", 8, true},
    {"Float8_e4m3fn", "float8_e4m3fn", 1, true},
    {"Float8_e4m3fnuz", "float8_e4m3fnuz", 1, true},
    {"Float8_e5m2", "float8_e5m2", 1, true},
    {"Float8_e5m2fnuz", "float8_e5m2fnuz", 1, true},
    {"Float8_e8m0fnu", "float8_e8m0fnu", 1, true},
    {"", "complex32", 4},
    {"", "float4_e2m1fn_x2", 1},
    {"", "bits8", 1},
    {"", "bits16", 2},
    {"", "bits1x8", 1},
    {"", "bits2x4", 1},
    {"", "bits4x2", 1},
    {"", "uint1", 1},
    {"", "uint2", 1},
    {"", "uint3", 1},
    {"", "uint4", 1},
    {"", "uint5", 1},
    {"", "uint6", 1},
    {"", "uint7", 1},
    {"", "int1", 1},
    {"", "int2", 1},
    {"", "int3", 1},
    {"", "int4", 1},
    {"", "int5", 1},
    {"", "int6", 1},
    {"", "int7", 1},
});

}  // namespace

const ElementType* find_element_type(std::string_view dtype) {
  const auto* found = std::ranges::find(kElementTypes, dtype, &ElementType::dtype);
  return found == kElementTypes.end() ? nullptr : found;
}

const ElementType* find_element_class(std::string_view storage) {
  const auto* found = std::ranges::find(kElementTypes, storage, &ElementType::storage);
  return storage.empty() || found == kElementTypes.end() ? nullptr : found;
}

const ElementType* find_storage_type(std::string_view name) {
  static constexpr ElementType kUntyped{"Untyped", "uint8", 1};
  constexpr std::string_view kSuffix = "Storage";
  if (name == "torch.storage.UntypedStorage" || name == "torch.UntypedStorage") return &kUntyped;
  for (const std::string_view prefix : {"torch.cuda.", "torch."}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (!name.ends_with(kSuffix)) return nullptr;
    return find_element_class(name.substr(0, name.size() - kSuffix.size()));
  }
  return nullptr;
}

std::optional<std::int64_t> find_reach(std::int64_t offset, std::span<const std::int64_t> sizes,
                                       std::span<const std::int64_t> strides) {
  if (offset < 0) return std::nullopt;
  std::int64_t end = offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t step = 0;
    if (sizes[i] < 0 || strides[i] < 0) return std::nullopt;
    if (sizes[i] != 0 &&
        (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(end, step, &end)))
      return std::nullopt;
  }
  return __builtin_add_overflow(end, 1, &end) ? std::nullopt : std::optional(end);
}

std::optional<StoredTensor> PickledTensors::find_tensor(Id id, int wrappers) const {
  if (machine_.value(id).kind != PickleKind::kCall) return std::nullopt;
  return find_made(machine_.parts(id)[0], machine_.parts(id)[1], wrappers);
}

bool PickledTensors::is_util(Id callable, std::string_view name) const {
  return machine_.is_global(callable, "torch._utils", name);
}

std::optional<StoredTensor> PickledTensors::find_made(Id function, Id tuple, int wrappers) const {
  if (machine_.value(tuple).kind != PickleKind::kTuple) return std::nullopt;
  const auto arguments = machine_.parts(tuple);
  // The parameters of the quantization come after the strides.
  if (is_util(function, "_rebuild_tensor") || is_util(function, "_rebuild_tensor_v2") ||
      is_util(function, "_rebuild_qtensor"))
    return rebuild(arguments, false);
  if (is_util(function, "_rebuild_tensor_v3")) return rebuild(arguments, true);
  if (wrappers == kMaxWrappers) return std::nullopt;
  if (is_util(function, "_rebuild_parameter") || is_util(function, "_rebuild_parameter_with_state")) {
    if (arguments.empty()) return std::nullopt;
    auto tensor = find_tensor(arguments[0], wrappers + 1);
    if (tensor) tensor->is_parameter = true;
    return tensor;
  }
  // A tensor with attributes, or of a class of its own, is (function, type, the function's arguments,
  // attributes).
  if (machine_.is_global(function, "torch._tensor", "_rebuild_from_type_v2") && arguments.size() >= 3) {
    if (is_util(arguments[0], "_rebuild_wrapper_subclass") && arguments.size() >= 4)
      return wrapper(machine_.parts(arguments[2]), arguments[3], wrappers + 1);
    return find_made(arguments[0], arguments[2], wrappers + 1);
  }
  return std::nullopt;
}

// Returns the wrapper subclass of (class, dtype, sizes, strides, offset, ...).  `state` has its attributes:
// a dict, or (dict, slots).
std::optional<StoredTensor> PickledTensors::wrapper(std::span<const Id> arguments, Id state,
                                                    int wrappers) const {
  constexpr std::size_t kStrides = 3;
  if (arguments.size() <= kStrides) return std::nullopt;
  auto sizes = find_integers(arguments[2]);
  auto strides = find_integers(arguments[kStrides]);
  const auto dtype = find_dtype(arguments[1]);
  if (machine_.value(state).kind == PickleKind::kTuple && !machine_.parts(state).empty())
    state = machine_.parts(state)[0];
  if (!sizes || !strides || !dtype || machine_.value(state).kind != PickleKind::kDict) return std::nullopt;
  StoredTensor tensor;
  for (const auto& [key, value] : machine_.items(state)) {
    const auto& name = machine_.value(key);
    if (name.kind != PickleKind::kString || name.text.size() > kMaxAttribute) continue;
    auto part = find_tensor(value, wrappers);
    if (!part) continue;
    if (std::ranges::any_of(part->sizes, [](std::int64_t size) { return size < 0; })) return std::nullopt;
    std::vector<StoredTensor> parts = std::move(part->parts);
    if (parts.empty()) parts.push_back(std::move(*part));
    for (StoredTensor& inner : parts) {
      if (tensor.parts.size() == kMaxParts) return std::nullopt;
      inner.name = std::string(name.text) + (inner.name.empty() ? "" : "." + inner.name);
      tensor.parts.push_back(std::move(inner));
    }
  }
  if (tensor.parts.empty()) return std::nullopt;
  tensor.storage = tensor.parts.front().storage;
  tensor.sizes = std::move(*sizes);
  tensor.strides = std::move(*strides);
  tensor.dtype = *dtype;
  return tensor;
}

// Returns the tensor of (storage, offset, sizes, strides, requires_grad, hooks), in version 3 with the
// dtype after them.
std::optional<StoredTensor> PickledTensors::rebuild(std::span<const Id> arguments, bool with_dtype) const {
  constexpr std::size_t kDtype = 6;
  if (arguments.size() < (with_dtype ? kDtype + 1 : 4)) return std::nullopt;
  if (machine_.value(arguments[0]).kind != PickleKind::kPersistent) return std::nullopt;
  const auto storage = find_storage(machine_.parts(arguments[0])[0]);
  const auto& offset = machine_.value(arguments[1]);
  auto sizes = find_integers(arguments[2]);
  auto strides = find_integers(arguments[3]);
  if (!storage || offset.kind != PickleKind::kInteger || !sizes || !strides) return std::nullopt;
  const auto dtype = with_dtype ? find_dtype(arguments[kDtype]) : std::optional(storage->type->dtype);
  if (!dtype) return std::nullopt;
  return StoredTensor{
      {}, storage->key, offset.number, std::move(*sizes), std::move(*strides), std::string(*dtype), false,
      {}};
}

std::optional<PickledTensors::Storage> PickledTensors::find_storage(Id persistent_id) const {
  constexpr std::size_t kParts = 5;
  const auto parts = machine_.parts(persistent_id);
  if (machine_.value(persistent_id).kind != PickleKind::kTuple || parts.size() < kParts ||
      machine_.value(parts[0]).text != "storage")
    return std::nullopt;
  const auto& key = machine_.value(parts[2]);
  const auto& size = machine_.value(parts[4]);
  const ElementType* type = find_storage_type(machine_.global_name(parts[1], kMaxName));
  const bool has_key = (key.kind == PickleKind::kString && key.text.size() <= kMaxStorageKey) ||
                       key.kind == PickleKind::kInteger;
  if (type == nullptr || !has_key || size.kind != PickleKind::kInteger || size.number < 0)
    return std::nullopt;
  return Storage{key.kind == PickleKind::kString ? std::string(key.text) : std::to_string(key.number), type,
                 machine_.value(parts[3]).text, size.number};
}

std::optional<std::vector<std::int64_t>> PickledTensors::find_integers(Id tuple) const {
  // torch.Size((2, 3))
  if (machine_.value(tuple).kind == PickleKind::kCall &&
      machine_.is_global(machine_.parts(tuple)[0], "torch", "Size")) {
    const Id arguments = machine_.parts(tuple)[1];
    if (machine_.value(arguments).kind != PickleKind::kTuple || machine_.parts(arguments).size() != 1)
      return std::nullopt;
    tuple = machine_.parts(arguments)[0];
  }
  const auto parts = machine_.parts(tuple);
  if (machine_.value(tuple).kind != PickleKind::kTuple || parts.size() > kMaxDimensions) return std::nullopt;
  std::vector<std::int64_t> integers;
  for (const Id part : parts) {
    if (machine_.value(part).kind != PickleKind::kInteger) return std::nullopt;
    integers.push_back(machine_.value(part).number);
  }
  return integers;
}

// Returns the dtype of a global such as torch.float8_e4m3fn.
std::optional<std::string_view> PickledTensors::find_dtype(Id dtype) const {
  constexpr std::size_t kMaxDtype = 32;
  if (machine_.value(dtype).kind != PickleKind::kGlobal) return std::nullopt;
  const auto names = machine_.parts(dtype);
  const std::string_view name = machine_.value(names[1]).text;
  if (machine_.value(names[0]).text != "torch" || name.size() > kMaxDtype) return std::nullopt;
  return name;
}

namespace {

using Id = PickleMachine::Id;
using PickleKind = PickleMachine::Kind;

// The most bytes of a pickle; a tensor takes some 35 opcodes and 200 bytes.
constexpr std::size_t kMaxStatePickle = 64'000'000;
constexpr std::size_t kMaxTensors = 200'000;

// Returns the name of the pickle's record, which is in the only folder of the archive.
std::string find_pickle(const ZipArchive& saved) {
  for (const auto& entry : saved.entries()) {
    const std::size_t slash = entry.name.find('/');
    const bool is_pickle = slash == std::string::npos
                               ? entry.name == "data.pkl"
                               : std::string_view(entry.name).substr(slash + 1) == "data.pkl";
    if (is_pickle) return entry.name;
  }
  throw input_error("not written by torch.save: it has no data.pkl");
}

std::string read_pickle(const ZipArchive& saved, const std::string& name) {
  std::string pickle = saved.read(name, kMaxStatePickle + 1);
  if (pickle.size() <= kMaxStatePickle) return pickle;
  throw input_error("refusing its pickle: more than " + std::to_string(kMaxStatePickle) + " bytes");
}

// Runs the machine, and returns the pickled value; nothing for a damaged pickle.  `stored`: the bytes that
// the pickle takes in the archive.
std::optional<Id> run(PickleMachine& machine, std::uint64_t stored) {
  const std::size_t most = PickleMachine::max_opcodes(stored);
  const auto end = machine.run(most);
  if (end == PickleMachine::End::kLimit) {
    throw input_error("refusing its pickle: more than " + std::to_string(most) + " steps");
  }
  return end == PickleMachine::End::kStop ? machine.find_result() : std::nullopt;
}

std::vector<StoredTensor> read_tensors(std::string_view pickle, std::uint64_t stored) {
  PickleMachine machine(pickle);
  const auto dict = run(machine, stored);
  if (!dict || machine.value(*dict).kind != PickleKind::kDict) {
    throw input_error("the pickle is damaged or is not a dict of tensors");
  }
  const PickledTensors reader(machine);
  // As in Python, a repeated key has its last value at its first position.
  std::vector<std::pair<std::string_view, Id>> entries;
  std::unordered_map<Id, std::size_t> by_key;
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (const auto& [key, value] : machine.items(*dict)) {
    if (machine.value(key).kind != PickleKind::kString) continue;
    auto [found, is_new] = by_key.try_emplace(key, 0);
    if (is_new) {
      const std::string_view name = machine.value(key).text;
      found->second = by_name.try_emplace(name, entries.size()).first->second;
      if (found->second == entries.size()) entries.emplace_back(name, value);
    }
    entries[found->second].second = value;
  }
  std::vector<StoredTensor> tensors;
  for (const auto& [name, value] : entries) {
    auto tensor = reader.find_tensor(value);
    if (!tensor) continue;
    if (tensors.size() == kMaxTensors) {
      throw input_error("refusing its pickle: more than " + std::to_string(kMaxTensors) + " tensors");
    }
    tensor->name = name;
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

// Sets StoredTensor::content by the archive that has the pickle.
void set_content(StoredTensor& tensor, const ZipArchive& saved, const std::string& pickle) {
  const std::string folder = pickle.substr(0, pickle.find('/') + 1);  // "" where there is none
  std::vector<std::string> keys;
  for (StoredTensor& part : tensor.parts) {
    set_content(part, saved, pickle);
    keys.push_back(part.content);
  }
  tensor.content = tensor.parts.empty() ? saved.content_key(folder + "data/" + tensor.storage, tensor.offset,
                                                            tensor.sizes, tensor.strides)
                                        : joined_content_keys(keys);
}

// Appends the leaves below `value`; returns false where a value other than tensors, tuples, dicts and plain
// values is among them.
bool add_leaves(const PickleMachine& machine, Id value, int depth,
                std::vector<std::optional<StoredTensor>>& to) {
  constexpr int kMaxDepth = 100;
  if (depth == kMaxDepth || to.size() > kMaxTensors) return false;
  const auto add = [&](Id part) { return add_leaves(machine, part, depth + 1, to); };
  switch (machine.value(value).kind) {
    case PickleKind::kTuple:
      return std::ranges::all_of(machine.parts(value), add);
    case PickleKind::kDict:
      return std::ranges::all_of(machine.items(value), [&](const auto& item) { return add(item.second); });
    case PickleKind::kCall: {
      auto tensor = PickledTensors(machine).find_tensor(value);
      if (!tensor) return false;
      to.push_back(std::move(tensor));
      return true;
    }
    case PickleKind::kList:
    case PickleKind::kPersistent:
      return false;
    default:
      to.emplace_back();
      return true;
  }
}

// Calls f(), and names the record in its errors.
template <class F>
auto naming_record(std::string_view record, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw input_error("record " + std::string(record) + ": " + error.what());
  }
}

}  // namespace

std::vector<StoredTensor> read_state_dict(const ZipArchive& archive, std::string_view record) {
  return naming_record(record, [&] {
    const ZipArchive saved(archive, record);
    const std::string pickle = find_pickle(saved);
    std::vector<StoredTensor> tensors = read_tensors(read_pickle(saved, pickle), saved.stored_size(pickle));
    for (StoredTensor& tensor : tensors) set_content(tensor, saved, pickle);
    return tensors;
  });
}

std::optional<StoredTensor> read_saved_tensor(const ZipArchive& archive, std::string_view record) {
  return naming_record(record, [&] {
    const ZipArchive saved(archive, record);
    const std::string name = find_pickle(saved);
    const std::string pickle = read_pickle(saved, name);
    PickleMachine machine(pickle);
    const auto value = run(machine, saved.stored_size(name));
    auto tensor = value ? PickledTensors(machine).find_tensor(*value) : std::nullopt;
    if (tensor) set_content(*tensor, saved, name);
    return tensor;
  });
}

std::string read_saved_pickle(const ZipArchive& archive, std::string_view record) {
  return naming_record(record, [&] {
    const ZipArchive saved(archive, record);
    return read_pickle(saved, find_pickle(saved));
  });
}

std::optional<std::vector<std::optional<StoredTensor>>> read_saved_leaves(const ZipArchive& archive,
                                                                          std::string_view record) {
  using Leaves = std::vector<std::optional<StoredTensor>>;
  return naming_record(record, [&]() -> std::optional<Leaves> {
    const ZipArchive saved(archive, record);
    const std::string name = find_pickle(saved);
    const std::string pickle = read_pickle(saved, name);
    PickleMachine machine(pickle);
    const auto value = run(machine, saved.stored_size(name));
    Leaves leaves;
    if (!value || !add_leaves(machine, *value, 0, leaves)) return std::nullopt;
    return leaves;
  });
}

}  // namespace fxtrace::internal
