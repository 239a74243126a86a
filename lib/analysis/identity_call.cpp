#include "analysis/identity_call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/node_arguments.h"
#include "graph/rewrite.h"
#include "opinfo/traits.h"
#include "shapes/tensor_options.h"
#include "support/integers.h"

namespace fxtrace::internal {
namespace {

// Returns the name of a dtype; TorchScript writes dtypes and memory formats as numbers.
std::optional<std::string> dtype_of(const Argument& argument) {
  if (const auto* dtype = argument.get_if<Argument::Dtype>()) return dtype->name;
  const auto* number = argument.get_if<std::int64_t>();
  const Dtype type = number == nullptr ? Dtype{} : find_scalar_type(*number);
  return type ? std::optional(dtype_name(*type)) : std::nullopt;
}

bool is_none(const Argument* argument) { return argument == nullptr || argument->is<Argument::None>(); }

// One call, with access to its known arguments.
class KnownCall : public NodeArguments {
 public:
  KnownCall(const Graph& graph, const Node& node, const OperatorEntry& info)
      : NodeArguments(node, info), graph_(graph), node_(node) {}

  const Node* input() const { return node_of(node_.args.empty() ? nullptr : &node_.args.front()); }
  const Node* node_of(const Argument* argument) const {
    const auto* id = argument == nullptr ? nullptr : argument->get_if<NodeId>();
    return id == nullptr ? nullptr : &graph_.node(*id);
  }
  bool is_off(std::string_view argument) const {
    const Argument* given = find_argument(argument);
    return is_none(given) || *given == Argument(false);
  }
  std::optional<std::int64_t> integer(std::string_view argument,
                                      std::optional<std::int64_t> otherwise = {}) const {
    return NodeArguments::integer(graph_, argument, otherwise);
  }
  // Returns the input's shape; null when it is unknown.
  const std::vector<Meta::Dim>* shape() const {
    return input()->meta->shape ? &*input()->meta->shape : nullptr;
  }
  std::optional<std::size_t> dim(std::string_view argument) const {
    const auto given = integer(argument);
    if (!given) return std::nullopt;
    if (*given >= 0) return static_cast<std::size_t>(*given);
    if (shape() == nullptr) return std::nullopt;
    return static_cast<std::size_t>(*given + static_cast<std::int64_t>(shape()->size()));
  }
  // Returns whether the sizes are those of the input, or -1 in at most `unknown` places.
  bool keeps_sizes(std::string_view argument, std::size_t unknown) const {
    const Argument* sizes = find_argument(argument);
    const auto* list = sizes == nullptr ? nullptr : sizes->get_if<Argument::List>();
    if (list == nullptr || shape() == nullptr || list->items.size() != shape()->size()) return false;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const auto size = known_size(graph_, list->items[i]);
      if (!size) return false;
      if (*size == (*shape())[i]) continue;
      if (size->number() != -1 || unknown-- == 0) return false;
    }
    return true;
  }
  bool keeps_order(std::string_view argument) const {
    const Argument* dims = find_argument(argument);
    const auto* list = dims == nullptr ? nullptr : dims->get_if<Argument::List>();
    if (list == nullptr) return false;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      if (find_position(std::ssize(list->items), known_integer(graph_, list->items[i])) != i) return false;
    }
    return true;
  }

 private:
  const Graph& graph_;
  const Node& node_;
};

constexpr std::int64_t kPreserveFormat = 1;  // c10::MemoryFormat

bool keeps_format(const KnownCall& call) {
  const Argument* format = call.find_argument("memory_format");
  if (is_none(format) || *format == Argument(kPreserveFormat)) return true;
  const auto* named = format->get_if<Argument::MemoryFormat>();
  return named != nullptr && named->name == "preserve_format";
}

bool is_full_slice(const KnownCall& call) {
  const auto start = call.integer("start", 0);
  const auto end = call.integer("end", INT64_MAX);
  if (start != 0 || call.integer("step") != 1) return false;
  if (end == INT64_MAX) return true;
  const auto dim = call.dim("dim");
  if (!dim || call.shape() == nullptr || *dim >= call.shape()->size()) return false;
  const Meta::Dim& size = (*call.shape())[*dim];
  if (end && size.number()) return *end >= *size.number();
  // x[:n] of a tensor with n rows
  const auto* given = call.node_of(call.find_argument("end"));
  return given != nullptr && given->meta->kind() == ValueKind::kInt && given->meta->value == size;
}

bool same_dtype(const Meta& meta, const Argument* dtype) {
  return is_none(dtype) || (meta.has_dtype() && dtype_of(*dtype) == meta.dtype_text());
}

// A tensor with a known shape has a known device: the CPU, if none is recorded.
bool same_device(const Meta& meta, const Argument* device) {
  if (is_none(device)) return true;
  const auto* named = device->get_if<Argument::Device>();
  return named != nullptr && meta.shape && meta.device_or_cpu() == Device::named(named->name);
}

