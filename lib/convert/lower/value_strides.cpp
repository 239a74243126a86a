#include "convert/lower/value_strides.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "convert/lower/written_program.h"
#include "operators/names/name_rows.h"
#include "opinfo/traits.h"
#include "symbolic/sym_int.h"

namespace fxtrace {
namespace {

using Sizes = std::vector<SymInt>;
using Order = std::vector<std::size_t>;  // dimensions, the innermost first

struct Tensor {
  Sizes sizes, strides;
};

// The number of elements that an open size stands for where strides are compared.
constexpr std::int64_t kExample = 7;

std::int64_t example_of(const SymInt& size) {
  if (const auto number = size.number()) return *number;
  std::map<std::string, std::int64_t> values;
  for (const std::string& name : size.symbols()) values.emplace(name, kExample);
  return size.evaluate(values).value_or(kExample);
}

Sizes dense_in(const Order& order, const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  SymInt row = 1;
  for (const std::size_t dim : order) {
    strides[dim] = row;
    row = row * max(SymInt(1), sizes[dim]);
  }
  return strides;
}

Order rows_of(std::size_t rank) {
  Order order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

Sizes contiguous(const Sizes& sizes) { return dense_in(rows_of(sizes.size()), sizes); }

// Returns the strides of channels_last for images and volumes: channels, the second dimension, are the
// innermost.
std::optional<Sizes> channels_last(const Sizes& sizes) {
  if (sizes.size() != 4 && sizes.size() != 5) return std::nullopt;
  Order order{1};
  for (std::size_t dim = sizes.size(); dim-- > 2;) order.push_back(dim);
  order.push_back(0);
  return dense_in(order, sizes);
}

bool has_strides(const Tensor& tensor, const Sizes& strides) {
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (example_of(tensor.sizes[i]) != 1 && tensor.strides[i] != strides[i]) return false;
  }
  return true;
}

bool is_contiguous(const Tensor& tensor) { return has_strides(tensor, contiguous(tensor.sizes)); }

// Returns whether the tensor suggests channels_last, as c10::TensorImpl decides it.
bool is_channels_last(const Tensor& tensor) {
  const auto strides = channels_last(tensor.sizes);
  return strides && !is_contiguous(tensor) && has_strides(tensor, *strides);
}

// Returns whether the elements fill one piece of memory without gaps or overlaps.
bool is_dense(const Tensor& tensor) {
  Order order;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (example_of(tensor.sizes[i]) != 1) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return example_of(tensor.strides[i]); });
  std::int64_t expected = 1;
  for (const std::size_t i : order) {
    if (example_of(tensor.strides[i]) != expected) return false;
    expected *= example_of(tensor.sizes[i]);
  }
  return true;
}

