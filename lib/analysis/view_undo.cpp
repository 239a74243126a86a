#include "analysis/view_undo.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analysis/node_arguments.h"
#include "graph/rewrite.h"
#include "support/integers.h"

namespace fxtrace::internal {
namespace {

// Larger sizes do not occur in tensors; sums and products of these fit 64 bits.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40, kMaxParts = std::int64_t{1} << 20;

bool is_size(std::int64_t size) { return size >= 0 && size <= kMaxSize; }

std::vector<Argument> rest_of(const Node& node) {
  return std::vector<Argument>(node.args.begin() + 1, node.args.end());
}

// Returns whether the node is x[:], in any spelling.
bool is_whole(const Node& node) {
  if (node.target != "aten.slice.Tensor" || !node.kwargs.empty()) return false;
  const auto is = [&](std::size_t i, std::int64_t number) {
    return i >= node.args.size() || node.args[i].is<Argument::None>() || node.args[i] == Argument(number);
  };
  return is(2, 0) && is(3, INT64_MAX) && is(4, 1);
}

std::optional<std::vector<std::int64_t>> integers(const Argument* argument) {
  const auto* list = argument == nullptr ? nullptr : argument->get_if<Argument::List>();
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Argument& item : list->items) {
    const auto* number = item.get_if<std::int64_t>();
    if (number == nullptr) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<std::vector<Argument>> inverse_permutation(const Node& node, const OperatorEntry& info) {
  const auto dims = integers(NodeArguments(node, info).find_argument("dims"));
  if (!dims) return std::nullopt;
  Argument::List inverse;
  inverse.items.resize(dims->size());
  for (std::int64_t i = 0; i < std::ssize(*dims); ++i) {
    const auto from = find_position(std::ssize(*dims), (*dims)[static_cast<std::size_t>(i)]);
    if (!from) return std::nullopt;
    inverse.items[*from] = i;
  }
  return std::vector<Argument>{std::move(inverse)};
}

// The range of the n-th result of chunk, split or tensor_split, or the index that unbind took.
class Parts {
 public:
  Parts(const Graph& graph, const Node& node, const OperatorEntry& info)
      : graph_(graph), node_(node), schema_(info.schema), args_(node, info) {}

  std::optional<std::vector<Argument>> place(std::int64_t index) const {
    const auto dim = integer("dim");
    if (!dim || index < 0 || index >= kMaxParts) return std::nullopt;
    const bool is_chunk = schema_.find_formal("chunks") != nullptr;
    if (is_chunk || schema_.find_formal("sections") != nullptr) {
      const auto parts = integer(is_chunk ? "chunks" : "sections");
      const auto size = size_of_base(*dim);
      if (!parts || *parts <= 0 || !is_size(*parts) || !size || !is_size(*size)) return std::nullopt;
      return is_chunk ? chunk(*dim, index, *parts, *size) : section(*dim, index, *parts, *size);
    }
    if (schema_.find_formal("indices") != nullptr) {
      const auto indices = integers(args_.find_argument("indices"));
      if (!indices || index > static_cast<std::int64_t>(indices->size())) return std::nullopt;
      const auto at = static_cast<std::size_t>(index);
      return range(*dim, at == 0 ? 0 : (*indices)[at - 1],
                   at == indices->size() ? INT64_MAX : (*indices)[at]);
    }
    const SchemaArgument* given = schema_.find_formal("split_size");
    if (given == nullptr) given = schema_.find_formal("split_sizes");
    if (given == nullptr) return std::vector<Argument>{*dim, index};
    if (!given->type.is_list()) {
      const auto size = integer(given->name);
      if (!size || *size == 0 || !is_size(*size)) return std::nullopt;
      return range(*dim, index * *size, (index + 1) * *size);
    }
    const auto sizes = integers(args_.find_argument(given->name));
    if (!sizes || index >= static_cast<std::int64_t>(sizes->size())) return std::nullopt;
    if (!std::ranges::all_of(*sizes, is_size)) return std::nullopt;
    std::int64_t start = 0;
    for (std::int64_t i = 0; i < index; ++i) start += (*sizes)[static_cast<std::size_t>(i)];
    return range(*dim, start, start + (*sizes)[static_cast<std::size_t>(index)]);
  }

 private:
  static std::vector<Argument> range(std::int64_t dim, std::int64_t start, std::int64_t end) {
    return {dim, start, end};
  }
  static std::optional<std::vector<Argument>> chunk(std::int64_t dim, std::int64_t index, std::int64_t parts,
                                                    std::int64_t size) {
    const std::int64_t each = (size + parts - 1) / parts;
    if (each * index >= size) return std::nullopt;
    return range(dim, index * each, std::min(size, (index + 1) * each));
  }
  // The first size % parts sections have one element more.
  static std::optional<std::vector<Argument>> section(std::int64_t dim, std::int64_t index,
                                                      std::int64_t parts, std::int64_t size) {
    if (index >= parts) return std::nullopt;
    const auto start = [&](std::int64_t i) { return size / parts * i + std::min(i, size % parts); };
    return range(dim, start(index), start(index + 1));
  }
  std::optional<std::int64_t> integer(std::string_view name) const { return args_.integer(graph_, name); }
  std::optional<std::int64_t> size_of_base(std::int64_t dim) const {
    const auto* base = node_.args.front().get_if<NodeId>();
    const auto& shape = base == nullptr ? std::nullopt : graph_.node(*base).meta->shape;
    const auto at = shape ? find_position(std::ssize(*shape), dim) : std::nullopt;
    return at ? (*shape)[*at].number() : std::nullopt;
  }

  const Graph& graph_;
  const Node& node_;
  const Schema& schema_;
  NodeArguments args_;
};

std::optional<ViewUndo> undo_part(const Graph& graph, Semantics& semantics, const Node& item) {
  const auto* list = item.args.size() == 2 ? item.args[0].get_if<NodeId>() : nullptr;
  const auto* index = item.args.size() == 2 ? item.args[1].get_if<std::int64_t>() : nullptr;
  if (list == nullptr || index == nullptr) return std::nullopt;
  const Node& node = graph.node(*list);
  const OperatorEntry* info = semantics.find_operator(node.target);
  if (info == nullptr || node.args.empty()) return std::nullopt;
  const ViewInverse inverse = info->inverse;
  if (inverse.form != InverseForm::kPart) return std::nullopt;
  auto place = Parts(graph, node, *info).place(*index);
  if (!place) return std::nullopt;
  return ViewUndo{std::string(inverse.target), true, false, std::move(*place), true};
}

struct Unfolded {
  Windows windows;
  bool may_overlap = true;
};
// Returns nothing when a number is unknown, or the tensor has no dimensions.
std::optional<Unfolded> read_unfold(const Graph& graph, const Node& node, const OperatorEntry& info) {
  const NodeArguments args(node, info);
  const auto* base = node.args.front().get_if<NodeId>();
  const auto& shape = base == nullptr ? std::nullopt : graph.node(*base).meta->shape;
  const auto dim = args.integer(graph, "dimension"), size = args.integer(graph, "size"),
             step = args.integer(graph, "step");
  const auto at = shape ? find_position(std::ssize(*shape), dim) : std::nullopt;
  if (!at || !size || !step || !is_size(*size) || !is_size(*step) || *step == 0) {
    return std::nullopt;
  }
  const Meta::Dim& length = (*shape)[*at];
  const auto known = length.number();
  const bool is_one = known && is_size(*known) && *known - *size < *step;
  return Unfolded{{*at, shape->size(), length, *size, *step}, *size > *step && !is_one};
}

}  // namespace

bool may_overlap(const Graph& graph, Semantics& semantics, NodeId view) {
  const Node& node = graph.node(view);
  const OperatorEntry* info = semantics.find_operator(node.target);
  if (info == nullptr || node.args.empty()) return false;
  if (info->inverse.form != InverseForm::kWindows) return false;
  const auto unfolded = read_unfold(graph, node, *info);
  return unfolded && unfolded->may_overlap;
}

std::optional<ViewUndo> find_undo(const Graph& graph, Semantics& semantics, NodeId view) {
  const Node& node = graph.node(view);
  if (node.target == "operator.getitem") return undo_part(graph, semantics, node);
  const OperatorEntry* info = semantics.find_operator(node.target);
  if (info != nullptr && may_write(info->row)) {  // transpose_ makes the view that transpose gives
    const Operator* twin = info->twin;
    info = twin == nullptr ? nullptr : semantics.find_operator(twin->target());
  }
  if (info == nullptr || node.args.empty()) return std::nullopt;
  if (is_whole(node)) return ViewUndo{};
  const ViewInverse inverse = info->inverse;
  const std::string target(inverse.target);
  // Further arguments are passed on by position.
  const bool hands_on =
      inverse.form == InverseForm::kChangedRest || inverse.form == InverseForm::kBaseChangedRest;
  if (hands_on && !node.kwargs.empty()) return std::nullopt;
  switch (inverse.form) {
    case InverseForm::kNone:
      return std::nullopt;
    case InverseForm::kChanged:
      return target == "aten.alias.default" ? ViewUndo{} : ViewUndo{target, false, false, {}, false};
    case InverseForm::kChangedRest:
      return ViewUndo{target, false, false, rest_of(node), false};
    case InverseForm::kChangedBase:
      return ViewUndo{target, false, true, {}, false};
    case InverseForm::kBaseChangedRest:
      return ViewUndo{target, true, false, rest_of(node), false};
    case InverseForm::kPermutation:
      if (auto inverted = inverse_permutation(node, *info)) {
        return ViewUndo{target, false, false, std::move(*inverted), false};
      }
      return std::nullopt;
    case InverseForm::kSwappedRest:
      if (node.args.size() != 3 || !node.kwargs.empty()) return std::nullopt;
      return ViewUndo{target, false, false, {node.args[2], node.args[1]}, false};
    case InverseForm::kWindows: {
      const auto unfolded = read_unfold(graph, node, *info);
      if (!unfolded || unfolded->may_overlap) return std::nullopt;
      return ViewUndo{target, true, false, {}, false, unfolded->windows};
    }
    case InverseForm::kPart: {  // narrow: (x, dim, start, length)
      const NodeArguments args(node, *info);
      const Argument *dim = args.find_argument("dim"), *start = args.find_argument("start"),
                     *length = args.find_argument("length");
      const auto* from = start == nullptr ? nullptr : start->get_if<std::int64_t>();
      const auto* count = length == nullptr ? nullptr : length->get_if<std::int64_t>();
      if (dim == nullptr || from == nullptr || count == nullptr) return std::nullopt;
      if (!is_size(*count) || !is_size(*from < 0 ? ~*from : *from)) return std::nullopt;
      const bool to_the_end = *from < 0 && *from + *count == 0;
      return ViewUndo{target, true, false, {*dim, *from, to_the_end ? INT64_MAX : *from + *count}, false};
    }
  }
  return std::nullopt;
}

}  // namespace fxtrace::internal
