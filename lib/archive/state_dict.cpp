#include "archive/state_dict.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"
#include "support/error.h"

namespace fxtrace {
namespace {

using Id = PickleMachine::Id;
using PickleKind = PickleMachine::Kind;

// The most bytes of a pickle; a tensor takes some 35 opcodes and 200 bytes.
constexpr std::size_t kMaxStatePickle = 64'000'000;
constexpr std::size_t kMaxTensors = 200'000;
// Limits for the values that are copied for each tensor, as a file can use one value again and again.
constexpr std::size_t kMaxDimensions = 64;
constexpr std::size_t kMaxStorageKey = 64;
constexpr int kMaxWrappers = 4;
constexpr std::size_t kMaxAttribute = 64;  // bytes of an attribute's name
constexpr std::size_t kMaxParts = 16;      // tensors in a wrapper subclass

// The classes of torch's typed storages.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kStorageTypes = {{
    {"FloatStorage", "float32"},
    {"DoubleStorage", "float64"},
    {"HalfStorage", "float16"},
    {"BFloat16Storage", "bfloat16"},
    {"LongStorage", "int64"},
    {"IntStorage", "int32"},
    {"ShortStorage", "int16"},
    {"CharStorage", "int8"},
    {"ByteStorage", "uint8"},
    {"BoolStorage", "bool"},
    {"ComplexFloatStorage", "complex64"},
    {"ComplexDoubleStorage", "complex128"},
    {"QInt8Storage", "qint8"},
    {"QUInt8Storage", "quint8"},
    {"QInt32Storage", "qint32"},
    {"QUInt4x2Storage", "quint4x2"},
    {"QUInt2x4Storage", "quint2x4"},
}};

class Reader {
 public:
  explicit Reader(const PickleMachine& machine) : machine_(machine) {}

  // Returns the tensor without its name; nothing for other values.
  std::optional<StoredTensor> find_tensor(Id id, int wrappers = 0) const {
    if (machine_.value(id).kind != PickleKind::kCall) return std::nullopt;
    return find_made(machine_.parts(id)[0], machine_.parts(id)[1], wrappers);
  }

 private:
  bool is_util(Id callable, std::string_view name) const {
    return machine_.is_global(callable, "torch._utils", name);
  }

  // Returns the tensor that a function makes from a tuple of arguments.
  std::optional<StoredTensor> find_made(Id function, Id tuple, int wrappers) const {
    const auto arguments = machine_.parts(tuple);
    // The parameters of the quantization come after the strides.
    if (is_util(function, "_rebuild_tensor_v2") || is_util(function, "_rebuild_qtensor"))
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
  std::optional<StoredTensor> wrapper(std::span<const Id> arguments, Id state, int wrappers) const {
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
  std::optional<StoredTensor> rebuild(std::span<const Id> arguments, bool with_dtype) const {
    constexpr std::size_t kDtype = 6;
    if (arguments.size() < (with_dtype ? kDtype + 1 : 4)) return std::nullopt;
    // The storage is outside of the pickle: ("storage", type, key, location, size).
    if (machine_.value(arguments[0]).kind != PickleKind::kPersistent) return std::nullopt;
    const auto storage = machine_.parts(machine_.parts(arguments[0])[0]);
    if (storage.size() < 5 || machine_.value(storage[0]).text != "storage") return std::nullopt;
    const auto& key = machine_.value(storage[2]);
    const auto& offset = machine_.value(arguments[1]);
    auto sizes = find_integers(arguments[2]);
    auto strides = find_integers(arguments[3]);
    auto dtype = with_dtype ? find_dtype(arguments[kDtype]) : find_storage_dtype(storage[1]);
    if (key.kind != PickleKind::kString || key.text.size() > kMaxStorageKey ||
        offset.kind != PickleKind::kInteger || !sizes || !strides || !dtype) {
      return std::nullopt;
    }
    return StoredTensor{{},
                        std::string(key.text),
                        offset.number,
                        std::move(*sizes),
                        std::move(*strides),
                        std::string(*dtype),
                        false,
                        {}};
  }

  std::optional<std::vector<std::int64_t>> find_integers(Id tuple) const {
    const auto parts = machine_.parts(tuple);
    if (machine_.value(tuple).kind != PickleKind::kTuple || parts.size() > kMaxDimensions)
      return std::nullopt;
    std::vector<std::int64_t> integers;
    for (const Id part : parts) {
      if (machine_.value(part).kind != PickleKind::kInteger) return std::nullopt;
      integers.push_back(machine_.value(part).number);
    }
    return integers;
  }

  std::optional<std::string_view> find_storage_dtype(Id type) const {
    for (const auto& [storage, dtype] : kStorageTypes) {
      if (machine_.is_global(type, "torch", storage)) return dtype;
    }
    return std::nullopt;
  }

  // Returns the dtype of a global such as torch.float8_e4m3fn.
  std::optional<std::string_view> find_dtype(Id dtype) const {
    constexpr std::size_t kMaxDtype = 32;
    if (machine_.value(dtype).kind != PickleKind::kGlobal) return std::nullopt;
    const auto names = machine_.parts(dtype);
    const std::string_view name = machine_.value(names[1]).text;
    if (machine_.value(names[0]).text != "torch" || name.size() > kMaxDtype) return std::nullopt;
    return name;
  }

  const PickleMachine& machine_;
};

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
  const Reader reader(machine);
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
      auto tensor = Reader(machine).find_tensor(value);
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
    auto tensor = value ? Reader(machine).find_tensor(*value) : std::nullopt;
    if (tensor) set_content(*tensor, saved, name);
    return tensor;
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

}  // namespace fxtrace
