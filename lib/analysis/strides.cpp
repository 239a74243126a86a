#include "analysis/strides.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

#include "analysis/identity_call.h"
#include "analysis/node_arguments.h"
#include "graph/rewrite.h"
#include "support/text/identifier.h"

namespace fxtrace {
namespace {

using Sizes = std::vector<SymInt>;
using Numbers = std::vector<std::int64_t>;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

Sizes dense_strides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::optional<Numbers> numbers(const Sizes& sizes) {
  Numbers all;
  for (const SymInt& size : sizes) {
    const auto number = size.number();
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // products of two fit
    if (!number || *number < 0 || *number > kMost) return std::nullopt;
    all.push_back(*number);
  }
  return all;
}

// Returns nothing when it depends on unknown sizes.
std::optional<bool> is_contiguous(const Sizes& sizes, const Sizes& strides) {
  if (strides == dense_strides(sizes)) return true;
  const auto extents = numbers(sizes), steps = numbers(strides);
  if (!extents || !steps) return std::nullopt;
  if (std::ranges::count(*extents, 0) > 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = extents->size(); i-- > 0;) {
    if ((*extents)[i] == 1) continue;
    if ((*steps)[i] != expected) return false;
    expected *= (*extents)[i];
  }
  return true;
}

// Returns whether the elements fill one block of memory without gaps or overlaps: tensors made like it then
// have its strides.
bool is_dense(const Sizes& sizes, const Sizes& strides) {
  if (is_contiguous(sizes, strides) == true) return true;
  const auto extents = numbers(sizes), steps = numbers(strides);
  if (!extents || !steps) return false;
  std::vector<std::size_t> order(extents->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return (*extents)[i] == 1; });
  std::ranges::sort(order, {}, [&](std::size_t i) { return (*steps)[i]; });
  std::int64_t expected = 1;
  for (const std::size_t i : order) {
    if ((*steps)[i] != expected) return false;
    expected *= (*extents)[i];
  }
  return true;
}

struct View {
  bool is_view = false;
  Sizes strides;  // the strides of the view
};
// Returns the view of these sizes, as at::detail::computeStride (ATen/TensorUtils.cpp) does; nothing when it
// depends on unknown sizes.
std::optional<View> view_as(const Sizes& sizes, const Sizes& strides, const Sizes& to) {
  const auto contiguous = is_contiguous(sizes, strides);
  if (contiguous == true) return View{true, dense_strides(to)};
  const auto old_sizes = numbers(sizes), old_strides = numbers(strides), wanted = numbers(to);
  if (!contiguous || !wanted || !old_sizes || old_sizes->empty()) return std::nullopt;
  Sizes result(wanted->size());
  auto view = static_cast<std::ptrdiff_t>(wanted->size()) - 1;
  const auto at = [](const Numbers& all, std::ptrdiff_t i) { return all[static_cast<std::size_t>(i)]; };
  std::int64_t base = old_strides->back();
  std::int64_t elements = 1, viewed = 1;
  for (std::ptrdiff_t i = std::ssize(*old_sizes) - 1; i >= 0; --i) {
    elements *= at(*old_sizes, i);
    const bool ends = i == 0 || (at(*old_sizes, i - 1) != 1 && at(*old_strides, i - 1) != elements * base);
    if (!ends) continue;
    while (view >= 0 && (viewed < elements || at(*wanted, view) == 1)) {
      result[static_cast<std::size_t>(view)] = viewed * base;
      viewed *= at(*wanted, view);
      --view;
    }
    if (viewed != elements) return View{};
    if (i > 0) {
      base = at(*old_strides, i - 1);
      elements = viewed = 1;
    }
  }
  if (view != -1) return View{};
  return View{true, std::move(result)};
}

std::optional<std::size_t> place(std::optional<std::int64_t> dim, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (!dim || *dim < -size || *dim >= size) return std::nullopt;
  return static_cast<std::size_t>(*dim < 0 ? *dim + size : *dim);
}

void swap(Sizes& all, std::size_t a, std::size_t b) { std::swap(all[a], all[b]); }
void drop(Sizes& all, std::size_t i) { all.erase(all.begin() + static_cast<std::ptrdiff_t>(i)); }

// The memory format that the call requests.
enum class Order : std::uint8_t { kNone, kPreserved, kContiguous, kOther };
Order order_of(const Node& node, const OperatorEntry& info) {
  const Argument* format = NodeArguments(node, info).find_argument("memory_format");
  if (format == nullptr || format->is<Argument::None>()) return Order::kNone;
  const auto* named = format->get_if<Argument::MemoryFormat>();
  // TorchScript writes memory formats as numbers.
  if (*format == Argument(0) || (named != nullptr && named->name == "contiguous_format"))
    return Order::kContiguous;
  if (*format == Argument(1) || (named != nullptr && named->name == "preserve_format"))
    return Order::kPreserved;
  return Order::kOther;
}

std::string_view base_name(const OperatorEntry& info) {
  std::string_view name = info.row->base_name();
  constexpr std::string_view kAten = "aten::";
  return name.starts_with(kAten) ? name.substr(kAten.size()) : std::string_view();
}

bool is_reshape(std::string_view name) {
  return is_one_of(name, {"reshape", "reshape_as", "flatten", "ravel"});
}

}  // namespace

