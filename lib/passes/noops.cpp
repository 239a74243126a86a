#include "passes/noops.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "operators/function_traits.h"
#include "operators/identities.h"
#include "operators/modules.h"
#include "passes/layout.h"
#include "passes/memory.h"
#include "passes/rewrite.h"
#include "shapes/scalar_type.h"

namespace fxtrace {
namespace {

// TorchScript has numbers in the place of dtypes and memory formats.
std::optional<std::string> dtype_of(const Argument& argument) {
  if (const auto* dtype = argument.get_if<Argument::Dtype>()) return dtype->name;
  const auto* number = argument.get_if<std::int64_t>();
  const Dtype type = number == nullptr ? Dtype{} : find_scalar_type(*number);
  return type ? std::optional(dtype_name(*type)) : std::nullopt;
}

bool is_none(const Argument* argument) { return argument == nullptr || argument->is<Argument::None>(); }

// One operation, and what is known of its arguments.
class Call {
 public:
  Call(const Graph& graph, const Node& node, const OperatorInfo& info)
      : graph_(graph), node_(node), info_(info) {}

  const Argument* find(std::string_view argument) const {
    return find_argument(node_, info_.schema, argument);
  }
  const Node* input() const { return node_of(node_.args.empty() ? nullptr : &node_.args.front()); }
  const Node* node_of(const Argument* argument) const {
    const auto* id = argument == nullptr ? nullptr : argument->get_if<NodeId>();
    return id == nullptr ? nullptr : &graph_.node(*id);
  }
  bool is_off(std::string_view argument) const {
    const Argument* given = find(argument);
    return is_none(given) || *given == Argument(false);
  }
  // Of an integer that may be left out.
  std::optional<std::int64_t> integer(std::string_view argument, std::int64_t otherwise) const {
    const Argument* given = find(argument);
    return is_none(given) ? std::optional(otherwise) : known_integer(graph_, *given);
  }
  // The input's.
  const std::vector<Meta::Dim>* shape() const {
    return input()->meta->shape ? &*input()->meta->shape : nullptr;
  }
  std::optional<std::size_t> dim(std::string_view argument, std::int64_t otherwise) const {
    const auto given = integer(argument, otherwise);
    if (!given) return std::nullopt;
    if (*given >= 0) return static_cast<std::size_t>(*given);
    if (shape() == nullptr) return std::nullopt;
    return static_cast<std::size_t>(*given + static_cast<std::int64_t>(shape()->size()));
  }
  // Whether the sizes are the input's, or -1 in at most `unknown` places.
  bool keeps_sizes(std::string_view argument, std::size_t unknown) const {
    const Argument* sizes = find(argument);
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
    const Argument* dims = find(argument);
    const auto* list = dims == nullptr ? nullptr : dims->get_if<Argument::List>();
    if (list == nullptr) return false;
    const auto rank = static_cast<std::int64_t>(list->items.size());
    for (std::int64_t i = 0; i < rank; ++i) {
      const auto dim = known_integer(graph_, list->items[static_cast<std::size_t>(i)]);
      if (!dim || (*dim < 0 ? *dim + rank : *dim) != i) return false;
    }
    return true;
  }

 private:
  const Graph& graph_;
  const Node& node_;
  const OperatorInfo& info_;
};

constexpr std::int64_t kPreserveFormat = 1;  // c10::MemoryFormat

bool keeps_format(const Call& call) {
  const Argument* format = call.find("memory_format");
  if (is_none(format) || *format == Argument(kPreserveFormat)) return true;
  const auto* named = format->get_if<Argument::MemoryFormat>();
  return named != nullptr && named->name == "preserve_format";
}

bool is_full_slice(const Call& call) {
  const auto start = call.integer("start", 0);
  const auto end = call.integer("end", INT64_MAX);
  if (start != 0 || call.integer("step", 1) != 1) return false;
  if (end == INT64_MAX) return true;
  const auto dim = call.dim("dim", 0);
  if (!dim || call.shape() == nullptr || *dim >= call.shape()->size()) return false;
  const Meta::Dim& size = (*call.shape())[*dim];
  if (end && size.number()) return *end >= *size.number();
  // x[:n] of a tensor with n rows
  const auto* given = call.node_of(call.find("end"));
  return given != nullptr && given->meta->kind() == ValueKind::kInt && given->meta->value == size;
}

bool same_dtype(const Meta& meta, const Argument* dtype) {
  return is_none(dtype) || (meta.dtype && dtype_of(*dtype) == meta.dtype);
}

// Of a tensor of which the shape is known the device is: the CPU, if nothing else is said.
bool same_device(const Meta& meta, const Argument* device) {
  if (is_none(device)) return true;
  const auto* named = device->get_if<Argument::Device>();
  return named != nullptr && meta.shape && meta.device.value_or("cpu") == named->name;
}

bool asks_for_copy(const Call& call) {
  return (call.find("copy") != nullptr && !call.is_off("copy")) || !keeps_format(call);
}

bool keeps_type(const Call& call) {
  const Meta& meta = call.input()->meta;
  return !asks_for_copy(call) && is_none(call.find("layout")) && is_none(call.find("pin_memory")) &&
         same_dtype(meta, call.find("dtype")) && same_device(meta, call.find("device"));
}

bool other_is_alike(const Call& call, std::string_view argument) {
  const Node* other = call.node_of(call.find(argument));
  if (other == nullptr || asks_for_copy(call)) return false;
  const Meta& a = call.input()->meta;
  const Meta& b = other->meta;
  return a.shape && b.shape && a.dtype && a.dtype == b.dtype && a.device == b.device;
}

bool swaps_nothing(const Call& call) {
  const auto first = call.dim("dim0", 0);
  return first && first == call.dim("dim1", 0);
}

bool gives_input(const Call& call, const IdentityRule& rule) {
  using When = IdentityRule::When;
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
             *call.shape() == call.node_of(call.find(rule.argument))->meta->shape;
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
      const Argument* train = call.find("train");
      return train != nullptr && *train == Argument(false);
    }
  }
  return false;
}

