#include "analysis/layout/stride_rules.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/effects.h"
#include "analysis/identity_call.h"
#include "analysis/node_arguments.h"
#include "graph/rewrite.h"
#include "operators/names/name_rows.h"
#include "shapes/contiguous.h"
#include "support/find_position.h"
#include "support/saturated.h"

namespace fxtrace {
namespace {

using Sizes = std::vector<SymInt>;
using Order = std::vector<std::size_t>;  // dimensions, the innermost first

// Thrown where there is no answer.
struct Unknown {};

Sizes dense_in(const Order& order, const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  SymInt row = 1;
  for (const std::size_t dim : order) {
    strides[dim] = row;
    row = row * max(SymInt(1), sizes[dim]);
  }
  return strides;
}

// Returns the strides of channels_last for images and volumes: channels, the second dimension, are the
// innermost.
std::optional<Sizes> channels_last(const Sizes& sizes) {
  if (sizes.size() != 4 && sizes.size() != 5) return std::nullopt;
  Order order{1};
  for (std::size_t dim = sizes.size(); dim-- > 2;) order.push_back(dim);
  order.push_back(0);
  return dense_in(order, sizes);
}

// What can be said of sizes and strides.
class Geometry {
 public:
  explicit Geometry(Certainty certainty) : is_certain_(certainty == Certainty::kCertain) {}

  bool is_certain() const { return is_certain_; }
  std::int64_t value_of(const SymInt& size) const {
    if (const auto number = size.number()) return *number;
    if (is_certain_) throw Unknown();
    constexpr std::int64_t kExample = 7;
    std::map<std::string, std::int64_t> values;
    for (const std::string& name : size.symbols()) values.emplace(name, kExample);
    return size.evaluate(values).value_or(kExample);
  }
  bool is_one(const SymInt& size) const { return value_of(size) == 1; }
  bool are_equal(const SymInt& a, const SymInt& b) const {
    return a == b || (is_certain_ && value_of(a) == value_of(b));
  }