const Strides::Known* Strides::find_known(const Argument& argument) const {
  const auto* id = argument.get_if<NodeId>();
  const auto found = id == nullptr ? known_.end() : known_.find(id->index);
  return found == known_.end() ? nullptr : &found->second;
}

const Strides::Known* Strides::find_first(const Node& node) const {
  return node.args.empty() ? nullptr : find_known(node.args.front());
}

Strides::Reshaped Strides::reshaped(const Node& node) {
  using Kind = Reshaped::Kind;
  try {
    for (NodeId id = is_read_ ? NodeId() : graph_.graph.first(); id.valid(); id = graph_.graph.next(id)) {
      if (auto strides = strides_of(graph_.graph.node(id))) known_.emplace(id.index, *std::move(strides));
    }
    is_read_ = true;
    const OperatorEntry* info = semantics_.find_operator(node.target);
    const Known* base = find_first(node);
    const auto sizes = node.meta->sizes();
    if (info == nullptr || base == nullptr || !sizes) return {};
    Reshaped result;
    if (base_name(*info) == "contiguous" && order_of(node, *info) <= Order::kContiguous) {
      const auto is_so = is_contiguous(base->sizes, base->strides);
      if (is_so) result.kind = *is_so ? Kind::kSame : Kind::kCopy;
    } else if (is_reshape(base_name(*info))) {
      const auto view = view_as(base->sizes, base->strides, *sizes);
      if (view) result.kind = view->is_view ? Kind::kView : Kind::kCopy;
    }
    for (const std::uint32_t input : base->inputs) result.contiguous.push_back(NodeId{input});
    return result;
  } catch (const SymbolicError&) {
    return {};
  }
}

std::optional<Strides::Known> Strides::strides_of(const Node& node) {
  auto sizes = node.meta->sizes();
  if (!sizes || node.meta->kind() != ValueKind::kTensor) return std::nullopt;
  if (memory_.has_memory(node.id) && memory_.changes_shape(node.id)) return std::nullopt;
  if (node.op == Opcode::kPlaceholder) {
    if (is_subgraph_ || !is_identifier(*node.target)) return std::nullopt;
    Sizes strides = dense_strides(*sizes);
    return Known{*std::move(sizes), std::move(strides), {node.id.index}};
  }
  if (node.op != Opcode::kCallFunction) return std::nullopt;
  if (node.target == "operator.getitem") return of_item(node);
  const OperatorEntry* info = semantics_.find_operator(node.target);
  return info == nullptr ? std::nullopt : of_operator(node, *info, *std::move(sizes));
}

std::optional<Strides::Known> Strides::of_operator(const Node& node, const OperatorEntry& info, Sizes sizes) {
  const Known* first = find_first(node);
  const auto copy_of_first = [&]() -> std::optional<Known> {
    return first == nullptr ? std::nullopt : std::optional(*first);
  };
  if (may_write(info.row)) {
    const bool is_first = !info.schema.arguments.empty() && info.schema.arguments.front().is_written;
    return is_first && (info.traits & traits::kChangesShape) == 0 ? copy_of_first() : std::nullopt;
  }
  const std::string_view name = base_name(info);
  const Order order = order_of(node, info);
  const bool is_made_anew = (info.traits & traits::kMakesContiguous) != 0 || order == Order::kContiguous;
  if (is_made_anew && name != "contiguous" && name != "to") {
    if (order != Order::kNone && order != Order::kContiguous) return std::nullopt;
    Sizes strides = dense_strides(sizes);
    return Known{std::move(sizes), std::move(strides), {}};
  }
  // A tensor made like the first argument has its strides if those are dense.
  const bool is_like =
      is_one_of(name, {"clone", "lift_fresh_copy", "_to_copy", "empty_like", "full_like", "ones_like",
                       "rand_like", "randint_like", "randn_like", "zeros_like"}) ||
      (name == "to" && converts(graph_.graph, node, info));
  if (is_like) {
    const bool keeps =
        first != nullptr && order <= Order::kPreserved && is_dense(first->sizes, first->strides);
    return keeps ? copy_of_first() : std::nullopt;
  }
  if (auto view = of_view(node, info, sizes)) return view;
  if ((info.traits & traits::kPointwise) == 0 || !info.aliases.empty() || info.schema.results.size() != 1)
    return std::nullopt;
  return of_pointwise(node, sizes);
}

std::optional<Strides::Known> Strides::of_pointwise(const Node& node, const Sizes& sizes) const {
  std::optional<Known> result;
  bool is_certain = true, has_other = false;
  for_each_input(node, [&](NodeId input) {
    const Meta& meta = graph_.graph.node(input).meta;
    const ValueKind kind = meta.kind();
    if (kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool) return;
    if (meta.shape && meta.shape->empty()) return void(has_other = true);
    const Known* known = find_known(Argument(input));
    if (known == nullptr || known->sizes != sizes) return void(is_certain = false);
    if (!result) {
      result = *known;
    } else {
      is_certain = is_certain && result->strides == known->strides;
      result->inputs.insert(known->inputs.begin(), known->inputs.end());
    }
  });
  if (!is_certain || !result) return std::nullopt;
  const bool keeps = has_other ? result->strides == dense_strides(sizes) : is_dense(sizes, result->strides);
  return keeps ? result : std::nullopt;
}