bool asks_for_copy(const KnownCall& call) {
  return (call.find_argument("copy") != nullptr && !call.is_off("copy")) || !keeps_format(call);
}

bool keeps_type(const KnownCall& call) {
  const Meta& meta = call.input()->meta;
  return !asks_for_copy(call) && is_none(call.find_argument("layout")) &&
         is_none(call.find_argument("pin_memory")) && same_dtype(meta, call.find_argument("dtype")) &&
         same_device(meta, call.find_argument("device"));
}

bool other_is_alike(const KnownCall& call, std::string_view argument) {
  const Node* other = call.node_of(call.find_argument(argument));
  if (other == nullptr || asks_for_copy(call)) return false;
  const Meta& a = call.input()->meta;
  const Meta& b = other->meta;
  return a.shape && b.shape && a.dtype && a.dtype == b.dtype && a.device == b.device;
}

bool swaps_nothing(const KnownCall& call) {
  const auto first = call.dim("dim0");
  return first && first == call.dim("dim1");
}

bool gives_input(const KnownCall& call, const IdentityRule& rule) {
  switch (rule.when) {
    case When::kNever:
      return false;
    case When::kAlways:
      return true;
    case When::kSameType:
      return keeps_type(call);
    case When::kSameTypeAsOther:
      return other_is_alike(call, rule.argument);
    case When::kSameAsOther:
      return other_is_alike(call, rule.argument) && call.shape() != nullptr &&
             *call.shape() == call.node_of(call.find_argument(rule.argument))->meta->shape;
    case When::kSameSizes:
      return call.keeps_sizes(rule.argument, 1);
    case When::kSameSizesOrAny:
      return call.keeps_sizes(rule.argument, SIZE_MAX);
    case When::kSameOrder:
      return call.keeps_order(rule.argument);
    case When::kSameDims:
      return swaps_nothing(call);
    case When::kOneDimension:
      return call.shape() != nullptr && call.shape()->size() == 1;
    case When::kFullRange:
      return is_full_slice(call);
    case When::kEvaluation: {
      const Argument* train = call.find_argument("train");
      return train != nullptr && *train == Argument(false);
    }
  }
  return false;
}

bool differs(const std::optional<std::string>& a, const std::optional<std::string>& b) {
  return a && b && *a != *b;
}

}  // namespace

bool gives_input(const Graph& graph, const Node& node, const OperatorEntry& info) {
  const KnownCall call(graph, node, info);
  return call.input() != nullptr && gives_input(call, info.identity);
}

bool converts(const Graph& graph, const Node& node, const OperatorEntry& info) {
  if ((info.traits & traits::kMayBeArgument) == 0) return false;
  const KnownCall call(graph, node, info);
  if (call.input() == nullptr) return false;
  if (call.find_argument("copy") != nullptr && *call.find_argument("copy") == Argument(true)) return true;
  const IdentityRule rule = info.identity;
  if (rule.when != When::kSameType && rule.when != When::kSameTypeAsOther) return false;
  const auto own = call.input()->meta->dtype_text();
  if (rule.when == When::kSameType) {
    const Argument* dtype = call.find_argument("dtype");
    return !is_none(dtype) && differs(dtype_of(*dtype), own);
  }
  const Node* other = call.node_of(call.find_argument(rule.argument));
  return other != nullptr && differs(other->meta->dtype_text(), own);
}

namespace {

// Returns whether the result may have the layout of an argument.
bool passes_layout_on(const OperatorEntry* info, const Effects& effects) {
  if (info == nullptr || !effects.shared.empty() || !effects.written.empty()) return true;
  return (info->traits & traits::kPointwise) != 0 || info->identity.copies;
}

}  // namespace

bool is_dense(const ModuleGraph& graph, Semantics& semantics, NodeId value) {
  const Node& node = graph.graph.node(value);
  if (node.op != Opcode::kCallFunction && node.op != Opcode::kCallModule) return false;
  const Effects effects = semantics.effects(graph, node);
  return !effects.is_unknown && effects.shared.empty();
}

bool layout_may_show(const ModuleGraph& graph, Semantics& semantics, NodeId value) {
  constexpr std::size_t kFarEnough = 100;
  std::vector<NodeId> seen{value};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen.size() > kFarEnough) return true;
    for (const NodeId user : graph.graph.node(seen[i]).users) {
      const Node& node = graph.graph.node(user);
      if (node.op == Opcode::kOutput || std::ranges::find(seen, user) != seen.end()) continue;
      const OperatorEntry* info =
          node.op == Opcode::kCallFunction ? semantics.find_operator(node.target) : nullptr;
      const Effects effects = semantics.effects(graph, node);
      if (effects.is_unknown || (info != nullptr && (info->traits & traits::kReadsLayout) != 0)) return true;
      if (passes_layout_on(info, effects)) seen.push_back(user);
    }
  }
  return false;
}

}  // namespace fxtrace::internal