  bool has_strides(const SizesAndStrides& tensor, const Sizes& strides) const {
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (tensor.strides[i] == strides[i] || is_one(tensor.sizes[i])) continue;
      if (!is_certain_) return false;
      for (const SymInt& size : tensor.sizes) value_of(size);  // none may turn out to be 0
      if (!are_equal(tensor.strides[i], strides[i])) return false;
    }
    return true;
  }
  bool is_contiguous(const SizesAndStrides& tensor) const {
    const bool is_empty =
        std::ranges::any_of(tensor.sizes, [](const SymInt& size) { return size.number() == 0; });
    return is_empty || has_strides(tensor, contiguous_strides(tensor.sizes));
  }
  // Returns whether the tensor suggests channels_last, as c10::TensorImpl decides it.
  bool is_channels_last(const SizesAndStrides& tensor) const {
    const auto strides = channels_last(tensor.sizes);
    return strides && !is_contiguous(tensor) && has_strides(tensor, *strides);
  }
  // Returns whether the elements fill one block of memory without gaps or overlaps.
  bool is_dense(const SizesAndStrides& tensor) const {
    if (is_contiguous(tensor)) return true;
    Order order;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      if (!is_one(tensor.sizes[i])) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return value_of(tensor.strides[i]); });
    std::int64_t expected = 1;
    for (const std::size_t i : order) {
      if (value_of(tensor.strides[i]) != expected) return false;
      multiply_saturated(expected, value_of(tensor.sizes[i]));
    }
    return true;
  }

  // Returns the strides of a view of these sizes, as at::detail::computeStride() does
  // (aten/src/ATen/TensorUtils.cpp); nothing if the tensor has no such view.
  std::optional<Sizes> view(const SizesAndStrides& tensor, const Sizes& to) const {
    if (is_contiguous(tensor)) return contiguous_strides(to);
    Sizes result(to.size(), 1);
    std::size_t left = to.size();  // dimensions of the view without strides, the outermost
    SymInt base = tensor.strides.back(), elements = 1, viewed = 1;
    for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
      elements = elements * tensor.sizes[i];
      const bool ends =
          i == 0 || (!is_one(tensor.sizes[i - 1]) && !are_equal(tensor.strides[i - 1], elements * base));
      if (!ends) continue;
      while (left > 0 && (value_of(viewed) < value_of(elements) || is_one(to[left - 1]))) {
        --left;
        result[left] = viewed * base;
        viewed = viewed * to[left];
      }
      if (value_of(viewed) != value_of(elements)) return std::nullopt;
      if (i > 0) {
        base = tensor.strides[i - 1];
        elements = viewed = 1;
      }
    }
    if (left > 0) return std::nullopt;
    return result;
  }

  // Returns the strides of a pointwise result, as TensorIteratorBase::reorder_dimensions() does
  // (aten/src/ATen/TensorIterator.cpp).  Certain only if all inputs are alike, or numbers.
  Sizes pointwise(std::vector<SizesAndStrides> inputs, const Sizes& sizes) const {
    const auto all = [&](auto&& holds) { return std::ranges::all_of(inputs, holds); };
    const auto contiguous = [&](const SizesAndStrides& input) { return is_contiguous(input); };
    const auto is_number = [](const SizesAndStrides& input) { return input.sizes.empty(); };
    if (is_certain_ && std::erase_if(inputs, is_number) > 0 && !all(contiguous)) throw Unknown();
    if (!inputs.empty() && all([&](const SizesAndStrides& input) { return input.sizes == sizes; })) {
      if (all(contiguous)) return contiguous_strides(sizes);
      if (all([&](const SizesAndStrides& input) { return is_channels_last(input); }))
        return *channels_last(sizes);
      const Sizes& first = inputs.front().strides;
      if (all([&](const SizesAndStrides& input) { return input.strides == first && is_dense(input); }))
        return first;
    }
    if (is_certain_) throw Unknown();
    return reordered(inputs, sizes);
  }

 private:
  Sizes reordered(const std::vector<SizesAndStrides>& inputs, const Sizes& sizes) const {
    const std::size_t rank = sizes.size();
    std::vector<std::vector<std::int64_t>> strides;  // strides of the inputs, broadcast
    for (const SizesAndStrides& input : inputs) {
      auto& own = strides.emplace_back(rank, 0);
      if (input.sizes.size() > rank) return contiguous_strides(sizes);
      const std::size_t missing = rank - input.sizes.size();
      for (std::size_t i = missing; i < rank; ++i) {
        const bool is_spread = is_one(input.sizes[i - missing]) && !is_one(sizes[i]);
        if (!is_spread) own[i] = value_of(input.strides[i - missing]);
      }
    }
    const auto should_swap = [&](std::size_t inner, std::size_t outer) {
      for (const auto& own : strides) {
        const std::int64_t a = own[inner], b = own[outer];
        if (a == 0 || b == 0) continue;
        if (a != b) return a < b ? -1 : 1;
        if (value_of(sizes[inner]) > value_of(sizes[outer])) return 1;
      }
      return 0;
    };
    Order order(rank);
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
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

  bool is_certain_;
};

// A call as its rule sees it.  All but find() throw Unknown where they have nothing to give.
class Rules : public Geometry {
 public:
  Rules(const StridedCall& call, const Sizes& sizes, std::size_t item)
      : Geometry(call.certainty), sizes(sizes), item(item), call_(call) {}

  const Sizes& sizes;      // those of the result
  const std::size_t item;  // its place among several results