std::optional<Strides::Known> Strides::of_view(const Node& node, const OperatorEntry& info,
                                               const Sizes& sizes) const {
  const Known* base = find_first(node);
  if (base == nullptr) return std::nullopt;
  const std::string_view name = base_name(info);
  const std::size_t rank = base->sizes.size();
  const NodeArguments args(node, info);
  const auto integer = [&](std::string_view argument) { return args.integer(graph_.graph, argument); };
  Known view = *base;
  if (name == "alias" || name == "detach") return view;
  if (name == "contiguous" || is_reshape(name) || is_one_of(name, {"view", "view_as", "unflatten"})) {
    if (args.find_argument("dtype") != nullptr || order_of(node, info) > Order::kContiguous)
      return std::nullopt;
    const auto seen = view_as(base->sizes, base->strides, sizes);
    if (!seen || (!seen->is_view && !is_reshape(name) && name != "contiguous")) return std::nullopt;
    const bool is_dense = !seen->is_view || name == "contiguous";
    return Known{sizes, is_dense ? dense_strides(sizes) : seen->strides, view.inputs};
  }
  view.sizes = sizes;
  if (is_one_of(name, {"transpose", "swapaxes", "swapdims", "mT", "t", "numpy_T"})) {
    const bool is_named = name != "mT" && name != "t" && name != "numpy_T";
    if (!is_named && rank < 2) return view;
    if (name == "numpy_T") {
      std::ranges::reverse(view.strides);
      return view;
    }
    const std::string_view first = name == "swapaxes" ? "axis0" : "dim0",
                           second = name == "swapaxes" ? "axis1" : "dim1";
    const auto a = place(is_named ? integer(first) : -2, rank),
               b = place(is_named ? integer(second) : -1, rank);
    if (!a || !b) return std::nullopt;
    swap(view.strides, *a, *b);
    return view;
  }
  if (name == "permute") {
    const Argument* given = args.find_argument("dims");
    const auto* dims = given == nullptr ? nullptr : given->get_if<Argument::List>();
    if (dims == nullptr || dims->items.size() != rank) return std::nullopt;
    for (std::size_t i = 0; i < rank; ++i) {
      const auto from = place(known_integer(graph_.graph, dims->items[i]), rank);
      if (!from) return std::nullopt;
      view.strides[i] = base->strides[*from];
    }
    return view;
  }
  if (name == "unsqueeze") {
    const auto at = place(integer("dim"), rank + 1);
    if (!at) return std::nullopt;
    const SymInt stride = *at < rank ? base->sizes[*at] * base->strides[*at] : SymInt(1);
    view.strides.insert(view.strides.begin() + static_cast<std::ptrdiff_t>(*at), stride);
    return view;
  }
  if (name == "select" || name == "slice" || name == "narrow") {
    const auto at = place(integer("dim"), rank);
    const auto step = name == "slice" ? integer("step") : std::optional<std::int64_t>(1);
    if (!at || !step) return std::nullopt;
    if (name == "select") {
      drop(view.strides, *at);
    } else {
      view.strides[*at] = view.strides[*at] * *step;
    }
    return view;
  }
  if (name == "expand" && sizes.size() >= rank) {
    view.strides.insert(view.strides.begin(), sizes.size() - rank, 0);
    for (std::size_t i = sizes.size() - rank; i < sizes.size(); ++i) {
      const SymInt& before = base->sizes[i - (sizes.size() - rank)];
      if (before == sizes[i]) continue;
      if (before.number() != 1) return std::nullopt;
      view.strides[i] = 0;
    }
    return view;
  }
  return std::nullopt;
}

// Returns the strides of an item of chunk, split, tensor_split or unbind.
std::optional<Strides::Known> Strides::of_item(const Node& node) const {
  const auto* list = node.args.size() == 2 ? node.args.front().get_if<NodeId>() : nullptr;
  if (list == nullptr || graph_.graph.node(*list).op != Opcode::kCallFunction) return std::nullopt;
  const Node& made_by = graph_.graph.node(*list);
  const OperatorEntry* info = semantics_.find_operator(made_by.target);
  const Known* base = find_first(made_by);
  auto sizes = node.meta->sizes();
  if (info == nullptr || base == nullptr || !sizes) return std::nullopt;
  Known view = *base;
  view.sizes = *std::move(sizes);
  const std::string_view name = base_name(*info);
  if (is_one_of(name, {"chunk", "split", "split_with_sizes", "tensor_split"})) return view;
  if (name != "unbind") return std::nullopt;
  const auto at = place(NodeArguments(made_by, *info).integer(graph_.graph, "dim"), base->sizes.size());
  if (!at) return std::nullopt;
  drop(view.strides, *at);
  return view;
}

}  // namespace fxtrace
