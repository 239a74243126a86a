#include "graph/node.h"

#include <algorithm>
#include <cstdint>

namespace fxtrace {

const char* to_string(Opcode op) {
  switch (op) {
    case Opcode::kPlaceholder:
      return "placeholder";
    case Opcode::kGetAttr:
      return "get_attr";
    case Opcode::kCallFunction:
      return "call_function";
    case Opcode::kCallMethod:
      return "call_method";
    case Opcode::kCallModule:
      return "call_module";
    case Opcode::kOutput:
      return "output";
  }
  return "";
}

}  // namespace fxtrace

namespace fxtrace::internal {

ValueKind Meta::kind() const {
  if (type == "Tensor") return ValueKind::kTensor;
  if (type == "int") return ValueKind::kInt;
  if (type == "float") return ValueKind::kFloat;
  if (type == "bool") return ValueKind::kBool;
  if (type == "str") return ValueKind::kString;
  return ValueKind::kOther;
}

std::optional<std::vector<SymInt>> Meta::sizes() const {
  if (!shape) return std::nullopt;
  std::vector<SymInt> known;
  known.reserve(shape->size());
  for (const Dim& dim : *shape) {
    if (dim.size() == nullptr) return std::nullopt;
    known.push_back(*dim.size());
  }
  return known;
}

std::optional<std::string> Meta::dtype_text() const {
  if (dtype) return dtype_name(*dtype);
  return other_dtype.empty() ? std::nullopt : std::optional(other_dtype);
}

void Meta::set_dtype(std::string_view name) {
  dtype = find_scalar_type(name);
  other_dtype = dtype ? std::string_view() : name;
}

void Meta::copy_dtype(const Meta& from) {
  dtype = from.dtype;
  other_dtype = from.other_dtype;
}

const Argument* find_part(const Node& node, const std::vector<Argument>& path) {
  if (path.empty()) return nullptr;
  const auto* keyword = path[0].get_if<std::string>();
  const auto* position = path[0].get_if<std::int64_t>();
  const Argument* part = keyword != nullptr    ? find_argument(node, SIZE_MAX, *keyword)
                         : position != nullptr ? find_argument(node, static_cast<std::size_t>(*position), {})
                                               : nullptr;
  for (std::size_t i = 1; i < path.size() && part != nullptr; ++i) {
    const auto* items = items_of(*part);
    const auto* index = path[i].get_if<std::int64_t>();
    const auto* dict = part->get_if<Argument::Dict>();
    part = nullptr;
    if (items != nullptr && index != nullptr && static_cast<std::size_t>(*index) < items->size()) {
      part = &(*items)[static_cast<std::size_t>(*index)];
    } else if (dict != nullptr) {
      const auto found = std::ranges::find(dict->items, path[i], &Argument::DictItem::key);
      if (found != dict->items.end()) part = &found->value;
    }
  }
  return part;
}

}  // namespace fxtrace::internal