  // Returns the argument; null if it is left out or None.
  const Argument* find(std::size_t place) const {
    const bool is_there = place < call_.info.schema.arguments.size();
    const Argument* given = is_there ? NodeArguments(call_.node, call_.info).find_argument(place) : nullptr;
    return given == nullptr || given->is<Argument::None>() ? nullptr : given;
  }
  const Argument* find(std::string_view name) const {
    const auto place = call_.info.schema.find_argument(name);
    return place ? find(*place) : nullptr;
  }
  SizesAndStrides tensor(const Argument* given) const {
    const auto* id = given == nullptr ? nullptr : given->get_if<NodeId>();
    auto found = id == nullptr ? std::nullopt : call_.find(*id);
    if (!found) throw Unknown();
    return *std::move(found);
  }
  SizesAndStrides base() const { return tensor(find(0)); }
  Dtype base_dtype() const { return call_.graph.node(*find(0)->get_if<NodeId>()).meta->dtype; }
  // Returns all tensors among the arguments, as far as they are known.
  std::vector<SizesAndStrides> tensors() const {
    std::vector<SizesAndStrides> result;
    for_each_input(call_.node, [&](NodeId id) {
      const Meta& meta = call_.graph.node(id).meta;
      const ValueKind kind = meta.kind();
      if (kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool) return;
      if (kind != ValueKind::kTensor && !is_certain()) return;
      const bool is_number = meta.shape && meta.shape->empty();
      auto given = is_number ? SizesAndStrides() : call_.find(id);
      if (given) return result.push_back(*std::move(given));
      if (is_certain()) throw Unknown();
    });
    return result;
  }

  SymInt integer(std::size_t place) const {
    if (const Argument* given = find(place)) return integer(*given);
    const SymInt* otherwise =
        place < call_.info.defaults.size() ? call_.info.defaults[place].integer() : nullptr;
    if (otherwise == nullptr) throw Unknown();
    return *otherwise;
  }
  SymInt integer(const Argument& given) const {
    const auto size = known_size(call_.graph, given);
    if (!size || size->size() == nullptr) throw Unknown();
    return *size->size();
  }
  std::size_t dim(std::size_t place, std::size_t rank) const { return dim(integer(place), rank); }
  // Returns the dimensions of an argument that is a list or a single one.
  Order dims(std::size_t place, std::size_t rank) const {
    const Argument* given = find(place);
    const auto* items = given == nullptr ? nullptr : items_of(*given);
    if (items == nullptr) return {dim(place, rank)};
    Order result;
    for (const Argument& each : *items) result.push_back(dim(integer(each), rank));
    return result;
  }
  static std::size_t dim(const SymInt& given, std::size_t rank) {
    const auto dim = find_position(static_cast<std::int64_t>(rank), given.number());
    if (!dim) throw Unknown();
    return *dim;
  }

  // Returns the memory format that the call asks for; empty for the one of the first argument.
  std::string memory_format() const {
    const Argument* given = find("memory_format");
    if (given == nullptr) return {};
    constexpr std::string_view kNames[] = {"contiguous_format", "", "channels_last", "channels_last_3d"};
    if (const auto* number = given->get_if<std::int64_t>(); number != nullptr && *number >= 0 && *number < 4)
      return std::string(kNames[*number]);
    const auto* named = given->get_if<Argument::MemoryFormat>();
    if (named == nullptr) throw Unknown();
    return named->name == "preserve_format" ? "" : named->name;
  }
  Sizes in_format(const std::string& format) const {
    if (!format.starts_with("channels_last")) return contiguous_strides(sizes);
    const auto strides = channels_last(sizes);
    if (!strides) throw Unknown();
    return *strides;
  }
  // Returns those of a copy of the first argument.
  Sizes copy() const {
    const SizesAndStrides given = base();
    return is_dense(given) ? given.strides : pointwise({given}, sizes);
  }
  bool gives_input() const { return fxtrace::gives_input(call_.graph, call_.node, call_.info); }

 private:
  const StridedCall& call_;
};

using Rule = Sizes (*)(const Rules& rules);

template <class T>
void erase_at(std::vector<T>& all, std::size_t i) {
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
}

// --- views ---

Sizes same_strides(const Rules& rules) { return rules.base().strides; }

Sizes transposed(const Rules& rules) {
  auto [sizes, strides] = rules.base();
  std::swap(strides[rules.dim(1, sizes.size())], strides[rules.dim(2, sizes.size())]);
  return strides;
}

Sizes with_rows_as_columns(const Rules& rules) {
  Sizes strides = rules.base().strides;
  if (strides.size() >= 2) std::swap(strides.back(), strides[strides.size() - 2]);
  return strides;
}

Sizes reversed(const Rules& rules) {
  Sizes strides = rules.base().strides;
  std::ranges::reverse(strides);
  return strides;
}