// Returns the strides of a pointwise result, as TensorIteratorBase::reorder_dimensions() does
// (aten/src/ATen/TensorIterator.cpp).
Sizes of_pointwise(const std::vector<Tensor>& inputs, const Sizes& sizes) {
  const std::size_t rank = sizes.size();
  const bool are_alike =
      std::ranges::all_of(inputs, [&](const Tensor& input) { return input.sizes == sizes; });
  if (are_alike && !inputs.empty()) {
    const auto all = [&](auto&& holds) { return std::ranges::all_of(inputs, holds); };
    if (all(is_contiguous)) return contiguous(sizes);
    if (all(is_channels_last)) return *channels_last(sizes);
    const Tensor& first = inputs.front();
    if (all([&](const Tensor& input) { return input.strides == first.strides && is_dense(input); }))
      return first.strides;
  }
  std::vector<std::vector<std::int64_t>> strides;  // strides of the inputs, broadcast
  for (const Tensor& input : inputs) {
    auto& own = strides.emplace_back(rank, 0);
    if (input.sizes.size() > rank) return contiguous(sizes);
    const std::size_t missing = rank - input.sizes.size();
    for (std::size_t i = missing; i < rank; ++i) {
      const bool is_spread = example_of(input.sizes[i - missing]) == 1 && example_of(sizes[i]) != 1;
      if (!is_spread) own[i] = example_of(input.strides[i - missing]);
    }
  }
  const auto should_swap = [&](std::size_t inner, std::size_t outer) {
    for (const auto& own : strides) {
      const std::int64_t a = own[inner], b = own[outer];
      if (a == 0 || b == 0) continue;
      if (a != b) return a < b ? -1 : 1;
      if (example_of(sizes[inner]) > example_of(sizes[outer])) return 1;
    }
    return 0;
  };
  Order order = rows_of(rank);
  for (std::size_t i = 1; i < rank; ++i) {
    std::size_t at = i;
    for (std::size_t before = i; before-- > 0;) {
      const int comparison = should_swap(order[before], order[at]);
      if (comparison > 0) {
        std::swap(order[before], order[at]);
        at = before;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return dense_in(order, sizes);
}

// Returns the strides of a view of these sizes, as at::detail::computeStride() does
// (aten/src/ATen/TensorUtils.cpp); nothing if the tensor has no such view.
std::optional<Sizes> of_view(const Tensor& tensor, const Sizes& to) {
  if (is_contiguous(tensor)) return contiguous(to);
  if (tensor.sizes.empty()) return contiguous(to);
  Sizes result(to.size(), 1);
  auto view = static_cast<std::ptrdiff_t>(to.size()) - 1;
  const auto at = [](const Sizes& all, std::ptrdiff_t i) { return all[static_cast<std::size_t>(i)]; };
  SymInt base = tensor.strides.back(), elements = 1, viewed = 1;
  for (std::ptrdiff_t i = std::ssize(tensor.sizes) - 1; i >= 0; --i) {
    elements = elements * at(tensor.sizes, i);
    const bool ends =
        i == 0 || (example_of(at(tensor.sizes, i - 1)) != 1 && at(tensor.strides, i - 1) != elements * base);
    if (!ends) continue;
    while (view >= 0 && (example_of(viewed) < example_of(elements) || example_of(at(to, view)) == 1)) {
      result[static_cast<std::size_t>(view)] = viewed * base;
      viewed = viewed * at(to, view);
      --view;
    }
    if (example_of(viewed) != example_of(elements)) return std::nullopt;
    if (i > 0) {
      base = at(tensor.strides, i - 1);
      elements = viewed = 1;
    }
  }
  if (view != -1) return std::nullopt;
  return result;
}

class Rules {
 public:
  Rules(const ProgramView& graph, NodeId operation) : graph_(graph), operation_(graph.node(operation)) {}

  std::optional<Tensor> tensor(const Argument& operand) const {
    const auto* id = operand.get_if<NodeId>();
    return id == nullptr ? std::nullopt : tensor(*id);
  }
  std::optional<Tensor> tensor(NodeId id) const {
    auto sizes = graph_.meta(id).sizes();
    if (!sizes) return std::nullopt;
    Tensor result{*std::move(sizes), {}};
    for (const Expression& stride : strides_of(graph_, id)) {
      if (stride.size() == nullptr) return std::nullopt;
      result.strides.push_back(*stride.size());
    }
    if (result.strides.size() != result.sizes.size()) return std::nullopt;
    return result;
  }
  std::optional<Tensor> first() const {
    return operation_.args.empty() ? std::nullopt : tensor(operation_.args.front());
  }
  const Argument* argument(std::size_t place, std::string_view name = {}) const {
    return find_argument(operation_, place, name);
  }
  std::optional<SymInt> size(std::size_t place, std::string_view name = {}) const {
    const Argument* given = argument(place, name);
    if (given == nullptr) return std::nullopt;
    if (const auto* number = given->get_if<std::int64_t>()) return SymInt(*number);
    const auto* id = given->get_if<NodeId>();
    if (id == nullptr) return std::nullopt;
    const auto& value = graph_.meta(*id).value;
    return !value || value->size() == nullptr ? std::nullopt : std::optional(*value->size());
  }
  std::optional<std::int64_t> number(std::size_t place, std::string_view name = {}) const {
    const auto given = size(place, name);
    return given ? given->number() : std::nullopt;
  }
  std::optional<std::size_t> dim(std::size_t place, std::string_view name, std::size_t rank,
                                 std::int64_t otherwise = INT64_MAX) const {
    return wrapped(argument(place, name) == nullptr ? otherwise : number(place, name), rank);
  }
  static std::optional<std::size_t> wrapped(std::optional<std::int64_t> dim, std::size_t rank) {
    const auto end = static_cast<std::int64_t>(rank);
    if (!dim || *dim < -end || *dim >= end) return std::nullopt;
    return static_cast<std::size_t>(*dim < 0 ? *dim + end : *dim);
  }
  // Returns the dimensions of an argument that is a list or a single one.
  std::optional<Order> dims(std::size_t place, std::string_view name, std::size_t rank) const {
    const Argument* given = argument(place, name);
    if (given == nullptr) return std::nullopt;
    Order result;
    const auto add = [&](const Argument& each) {
      const auto* number = each.get_if<std::int64_t>();
      const auto at = number == nullptr ? std::nullopt : wrapped(*number, rank);
      if (at) result.push_back(*at);
      return at.has_value();
    };
    if (const auto* items = items_of(*given)) {
      if (!std::ranges::all_of(*items, add)) return std::nullopt;
    } else if (!add(*given)) {
      return std::nullopt;
    }
    return result;
  }
  std::string memory_format() const {
    for (const Argument& given : operation_.args) {
      if (const auto* format = given.get_if<Argument::MemoryFormat>()) return format->name;
    }
    for (const auto& [name, given] : operation_.kwargs) {
      if (const auto* format = given.get_if<Argument::MemoryFormat>()) return format->name;
    }
    return {};
  }
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> result;
    for_each_input(operation_, [&](NodeId id) {
      if (graph_.meta(id).kind() != ValueKind::kTensor) return;
      if (auto given = tensor(id)) result.push_back(*std::move(given));
    });
    return result;
  }
  const std::string& target() const { return *operation_.target; }
  const Node& operation() const { return operation_; }
  // The metadata of the first argument, a tensor.
  const Meta& first_meta() const { return graph_.meta(*operation_.args[0].get_if<NodeId>()); }

 private:
  const ProgramView& graph_;
  const Node& operation_;
};

using OptionalStrides = std::optional<Sizes>;
// A rule: `sizes` are those of the result, `base` is the first argument.
using Rule = OptionalStrides (*)(const Rules& rules, const Tensor& base, const Sizes& sizes);

template <class T>
void erase_at(std::vector<T>& all, std::size_t i) {
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
}
template <class T>
void insert_at(std::vector<T>& all, std::size_t i, T value) {
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(i), std::move(value));
}

OptionalStrides same_strides(const Rules&, const Tensor& base, const Sizes& sizes) {
  if (base.sizes.size() != sizes.size()) return {};
  return base.strides;
}

OptionalStrides transposed(const Rules& rules, const Tensor& base, const Sizes&) {
  const std::size_t rank = base.sizes.size();
  const auto a = rules.dim(1, "dim0", rank, -2), b = rules.dim(2, "dim1", rank, -1);
  Sizes strides = base.strides;
  if (rules.argument(1) == nullptr && rank < 2) return strides;  // t
  if (!a || !b) return {};
  std::swap(strides[*a], strides[*b]);
  return strides;
}

OptionalStrides reversed(const Rules&, const Tensor& base, const Sizes&) {
  return Sizes(base.strides.rbegin(), base.strides.rend());
}

OptionalStrides permuted(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const auto dims = rules.dims(1, "dims", sizes.size());
  if (!dims || dims->size() != base.strides.size()) return {};
  Sizes strides;
  for (const std::size_t dim : *dims) strides.push_back(base.strides[dim]);
  return strides;
}

OptionalStrides moved_dims(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const std::size_t rank = sizes.size();
  const auto from = rules.dims(1, "source", rank), to = rules.dims(2, "destination", rank);
  if (!from || !to || from->size() != to->size()) return {};
  Sizes strides(rank, 0);
  std::vector<bool> is_taken(rank), is_set(rank);
  for (std::size_t i = 0; i < from->size(); ++i) {
    strides[(*to)[i]] = base.strides[(*from)[i]];
    is_taken[(*from)[i]] = is_set[(*to)[i]] = true;
  }
  for (std::size_t at = 0, next = 0; at < rank; ++at) {
    if (is_set[at]) continue;
    while (is_taken[next]) ++next;
    strides[at] = base.strides[next++];
  }
  return strides;
}

OptionalStrides expanded(const Rules&, const Tensor& base, const Sizes& sizes) {
  if (sizes.size() < base.sizes.size()) return {};
  const std::size_t added = sizes.size() - base.sizes.size();
  Sizes strides = contiguous(sizes);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const bool is_new = i < added;
    if (is_new || (example_of(base.sizes[i - added]) == 1 && example_of(sizes[i]) != 1))
      strides[i] = 0;
    else
      strides[i] = base.strides[i - added];
  }
  return strides;
}

