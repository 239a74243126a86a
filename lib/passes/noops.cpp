#include "passes/noops.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "operators/modules.h"
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

  std::string_view name() const { return info_.op->name; }
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
    return input()->meta.shape ? &*input()->meta.shape : nullptr;
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
  return given != nullptr && given->meta.kind() == ValueKind::kInt && given->meta.value == size;
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

bool same_kind(const Meta& a, const Meta& b) {
  return a.shape && b.shape && a.dtype && a.dtype == b.dtype && a.device == b.device;
}

bool keeps_type(const Call& call) {
  const Argument* copy = call.find("copy");
  if (copy != nullptr && !call.is_off("copy")) return false;
  return keeps_format(call) && is_none(call.find("layout")) && is_none(call.find("pin_memory")) &&
         same_dtype(call.input()->meta, call.find("dtype")) &&
         same_device(call.input()->meta, call.find("device"));
}

// What the result is when nothing changes.
enum class Result : std::uint8_t {
  kInput,  // the input itself, or a view of all of it
  kCopy,   // its values in other memory
};

struct Row {
  std::string_view name;  // with its overload
  Result result;
  bool (*changes_nothing)(const Call&);
};

bool always(const Call&) { return true; }
bool other_is_alike(const Call& call) {
  const Node* other = call.node_of(call.find("other"));
  return other != nullptr && same_kind(call.input()->meta, other->meta);
}
bool is_dropout_in_eval(const Call& call) {
  const Argument* train = call.find("train");
  return train != nullptr && *train == Argument(false);
}
bool view_keeps_sizes(const Call& call) { return call.keeps_sizes("size", 1); }
bool is_dim_to_itself(const Call& call) {
  const auto first = call.dim("dim0", 0);
  return first && first == call.dim("dim1", 0);
}
bool is_flat(const Call& call) { return call.shape() != nullptr && call.shape()->size() == 1; }

constexpr Row kRows[] = {
    {"aten::_to_copy", Result::kCopy, keeps_type},
    {"aten::alias", Result::kInput, always},
    {"aten::clone", Result::kCopy, keeps_format},
    {"aten::detach", Result::kInput, always},
    {"aten::dropout", Result::kInput, is_dropout_in_eval},
    {"aten::expand", Result::kInput, [](const Call& call) { return call.keeps_sizes("size", SIZE_MAX); }},
    {"aten::feature_dropout", Result::kInput, is_dropout_in_eval},
    {"aten::flatten.using_ints", Result::kInput, is_flat},
    {"aten::lift_fresh", Result::kInput, always},
    {"aten::lift_fresh_copy", Result::kCopy, always},
    {"aten::permute", Result::kInput, [](const Call& call) { return call.keeps_order("dims"); }},
    {"aten::reshape", Result::kInput, [](const Call& call) { return call.keeps_sizes("shape", 1); }},
    {"aten::slice.Tensor", Result::kInput, is_full_slice},
    {"aten::to.device", Result::kInput, keeps_type},
    {"aten::to.dtype", Result::kInput, keeps_type},
    {"aten::to.dtype_layout", Result::kInput, keeps_type},
    {"aten::to.other", Result::kInput,
     [](const Call& call) { return call.is_off("copy") && keeps_format(call) && other_is_alike(call); }},
    {"aten::transpose.int", Result::kInput, is_dim_to_itself},
    {"aten::type_as", Result::kInput, other_is_alike},
    {"aten::view", Result::kInput, view_keeps_sizes},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

class RemoveNoops {
 public:
  RemoveNoops(ModuleGraph& graph, PassContext& context)
      : graph_(graph), semantics_(context.semantics), memory_(graph, context.semantics) {}

  void run() {
    for (const NodeId id : graph_.graph.order()) {
      const Node& node = graph_.graph.node(id);
      const auto* input = node.args.empty() ? nullptr : node.args.front().get_if<NodeId>();
      if (input == nullptr || memory_.changes_shape(id) || memory_.changes_shape(*input)) continue;
      const auto result = node.op == Opcode::kCallFunction ? call_result(node) : module_result(node);
      if (!result || (*result == Result::kCopy && !is_copy_unseen(id, *input))) continue;
      keep_what_is_known(node.meta, graph_.graph.meta(*input));
      replace_node(graph_, id, *input);
    }
  }

 private:
  std::optional<Result> call_result(const Node& node) {
    const OperatorInfo* info = semantics_.find_operator(node.target);
    if (info == nullptr) return function_result(node);
    const auto row = std::ranges::lower_bound(kRows, info->op->name, {}, &Row::name);
    if (row == std::end(kRows) || row->name != info->op->name) return std::nullopt;
    return row->changes_nothing(Call(graph_.graph, node, *info)) ? std::optional(row->result) : std::nullopt;
  }

  // Dropout that is kept as a call: without effects it gives back its argument.
  std::optional<Result> function_result(const Node& node) {
    const bool is_dropout =
        node.target.starts_with("torch.nn.functional.") && node.target.ends_with("dropout");
    if (!is_dropout || !semantics_.effects(graph_, node).is_pure()) return std::nullopt;
    return Result::kInput;
  }

  std::optional<Result> module_result(const Node& node) {
    if (node.op != Opcode::kCallModule) return std::nullopt;
    const std::string_view type = node.scope.module_type ? *node.scope.module_type : std::string_view();
    const bool gives_input =
        type == "torch.nn.modules.linear.Identity" || type.starts_with("torch.nn.modules.dropout.");
    if (!gives_input || !semantics_.effects(graph_, node).is_pure()) return std::nullopt;
    return Result::kInput;
  }

  // Nobody writes the one or the other while both are there.
  bool is_copy_unseen(NodeId copy, NodeId original) const {
    if (memory_.is_written_after(original, copy) || memory_.is_written(copy)) return false;
    return !memory_.is_given_back(copy) ||
           (!memory_.is_from_outside(original) && !memory_.is_given_back(original));
  }

  static void keep_what_is_known(const Meta& known, Meta& of_input) {
    if (!of_input.shape) of_input.shape = known.shape;
    if (!of_input.dtype) of_input.dtype = known.dtype;
    if (!of_input.device) of_input.device = known.device;
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
