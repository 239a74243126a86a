#include "archive/state_dict.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"
#include "support/error.h"

namespace fxtrace::internal {
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