// Rule of real() and imag(): every other number, where there are two.
OptionalStrides complex_part(const Rules& rules, const Tensor& base, const Sizes&) {
  const Dtype dtype = rules.first_meta().dtype;
  if (!dtype) return {};
  Sizes strides = base.strides;
  for (SymInt& stride : strides) stride = stride * (is_complex(*dtype) ? 2 : 1);
  return strides;
}

OptionalStrides sliced(const Rules& rules, const Tensor& base, const Sizes&) {
  const auto dim = rules.dim(1, "dim", base.sizes.size(), 0);
  const bool has_step = rules.target().starts_with("aten.slice.") && rules.argument(4, "step") != nullptr;
  const auto step = has_step ? rules.size(4, "step") : std::optional(SymInt(1));
  if (!dim || !step) return {};
  Sizes strides = base.strides;
  strides[*dim] = strides[*dim] * *step;
  return strides;
}

OptionalStrides selected(const Rules& rules, const Tensor& base, const Sizes&) {
  const auto dim = rules.dim(1, "dim", base.sizes.size(), 0);
  if (!dim) return {};
  Sizes strides = base.strides;
  erase_at(strides, *dim);
  return strides;
}

OptionalStrides unsqueezed(const Rules& rules, const Tensor& base, const Sizes&) {
  const std::size_t rank = base.sizes.size();
  const auto dim = rules.dim(1, "dim", rank + 1);
  if (!dim) return {};
  Sizes strides = base.strides;
  insert_at(strides, *dim, *dim < rank ? base.sizes[*dim] * base.strides[*dim] : SymInt(1));
  return strides;
}

