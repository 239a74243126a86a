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
#include "opinfo/operator_row.h"
#include "shapes/abstract_value.h"
#include "support/integers.h"

namespace fxtrace::internal {
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

// The rules for one call.  All functions but find() throw Unknown where they have nothing to give.
class CallStrides : public Geometry {
 public:
  CallStrides(const StridedCall& call, const Sizes& sizes, std::size_t item)
      : Geometry(call.certainty), sizes_(sizes), item_(item), call_(call) {}

  using Strides = Sizes;
  Strides by(StrideRule rule) const;

  SizesAndStrides base() const { return tensor(find(0)); }
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

  // ---- Views ----
  Strides same() const { return base().strides; }

  // Strides change places as sizes do.
  Strides permuted() const {
    const AbstractValue strides{TensorInfo{.sizes = base().strides, .dtype = base_dtype()}};
    const NodeId first = *find(0)->get_if<NodeId>();
    const Results results = inferred_results(call_.info, call_.node, [&](NodeId id) {
      return id == first ? strides : known_value(call_.graph.node(id).meta);
    });
    const TensorInfo* result = results.empty() ? nullptr : results[0].tensor();
    if (result == nullptr) throw Unknown();
    return result->sizes;
  }

  Strides expanded() const {
    const SizesAndStrides base = this->base();
    if (sizes_.size() < base.sizes.size()) throw Unknown();
    const std::size_t added = sizes_.size() - base.sizes.size();
    Strides strides(added, 0);
    for (std::size_t i = 0; i < base.sizes.size(); ++i) {
      const bool is_spread = base.sizes[i] != sizes_[added + i] && is_one(base.sizes[i]);
      strides.push_back(is_spread ? SymInt(0) : base.strides[i]);
    }
    return strides;
  }

  Strides complex_part() const {
    const Dtype dtype = base_dtype();
    if (!dtype) throw Unknown();
    return times(base().strides, is_complex(*dtype) ? 2 : 1);
  }

  Strides pairs() const {
    Strides strides = base().strides;
    if (sizes_.size() > strides.size()) {
      strides = times(std::move(strides), 2);
      strides.emplace_back(1);
    } else if (!strides.empty()) {
      strides.pop_back();
      for (SymInt& stride : strides) stride = floordiv(stride, 2);
    }
    return strides;
  }

  Strides sliced() const {
    auto [sizes, strides] = base();
    const Argument* step = find("step");
    SymInt& stride = strides[dim(1, sizes.size())];
    if (step != nullptr) stride = stride * integer(*step);
    return strides;
  }

  Strides selected() const {
    auto [sizes, strides] = base();
    erase_at(strides, dim(1, sizes.size()));
    return strides;
  }

  Strides unsqueezed() const {
    auto [sizes, strides] = base();
    const std::size_t rank = sizes.size(), place = dim(1, rank + 1);
    strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(place),
                   place < rank ? sizes[place] * strides[place] : SymInt(1));
    return strides;
  }

  Strides squeezed() const {
    const SizesAndStrides base = this->base();
    const bool has_dims = find(1) != nullptr;
    const Order squeezed = has_dims ? dims(1, base.sizes.size()) : Order();
    Strides strides;
    for (std::size_t i = 0; i < base.sizes.size(); ++i) {
      const bool may_go = !has_dims || std::ranges::find(squeezed, i) != squeezed.end();
      if (!may_go || base.sizes[i].number() != 1) strides.push_back(base.strides[i]);
    }
    return strides;
  }

  Strides viewed() const {
    const SizesAndStrides base = this->base();
    if (find("dtype") != nullptr && base.sizes != sizes_) {  // of another number of bytes
      if (!is_contiguous(base)) throw Unknown();
      return contiguous_strides(sizes_);
    }
    const auto strides = view(base, sizes_);
    if (!strides) throw Unknown();
    return *strides;
  }

  Strides reshaped() const { return view(base(), sizes_).value_or(contiguous_strides(sizes_)); }

  Strides diagonal() const {
    auto [sizes, strides] = base();
    const std::size_t a = dim(2, sizes.size()), b = dim(3, sizes.size());
    if (a == b) throw Unknown();
    strides.push_back(strides[a] + strides[b]);
    erase_at(strides, std::max(a, b));
    erase_at(strides, std::min(a, b));
    return strides;
  }

  Strides windows() const {
    auto [sizes, strides] = base();
    const std::size_t along = dim(1, sizes.size());
    strides.push_back(strides[along]);
    strides[along] = strides[along] * integer(3);
    return strides;
  }

  Strides as_given() const {
    const Argument* given = find("stride");
    const auto* items = given == nullptr ? nullptr : items_of(*given);
    if (items == nullptr) throw Unknown();
    Strides strides;
    for (const Argument& item : *items) strides.push_back(integer(item));
    return strides;
  }

  // ---- Copies ----
  Strides copied() const {
    const std::string format = memory_format();
    return format.empty() ? copy() : in_format(format);
  }
  Strides contiguous() const { return in_format(memory_format()); }
  Strides converted() const {
    const std::string format = memory_format();
    if (format.empty()) return dropped_out();
    if (is_certain()) throw Unknown();
    return in_format(format);
  }
  Strides dropped_out() const {
    return gives_input(call_.graph, call_.node, call_.info) ? base().strides : copy();
  }