class RemoveNoops {
 public:
  RemoveNoops(ModuleGraph& graph, PassContext& context)
      : graph_(graph), semantics_(context.semantics), memory_(graph, context.semantics) {}

  void run() {
    for (const NodeId id : graph_.graph.order()) {
      const Node& node = graph_.graph.node(id);
      if (node.args.empty() || !node.args.front().is<NodeId>()) continue;
      const auto identity = node.op == Opcode::kCallModule ? leaf_identity(node) : call_identity(node);
      if (!identity || identity->gives >= node.args.size()) continue;
      const auto* input = node.args[identity->gives].get_if<NodeId>();
      if (input == nullptr || memory_.changes_shape(id) || memory_.changes_shape(*input)) continue;
      if (identity->copies && !is_copy_unseen(id, *input, *identity)) continue;
      keep_what_is_known(node.meta, *input);
      memory_.replace_copy(id, *input);
      replace_node(graph_, id, *input);
    }
  }

 private:
  struct Identity {
    std::size_t gives = 0;  // that argument
    bool copies = false, writes = false;
  };

  // Nothing where the node does something.
  std::optional<Identity> call_identity(const Node& node) {
    if (node.op != Opcode::kCallFunction) return std::nullopt;
    const OperatorInfo* info = semantics_.find_operator(node.target);
    if (info == nullptr) {
      const bool gives = (find_python_function(node.target).traits & function_traits::kIdentity) != 0;
      return gives && semantics_.effects(graph_, node).is_pure() ? std::optional(Identity{}) : std::nullopt;
    }
    const IdentityRule rule = identity_rule(*info->op);
    if (!gives_input(Call(graph_.graph, node, *info), rule)) return std::nullopt;
    return Identity{rule.gives, rule.copies, rule.writes};
  }
  std::optional<Identity> leaf_identity(const Node& node) {
    const ModuleTraits all = traits_of_module(node.scope->module_type.value_or(""));
    const bool gives = (all & module_traits::kIdentity) != 0;
    return gives && semantics_.effects(graph_, node).is_pure() ? std::optional(Identity{}) : std::nullopt;
  }

  // Nobody writes the one or the other while both are there, and none can tell their layouts.
  bool is_copy_unseen(NodeId copy, NodeId original, const Identity& identity) {
    if (memory_.same_region(copy, original) || memory_.is_written_after(original, copy)) return false;
    if (identity.writes ? !is_only_for_copy(graph_.graph.node(copy)) : memory_.is_written(copy)) return false;
    const bool may_both_go_out =
        memory_.is_given_back(copy) && (memory_.is_from_outside(original) || memory_.is_given_back(original));
    if (may_both_go_out) return false;
    const bool has_same_layout = identity.gives == 0 && is_dense(graph_, semantics_, original);
    return has_same_layout || !layout_may_show(graph_, semantics_, copy);
  }

  // What copy_ writes was made here, and is read only by what ran before it and kept nothing of it.
  bool is_only_for_copy(const Node& copy) {
    const NodeId target = std::get<NodeId>(copy.args.front().value);
    if (memory_.is_from_outside(target) || !is_dense(graph_, semantics_, target)) return false;
    if (memory_.is_written_after(target, graph_.graph.next(copy.id))) return false;
    return std::ranges::all_of(graph_.graph.node(target).users, [&](NodeId user) {
      if (user == copy.id) return true;
      if (memory_.position(user) > memory_.position(copy.id)) return false;
      const Node& node = graph_.graph.node(user);
      const Effects effects = semantics_.effects(graph_, node);
      return !effects.is_unknown && !effects.joins_inputs && (effects.shared.empty() || node.users.empty());
    });
  }

  void keep_what_is_known(const Meta& known, NodeId input) {
    Meta meta = graph_.graph.node(input).meta;
    if (!meta.shape) meta.shape = known.shape;
    if (!meta.dtype) meta.dtype = known.dtype;
    if (!meta.device) meta.device = known.device;
    if (meta != *graph_.graph.node(input).meta) graph_.graph.meta(input) = std::move(meta);
  }

  ModuleGraph& graph_;
  Semantics& semantics_;
  Memory memory_;
};

}  // namespace

void remove_noops(ModuleGraph& graph, PassContext& context) {
  context.for_each_graph(graph, [&](ModuleGraph& each) { RemoveNoops(each, context).run(); });
}

}  // namespace fxtrace