OptionalStrides squeezed(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const std::size_t rank = base.sizes.size();
  const bool has_dims = rules.argument(1, "dim") != nullptr;
  const auto dims = has_dims ? rules.dims(1, "dim", rank) : std::optional<Order>();
  if (has_dims && !dims) return {};
  Sizes strides;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool may_go = !dims || std::ranges::find(*dims, i) != dims->end();
    if (!may_go || base.sizes[i].number() != 1) strides.push_back(base.strides[i]);
  }
  return strides.size() == sizes.size() ? OptionalStrides(strides) : OptionalStrides();
}

OptionalStrides viewed(const Rules&, const Tensor& base, const Sizes& sizes) { return of_view(base, sizes); }

OptionalStrides diagonal(const Rules& rules, const Tensor& base, const Sizes&) {
  const std::size_t rank = base.sizes.size();
  const auto a = rules.dim(2, "dim1", rank, 0), b = rules.dim(3, "dim2", rank, 1);
  if (!a || !b || *a == *b) return {};
  Sizes strides = base.strides;
  strides.push_back(strides[*a] + strides[*b]);
  erase_at(strides, std::max(*a, *b));
  erase_at(strides, std::min(*a, *b));
  return strides;
}

OptionalStrides unfolded(const Rules& rules, const Tensor& base, const Sizes&) {
  const auto dim = rules.dim(1, "dimension", base.sizes.size());
  const auto step = rules.size(3, "step");
  if (!dim || !step) return {};
  Sizes strides = base.strides;
  strides.push_back(strides[*dim]);
  strides[*dim] = strides[*dim] * *step;
  return strides;
}

template <std::size_t Place>
OptionalStrides as_given(const Rules& rules, const Tensor&, const Sizes& sizes) {
  const Argument* given = rules.argument(Place, "stride");
  const auto* items = given == nullptr ? nullptr : items_of(*given);
  if (items == nullptr || items->size() != sizes.size()) return {};
  Sizes strides;
  for (const Argument& item : *items) {
    const auto* number = item.get_if<std::int64_t>();
    if (number == nullptr) return {};
    strides.emplace_back(*number);
  }
  return strides;
}