Sizes permuted(const Rules& rules) {
  const SizesAndStrides base = rules.base();
  Sizes strides;
  for (const std::size_t dim : rules.dims(1, base.sizes.size())) strides.push_back(base.strides[dim]);
  return strides;
}

Sizes with_moved_dims(const Rules& rules) {
  const SizesAndStrides base = rules.base();
  const std::size_t rank = base.sizes.size();
  const Order from = rules.dims(1, rank), to = rules.dims(2, rank);
  std::vector<std::optional<SymInt>> placed(rank);
  Sizes left = base.strides, strides;
  if (from.size() != to.size()) throw Unknown();
  for (std::size_t i = 0; i < from.size(); ++i) placed[to[i]] = base.strides[from[i]];
  for (std::size_t dim = rank; dim-- > 0;) {
    if (std::ranges::find(from, dim) != from.end()) erase_at(left, dim);
  }
  auto next = left.begin();
  for (const auto& stride : placed) {
    if (!stride && next == left.end()) throw Unknown();
    strides.push_back(stride ? *stride : *next++);
  }
  return strides;
}

Sizes expanded(const Rules& rules) {
  const SizesAndStrides base = rules.base();
  if (rules.sizes.size() < base.sizes.size()) throw Unknown();
  const std::size_t added = rules.sizes.size() - base.sizes.size();
  Sizes strides(added, 0);
  for (std::size_t i = 0; i < base.sizes.size(); ++i) {
    const bool is_spread = base.sizes[i] != rules.sizes[added + i] && rules.is_one(base.sizes[i]);
    strides.push_back(is_spread ? SymInt(0) : base.strides[i]);
  }
  return strides;
}

// Rule of real() and imag(): every other number, where there are two.
Sizes complex_part(const Rules& rules) {
  Sizes strides = rules.base().strides;
  const Dtype dtype = rules.base_dtype();
  if (!dtype) throw Unknown();
  for (SymInt& stride : strides) stride = stride * (is_complex(*dtype) ? 2 : 1);
  return strides;
}

// Rule of view_as_real() and view_as_complex(): the last dimension has the two numbers.
Sizes pairs(const Rules& rules) {
  Sizes strides = rules.base().strides;
  const bool is_real = rules.sizes.size() > strides.size();
  for (SymInt& stride : strides) stride = is_real ? stride * 2 : floordiv(stride, 2);
  if (is_real) {
    strides.emplace_back(1);
  } else if (!strides.empty()) {
    strides.pop_back();
  }
  return strides;
}

Sizes sliced(const Rules& rules) {
  auto [sizes, strides] = rules.base();
  const Argument* step = rules.find("step");
  SymInt& stride = strides[rules.dim(1, sizes.size())];
  if (step != nullptr) stride = stride * rules.integer(*step);
  return strides;
}

Sizes selected(const Rules& rules) {
  auto [sizes, strides] = rules.base();
  erase_at(strides, rules.dim(1, sizes.size()));
  return strides;
}

Sizes unsqueezed(const Rules& rules) {
  auto [sizes, strides] = rules.base();
  const std::size_t rank = sizes.size(), dim = rules.dim(1, rank + 1);
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(dim),
                 dim < rank ? sizes[dim] * strides[dim] : SymInt(1));
  return strides;
}

Sizes squeezed(const Rules& rules) {
  const SizesAndStrides base = rules.base();
  const bool has_dims = rules.find(1) != nullptr;
  const Order dims = has_dims ? rules.dims(1, base.sizes.size()) : Order();
  Sizes strides;
  for (std::size_t i = 0; i < base.sizes.size(); ++i) {
    const bool may_go = !has_dims || std::ranges::find(dims, i) != dims.end();
    if (!may_go || base.sizes[i].number() != 1) strides.push_back(base.strides[i]);
  }
  return strides;
}

Sizes viewed(const Rules& rules) {
  const SizesAndStrides base = rules.base();
  if (rules.find("dtype") != nullptr && base.sizes != rules.sizes) {  // of another number of bytes
    if (!rules.is_contiguous(base)) throw Unknown();
    return contiguous_strides(rules.sizes);
  }
  const auto strides = rules.view(base, rules.sizes);
  if (!strides) throw Unknown();
  return *strides;
}

