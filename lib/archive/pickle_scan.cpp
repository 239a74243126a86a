#include "archive/pickle_scan.h"

#include <algorithm>

#include "archive/pickle_machine.h"

namespace fxtrace::internal {
namespace {

using Kind = PickleScan::Kind;
using Id = PickleMachine::Id;

constexpr std::size_t kMaxScanned = 400'000;
constexpr std::size_t kMaxGlobal = 120;

// Returns the class of the object that a call makes, by the name of the callable: "pkg.Net".
std::string type_of_call(const PickleMachine& machine, Id call) {
  const auto parts = machine.parts(call);
  std::string name = machine.global_name(parts[0], kMaxGlobal);
  if (name == "copy_reg._reconstructor" || name == "copyreg._reconstructor" || name == "copyreg.__newobj__") {
    const auto arguments = machine.parts(parts[1]);
    if (!arguments.empty()) name = machine.global_name(arguments[0], kMaxGlobal);
  }
  if (name.find("reduce_graph_module") != std::string::npos ||
      name.find("reduce_package_graph_module") != std::string::npos) {
    return "torch.fx.GraphModule";
  }
  return name;
}

Kind kind_of(const PickleMachine& machine, Id id) {
  switch (machine.value(id).kind) {
    case PickleMachine::Kind::kString:
      return Kind::kString;
    case PickleMachine::Kind::kGlobal:
      return Kind::kGlobal;
    case PickleMachine::Kind::kTuple:
      return Kind::kTuple;
    case PickleMachine::Kind::kList:
      return Kind::kList;
    case PickleMachine::Kind::kDict:
      return Kind::kDict;
    case PickleMachine::Kind::kCall: {
      const std::string type = machine.global_name(machine.parts(id)[0], kMaxGlobal);
      const bool is_tensor =
          type.starts_with("torch._utils._rebuild_") || type.starts_with("torch._tensor._rebuild_");
      return is_tensor ? Kind::kTensor : Kind::kObject;
    }
    default:
      return Kind::kOther;
  }
}

// Returns a key of the file between quotes, cut, with control characters replaced.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text.substr(0, 40)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return result + (text.size() > 40 ? "...'" : "'");
}

std::string list_keys(const PickleScan& scan) {
  std::string keys;
  for (std::size_t i = 0; i < std::min<std::size_t>(scan.items.size(), 4); ++i) {
    keys += (i == 0 ? "" : ", ") + quoted(scan.items[i].first);
  }
  return keys + (scan.items.size() > 4 ? ", ..." : "");
}

bool has_key(const PickleScan& scan, std::string_view key) {
  return std::any_of(scan.items.begin(), scan.items.end(),
                     [key](const auto& item) { return item.first == key; });
}

}  // namespace

PickleScan scan_pickle(std::string_view bytes, std::size_t start) {
  PickleMachine machine(bytes, std::min(start, bytes.size()));
  const auto end = machine.run(kMaxScanned);
  PickleScan scan;
  scan.valid = end != PickleMachine::End::kUnknown;
  scan.end = machine.position();
  const auto result = machine.find_result();
  if (!result) {
    scan.valid = scan.valid && end != PickleMachine::End::kStop;
    return scan;
  }
  scan.kind = kind_of(machine, *result);
  if (scan.kind == Kind::kObject) scan.type = type_of_call(machine, *result);
  if (scan.kind == Kind::kGlobal) scan.type = machine.global_name(*result, kMaxGlobal);
  if (scan.kind == Kind::kTensor) return scan;
  for (const auto& [key, item] : machine.items(*result)) {
    const auto& name = machine.value(key);
    if (name.kind != PickleMachine::Kind::kString) continue;
    scan.items.emplace_back(name.text.substr(0, kMaxGlobal), kind_of(machine, item));
  }
  return scan;
}

std::string describe(const PickleScan& scan) {
  switch (scan.kind) {
    case Kind::kTensor:
      return "a tensor";
    case Kind::kDict: {
      const auto tensors = std::count_if(scan.items.begin(), scan.items.end(),
                                         [](const auto& item) { return item.second == Kind::kTensor; });
      if (tensors > 0 && 2 * static_cast<std::size_t>(tensors) >= scan.items.size()) return "a state_dict";
      if (has_key(scan, "param_groups") && has_key(scan, "state")) return "an optimizer's state_dict";
      if (scan.items.empty()) return "a dict";
      return "a checkpoint (a dict with keys " + list_keys(scan) + ")";
    }
    case Kind::kObject: {
      std::string type = quoted(scan.type);
      type = type.substr(1, type.size() - 2);
      if (type == "torch.fx.GraphModule") return "a pickled torch.fx.GraphModule";
      if (has_key(scan, "_modules") || has_key(scan, "_parameters"))
        return "a whole pickled module (" + type + ")";
      return "a pickled object (" + type + ")";
    }
    case Kind::kList:
      return "a list";
    case Kind::kTuple:
      return "a tuple";
    default:
      return "a pickled object";
  }
}

}  // namespace fxtrace::internal