// Rule of a copy in the memory format that the call names, else in that of the first argument.
OptionalStrides copied(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const std::string format = rules.memory_format();
  if (format == "contiguous_format") return contiguous(sizes);
  if (format.starts_with("channels_last")) return channels_last(sizes);
  return is_dense(base) ? base.strides : of_pointwise({base}, sizes);
}

// Rule of contiguous(), which gives the tensor itself if it has the format.
OptionalStrides in_format(const Rules& rules, const Tensor&, const Sizes& sizes) {
  return rules.memory_format().starts_with("channels_last") ? channels_last(sizes) : contiguous(sizes);
}

// Rule of to(), which gives the tensor itself if nothing changes.
OptionalStrides converted(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const std::string format = rules.memory_format();
  const bool keeps_dtype = rules.first_meta().dtype == rules.operation().meta->dtype;
  if ((format.empty() || format == "preserve_format") && keeps_dtype) return base.strides;
  return copied(rules, base, sizes);
}

// Rule of dropout, which gives the tensor itself outside of training.
OptionalStrides dropped_out(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const Argument* trains = rules.argument(2, "train");
  if (trains != nullptr && *trains == Argument(false)) return base.strides;
  return is_dense(base) ? base.strides : of_pointwise({base}, sizes);
}

// Rule of attention: heads are side by side in memory, [batch, heads, length, features] as [batch, length,
// heads, features].
OptionalStrides attended(const Rules&, const Tensor&, const Sizes& sizes) {
  if (sizes.size() != 4) return {};
  return dense_in({3, 1, 2, 0}, sizes);
}

// Rule of recurrent layers: with batch_first, the last argument, the sequence is still outermost in memory.
OptionalStrides recurrent_output(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const std::vector<Argument>& args = rules.operation().args;
  if (!rules.target().ends_with(".input") || args.back() != Argument(true)) return {};
  return base.sizes.size() == 3 && sizes.size() == 3 ? OptionalStrides(dense_in({2, 0, 1}, sizes))
                                                     : OptionalStrides();
}

// Rule of kernels for images: the result has the memory format that the input, or the weight, suggests.
OptionalStrides as_images(const Rules& rules, const Tensor& base, const Sizes& sizes) {
  const bool has_weight = rules.target().starts_with("aten.conv");
  const Argument* second = has_weight ? rules.argument(1, "weight") : nullptr;
  const auto weight = second == nullptr ? std::nullopt : rules.tensor(*second);
  if (is_channels_last(base) || (weight && is_channels_last(*weight))) return channels_last(sizes);
  return {};
}

// Rule of cat(), which keeps the format that all tensors suggest.
OptionalStrides joined(const Rules& rules, const Tensor&, const Sizes& sizes) {
  const std::vector<Tensor> tensors = rules.tensors();
  const bool are_so = !tensors.empty() && std::ranges::all_of(tensors, is_channels_last);
  return are_so ? channels_last(sizes) : OptionalStrides();
}

OptionalStrides pointwise(const Rules& rules, const Tensor&, const Sizes& sizes) {
  return of_pointwise(rules.tensors(), sizes);
}

struct StridesRow {
  std::string_view space, names;
  Rule rule = nullptr;
};