Sizes reshaped(const Rules& rules) {
  return rules.view(rules.base(), rules.sizes).value_or(contiguous_strides(rules.sizes));
}

Sizes diagonal(const Rules& rules) {
  auto [sizes, strides] = rules.base();
  const std::size_t a = rules.dim(2, sizes.size()), b = rules.dim(3, sizes.size());
  if (a == b) throw Unknown();
  strides.push_back(strides[a] + strides[b]);
  erase_at(strides, std::max(a, b));
  erase_at(strides, std::min(a, b));
  return strides;
}

Sizes unfolded(const Rules& rules) {
  auto [sizes, strides] = rules.base();
  const std::size_t dim = rules.dim(1, sizes.size());
  strides.push_back(strides[dim]);
  strides[dim] = strides[dim] * rules.integer(3);
  return strides;
}

Sizes as_given(const Rules& rules) {
  const Argument* given = rules.find("stride");
  const auto* items = given == nullptr ? nullptr : items_of(*given);
  if (items == nullptr) throw Unknown();
  Sizes strides;
  for (const Argument& item : *items) strides.push_back(rules.integer(item));
  return strides;
}

// --- copies ---

// Rule of a copy in the memory format that the call names, else in that of the first argument.
Sizes copied(const Rules& rules) {
  const std::string format = rules.memory_format();
  return format.empty() ? rules.copy() : rules.in_format(format);
}

// Rule of tensors that are contiguous, or have the format that the call names.
Sizes in_format(const Rules& rules) { return rules.in_format(rules.memory_format()); }

// Rule of to(), which gives the tensor itself if nothing changes.
Sizes converted(const Rules& rules) {
  const std::string format = rules.memory_format();
  if (format.empty()) return rules.gives_input() ? rules.base().strides : rules.copy();
  if (rules.is_certain()) throw Unknown();
  return rules.in_format(format);
}

// Rule of dropout, which gives the tensor itself outside of training.
Sizes dropped_out(const Rules& rules) { return rules.gives_input() ? rules.base().strides : rules.copy(); }

Sizes pointwise(const Rules& rules) { return rules.pointwise(rules.tensors(), rules.sizes); }

// --- kernels ---

// Rule of attention: heads are side by side in memory, [batch, heads, length, features] as [batch, length,
// heads, features].
Sizes attended(const Rules& rules) {
  if (rules.sizes.size() != 4) throw Unknown();
  return dense_in({3, 1, 2, 0}, rules.sizes);
}

// Rule of recurrent layers: with batch_first, the last argument, the sequence is still outermost in memory.
Sizes recurrent_output(const Rules& rules) {
  const Argument* batch_first = rules.find("batch_first");
  const bool is_so = rules.item == 0 && batch_first != nullptr && *batch_first == Argument(true) &&
                     rules.base().sizes.size() == 3 && rules.sizes.size() == 3;
  if (!is_so) throw Unknown();
  return dense_in({2, 0, 1}, rules.sizes);
}

// Rule of kernels for images: the result has the memory format that the input, or the weight, suggests.
Sizes as_images(const Rules& rules) {
  const Argument* weight = rules.find("weight");
  const bool is_so = rules.is_channels_last(rules.base()) ||
                     (weight != nullptr && rules.is_channels_last(rules.tensor(weight)));
  return rules.in_format(is_so ? "channels_last" : "");
}

// Rule of cat(), which keeps the format that all tensors suggest.
Sizes joined(const Rules& rules) {
  const std::vector<SizesAndStrides> tensors = rules.tensors();
  const bool are_so = !tensors.empty() && std::ranges::all_of(tensors, [&](const SizesAndStrides& tensor) {
    return rules.is_channels_last(tensor);
  });
  return rules.in_format(are_so ? "channels_last" : "");
}

struct StridesRow {
  std::string_view space, names;
  Rule rule = nullptr;
  bool is_certain = true;  // false: another version of torch, or another device, may do it in another way
};