  // ---- Kernels ----
  Strides pointwise() const { return Geometry::pointwise(tensors(), sizes_); }
  Strides complex() const {
    if (is_certain()) throw Unknown();
    return pointwise();
  }
  Strides attended() const {
    if (is_certain() || sizes_.size() != 4) throw Unknown();
    return dense_in({3, 1, 2, 0}, sizes_);
  }
  Strides recurrent() const {
    const Argument* batch_first = find("batch_first");
    const bool is_so = !is_certain() && item_ == 0 && batch_first != nullptr &&
                       *batch_first == Argument(true) && base().sizes.size() == 3 && sizes_.size() == 3;
    if (!is_so) throw Unknown();
    return dense_in({2, 0, 1}, sizes_);
  }
  Strides images() const {
    if (is_certain()) throw Unknown();
    const Argument* weight = find("weight");
    const bool is_so = is_channels_last(base()) || (weight != nullptr && is_channels_last(tensor(weight)));
    return in_format(is_so ? "channels_last" : "");
  }
  Strides joined() const {
    if (is_certain()) throw Unknown();
    const std::vector<SizesAndStrides> given = tensors();
    const bool are_so = !given.empty() && std::ranges::all_of(given, [&](const SizesAndStrides& tensor) {
      return is_channels_last(tensor);
    });
    return in_format(are_so ? "channels_last" : "");
  }

 private:
  static void erase_at(Strides& all, std::size_t i) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  static Strides times(Strides strides, std::int64_t number) {
    for (SymInt& stride : strides) stride = stride * number;
    return strides;
  }

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
  static std::size_t dim(const SymInt& given, std::size_t rank) {
    const auto dim = find_position(static_cast<std::int64_t>(rank), given.number());
    if (!dim) throw Unknown();
    return *dim;
  }
  // Returns the dimensions of an argument that is a list or a single one.
  Order dims(std::size_t place, std::size_t rank) const {
    const Argument* given = find(place);
    const auto* items = given == nullptr ? nullptr : items_of(*given);
    if (items == nullptr) return {dim(place, rank)};
    Order result;
    for (const Argument& each : *items) result.push_back(dim(integer(each), rank));
    return result;
  }

  Sizes in_format(const std::string& format) const {
    if (!format.starts_with("channels_last")) return contiguous_strides(sizes_);
    const auto strides = channels_last(sizes_);
    if (!strides) throw Unknown();
    return *strides;
  }
  // Returns those of a copy of the first argument.
  Sizes copy() const {
    const SizesAndStrides given = base();
    return is_dense(given) ? given.strides : Geometry::pointwise({given}, sizes_);
  }

  const Sizes& sizes_;      // those of the result
  const std::size_t item_;  // its place among several results
  const StridedCall& call_;
};

CallStrides::Strides CallStrides::by(StrideRule rule) const {
  using Function = Strides (CallStrides::*)() const;
  static constexpr Function kRules[] = {nullptr,
                                        &CallStrides::same,
                                        &CallStrides::permuted,
                                        &CallStrides::expanded,
                                        &CallStrides::complex_part,
                                        &CallStrides::pairs,
                                        &CallStrides::sliced,
                                        &CallStrides::selected,
                                        &CallStrides::unsqueezed,
                                        &CallStrides::squeezed,
                                        &CallStrides::viewed,
                                        &CallStrides::reshaped,
                                        &CallStrides::diagonal,
                                        &CallStrides::windows,
                                        &CallStrides::as_given,
                                        &CallStrides::copied,
                                        &CallStrides::contiguous,
                                        &CallStrides::converted,
                                        &CallStrides::dropped_out,
                                        &CallStrides::pointwise,
                                        &CallStrides::complex,
                                        &CallStrides::attended,
                                        &CallStrides::recurrent,
                                        &CallStrides::images,
                                        &CallStrides::joined};
  static_assert(std::size(kRules) == static_cast<std::size_t>(StrideRule::kJoined) + 1);
  return (this->*kRules[static_cast<std::size_t>(rule)])();
}

StrideRule find_rule(const StridedCall& call) {
  const OperatorEntry& info = call.info;
  const bool is_certain = call.certainty == Certainty::kCertain;
  if (const StrideRule rule = facts_of(info.name).strides; rule != StrideRule::kNone) return rule;
  if (is_certain && (info.schema.results.size() != 1 || info.schema.results.front().is_list()))
    return StrideRule::kNone;
  if ((info.traits & traits::kMakesContiguous) != 0) return StrideRule::kContiguous;
  const bool is_pointwise = (info.traits & traits::kPointwise) != 0;
  return is_pointwise && (info.aliases.empty() || !is_certain) ? StrideRule::kPointwise : StrideRule::kNone;
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
  const StrideRule rule = find_rule(call);
  if (rule == StrideRule::kNone) return std::nullopt;
  auto strides = if_known([&] { return CallStrides(call, sizes, item).by(rule); });
  return strides && strides->size() == sizes.size() ? strides : std::nullopt;
}

ReshapeResult result_of_reshape(const StridedCall& call, const Sizes& sizes) {
  using enum ReshapeResult;
  const CallStrides strides(call, sizes, 0);
  const StrideRule rule = facts_of(call.info.name).strides;
  const bool may_be_same =
      (call.info.traits & traits::kMayBeArgument) != 0;  // ravel() is contiguous().view(-1)
  const auto result = if_known([&] {
    if (rule == StrideRule::kContiguous && !strides.memory_format().starts_with("channels_last"))
      return !strides.is_contiguous(strides.base()) ? kCopy : may_be_same ? kSame : kView;
    if (rule == StrideRule::kReshaped) return strides.view(strides.base(), sizes) ? kView : kCopy;
    return kUnknown;
  });
  return result.value_or(kUnknown);
}

}  // namespace fxtrace::internal