// Rules, by the name of the operator without its overload.
constexpr StridesRow kStridesRows[] = {
    {"aten", "alias detach _conj view_as_complex lift_fresh chunk split split_with_sizes tensor_split",
     same_strides},
    {"aten", "transpose swapaxes swapdims t mT adjoint", transposed},
    {"aten", "numpy_T", reversed},
    {"aten", "permute", permuted},
    {"aten", "movedim moveaxis", moved_dims},
    {"aten", "expand expand_as broadcast_to", expanded},
    {"aten", "slice narrow", sliced},
    {"aten", "select unbind", selected},
    {"aten", "unsqueeze", unsqueezed},
    {"aten", "squeeze", squeezed},
    {"aten", "view view_as reshape reshape_as flatten unflatten ravel _unsafe_view", viewed},
    {"aten", "diagonal", diagonal},
    {"aten", "unfold", unfolded},
    {"aten", "as_strided", as_given<2>},
    {"aten",
     "clone lift_fresh_copy _to_copy empty_like full_like ones_like zeros_like rand_like randn_like randint_like",
     copied},
    {"aten", "dropout feature_dropout alpha_dropout", dropped_out},
    {"aten", "scaled_dot_product_attention", attended},
    {"aten", "contiguous", in_format},
    {"aten", "real imag", complex_part},
    {"aten", "to", converted},
    {"aten",
     "conv2d conv3d convolution conv_transpose2d conv_transpose3d batch_norm max_pool2d max_pool3d "
     "max_pool2d_with_indices avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_max_pool2d upsample_nearest2d "
     "upsample_bilinear2d upsample_bicubic2d pixel_shuffle group_norm",
     as_images},
    {"prims", "copy_strided", as_given<1>},
    {"prims", "clone convert_element_type full_like", copied},
    {"quantized_decomposed",
     "quantize_per_tensor dequantize_per_tensor quantize_per_channel dequantize_per_channel", copied},
};

OptionalStrides laid_out(const ProgramView& graph, NodeId operation, const std::vector<std::int64_t>& path,
                         const Sizes& sizes) {
  static const NameTable<StridesRow> rows(kStridesRows);
  const Rules rules(graph, operation);
  const std::string& target = rules.target();
  const std::string name = target.substr(0, target.rfind('.'));
  const auto base = rules.first();
  constexpr std::string_view kRecurrent[] = {"aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu"};
  if (std::ranges::find(kRecurrent, name) != std::end(kRecurrent)) {
    const bool is_first = path == std::vector<std::int64_t>{0};
    return base && is_first ? recurrent_output(rules, *base, sizes) : OptionalStrides();
  }
  if (name == "aten.cat" || name == "prims.cat") return joined(rules, Tensor(), sizes);
  if (const StridesRow* row = rows.find(name))
    return base ? row->rule(rules, *base, sizes) : OptionalStrides();
  const Operator* op = graph.facts(operation).op;
  if (op != nullptr && has_trait(op, traits::kPointwise)) return pointwise(rules, Tensor(), sizes);
  return {};
}

// Gives a value of the table the strides of a value with the same shape.
void copy_strides(const ProgramView& graph, NodeId from, const Meta& meta, NodeId to, ProgramTable& table) {
  const Meta& before = graph.meta(from);
  if (before.shape && meta.shape && *before.shape == *meta.shape)
    table.strides.insert_or_assign(to.index, strides_of(graph, from));
}

// Gives the inputs of a subgraph of control flow the strides of the operands.
void pass_on(const ProgramView& graph, NodeId operation, const ModuleGraph& inner, ProgramTable& table) {
  std::vector<NodeId> given;
  for (const Argument& operand : graph.node(operation).args) {
    if (items_of(operand) != nullptr) for_each_reference(operand, [&](NodeId id) { given.push_back(id); });
  }
  const ProgramView body(inner, table);
  const std::vector<NodeId> inputs = body.inputs();
  if (given.size() != inputs.size()) return;
  for (std::size_t i = 0; i < given.size(); ++i)
    copy_strides(graph, given[i], body.meta(inputs[i]), inputs[i], table);
}

}  // namespace

void add_strides(const ModuleGraph& graph, ProgramTable& table) {
  const ProgramView view(graph, table);
  for (const NodeId operation : view.operations()) {
    for_each_of<Argument::GraphRef>(view.node(operation), [&](const Argument::GraphRef& body) {
      const ModuleGraph* inner = graph.subgraphs.find_graph(body.name);
      if (inner == nullptr) return;
      ProgramTable& own = table.subgraphs.at(body.name);
      pass_on(view, operation, *inner, own);
      add_strides(*inner, own);
    });
    for (const auto& [value, path] : view.results(operation)) {
      const auto own = Rules(view, operation).tensor(value);
      if (!own) continue;
      if (const auto found = laid_out(view, operation, path, own->sizes);
          found && found->size() == own->sizes.size())
        table.strides[value.index].assign(found->begin(), found->end());
    }
    for_each_handed_on(view, operation, [&](NodeId result, NodeId argument) {
      copy_strides(view, argument, view.meta(result), result, table);
    });
  }
}

}  // namespace fxtrace