// Rules, by the name of the operator without its overload.
constexpr StridesRow kStridesRows[] = {
    {"aten", "alias detach _conj lift_fresh chunk split split_with_sizes tensor_split", same_strides},
    {"aten", "transpose swapaxes swapdims", transposed},
    {"aten", "t mT adjoint", with_rows_as_columns},
    {"aten", "numpy_T", reversed},
    {"aten", "permute", permuted},
    {"aten", "movedim moveaxis", with_moved_dims},
    {"aten", "expand expand_as broadcast_to", expanded},
    {"aten", "real imag", complex_part},
    {"aten", "view_as_real view_as_complex", pairs},
    {"aten", "slice narrow", sliced},
    {"aten", "select unbind", selected},
    {"aten", "unsqueeze", unsqueezed},
    {"aten", "squeeze", squeezed},
    {"aten", "view view_as unflatten _unsafe_view", viewed},
    {"aten", "reshape reshape_as flatten", reshaped},
    {"aten", "diagonal", diagonal},
    {"aten", "unfold", unfolded},
    {"aten", "as_strided", as_given},
    {"prims", "copy_strided", as_given},
    {"aten",
     "clone lift_fresh_copy _to_copy empty_like full_like ones_like zeros_like rand_like randn_like randint_like",
     copied},
    {"prims", "clone convert_element_type full_like", copied},
    {"quantized_decomposed",
     "quantize_per_tensor dequantize_per_tensor quantize_per_channel dequantize_per_channel", copied},
    {"aten", "contiguous ravel", in_format},
    {"aten", "to", converted},
    {"aten", "dropout feature_dropout alpha_dropout", dropped_out},
    {"aten", "complex", pointwise, false},
    {"aten", "scaled_dot_product_attention", attended, false},
    {"aten", "lstm gru rnn_tanh rnn_relu", recurrent_output, false},
    {"aten",
     "conv2d conv3d convolution conv_transpose2d conv_transpose3d batch_norm max_pool2d max_pool3d "
     "max_pool2d_with_indices avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_max_pool2d upsample_nearest2d "
     "upsample_bilinear2d upsample_bicubic2d pixel_shuffle group_norm",
     as_images, false},
    {"aten", "cat", joined, false},
    {"prims", "cat", joined, false},
};

Rule find_rule(const StridedCall& call) {
  static const NameTable<StridesRow> rows(kStridesRows);
  const OperatorEntry& info = call.info;
  const bool is_certain = call.certainty == Certainty::kCertain;
  if (const StridesRow* row = rows.find(info.target.substr(0, info.target.rfind('.'))))
    return is_certain && !row->is_certain ? nullptr : row->rule;
  if (is_certain && (info.schema.results.size() != 1 || info.schema.results.front().is_list()))
    return nullptr;
  if ((info.traits & traits::kMakesContiguous) != 0) return in_format;
  const bool is_pointwise = (info.traits & traits::kPointwise) != 0;
  return is_pointwise && (info.aliases.empty() || !is_certain) ? pointwise : nullptr;
}

template <class F>
auto if_known(F&& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const Unknown&) {
  } catch (const SymbolicError&) {
  }
  return std::nullopt;
}

}  // namespace

std::optional<Sizes> strides_of_result(const StridedCall& call, const Sizes& sizes, std::size_t item) {
  const Rule rule = find_rule(call);
  if (rule == nullptr) return std::nullopt;
  auto strides = if_known([&] { return rule(Rules(call, sizes, item)); });
  return strides && strides->size() == sizes.size() ? strides : std::nullopt;
}

ReshapeResult result_of_reshape(const StridedCall& call, const Sizes& sizes) {
  using enum ReshapeResult;
  const std::string_view name = call.info.name;
  const Rules rules(call, sizes, 0);
  const auto result = if_known([&] {
    if (name == "aten::contiguous" && !rules.memory_format().starts_with("channels_last"))
      return rules.is_contiguous(rules.base()) ? kSame : kCopy;
    if (name == "aten::ravel")  // contiguous().view(-1)
      return rules.is_contiguous(rules.base()) ? kView : kCopy;
    if (name == "aten::reshape" || name == "aten::reshape_as" || name == "aten::flatten")
      return rules.view(rules.base(), sizes) ? kView : kCopy;
    return kUnknown;
  });
  return result.value_or(kUnknown);
}

}  // namespace fxtrace
