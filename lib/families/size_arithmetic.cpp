#include "families/size_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fxtrace {
namespace {

using Values = CallArguments;

std::optional<SymInt> as_integer(const AbstractValue& value) {
  if (const SymInt* integer = value.integer()) return *integer;
  if (const auto* flag = value.get_if<bool>()) return SymInt(*flag ? 1 : 0);
  return std::nullopt;
}

// An integer that stands in the code.
std::optional<std::int64_t> literal_integer(const Values& values, std::size_t i) {
  const SymInt* integer = values[i].integer();
  return integer != nullptr && values.is_literal(i) ? integer->number() : std::nullopt;
}

// The number as an exact fraction with a small denominator.  Beyond that, doubles round.
std::optional<Ratio> exact_ratio(double number) {
  constexpr int kMaxShift = 16;
  constexpr double kMaxNumerator = 1 << 30;
  std::int64_t denominator = 1;
  for (int shift = 0; shift <= kMaxShift; ++shift, denominator *= 2, number *= 2) {
    if (!(std::abs(number) < kMaxNumerator)) return std::nullopt;
    if (number == std::trunc(number)) return Ratio{SymInt(static_cast<std::int64_t>(number)), denominator};
  }
  return std::nullopt;
}

std::optional<Ratio> as_ratio(const AbstractValue& value) {
  if (const auto integer = as_integer(value)) return Ratio{*integer, 1};
  if (const auto* number = value.get_if<double>()) return exact_ratio(*number);
  if (const auto* ratio = value.get_if<Ratio>()) return *ratio;
  return std::nullopt;
}

bool is_float(const AbstractValue& value) {
  return value.get_if<double>() != nullptr || value.get_if<Ratio>() != nullptr;
}

Evaluated plain(AbstractValue value) { return {std::move(value), {}}; }
Evaluated known_value(AbstractValue value) { return {std::nullopt, std::move(value)}; }

Evaluated integer(const SymInt& value) { return value.is_number() ? plain({value}) : known_value({value}); }

Evaluated ratio(const SymInt& numerator, std::int64_t denominator) {
  if (const auto number = numerator.number()) {
    return plain({static_cast<double>(*number) / static_cast<double>(denominator)});
  }
  // Python rounds at 53 bits; a product of sizes does not get there.
  return known_value({Ratio{numerator, denominator}});
}

Evaluated boolean(bool value) { return plain({value}); }

Evaluated compare(Relation relation, const SymInt& left, const SymInt& right, const ShapeEnv& dimensions) {
  if (const auto decided = dimensions.decide(relation, left, right)) return boolean(*decided);
  return known_value({Condition{relation, left, right}});
}

std::optional<std::vector<SymInt>> as_integers(const AbstractValue& value) {
  const auto* sequence = value.sequence();
  if (sequence == nullptr) return std::nullopt;
  std::vector<SymInt> items;
  for (const AbstractValue& item : *sequence) {
    if (item.integer() == nullptr) return std::nullopt;
    items.push_back(*item.integer());
  }
  return items;
}

// [a, b] == [c, d]
Evaluated compare_lists(bool equal, const Values& values, const ShapeEnv& dimensions) {
  const auto left = as_integers(values[0]);
  const auto right = as_integers(values[1]);
  if (!left || !right) return {};
  if (left->size() != right->size()) return boolean(!equal);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const auto same = dimensions.decide(Relation::kEqual, (*left)[i], (*right)[i]);
    if (same == false) return boolean(!equal);
    if (!same) open.push_back(i);
  }
  if (open.empty()) return boolean(equal);
  if (open.size() > 1) return {};
  return known_value(
      {Condition{equal ? Relation::kEqual : Relation::kNotEqual, (*left)[open[0]], (*right)[open[0]]}});
}

template <Relation Asked>
Evaluated compare_values(const Values& values, const ShapeEnv& dimensions) {
  if (values.size() != 2) return {};
  if constexpr (Asked == Relation::kEqual || Asked == Relation::kNotEqual) {
    const Evaluated lists = compare_lists(Asked == Relation::kEqual, values, dimensions);
    if (lists.plain || !lists.known.is_unknown()) return lists;
    const auto *first = values[0].get_if<Device>(), *second = values[1].get_if<Device>();
    if (first != nullptr && second != nullptr)
      return boolean((*first == *second) == (Asked == Relation::kEqual));
  }
  const auto left = as_ratio(values[0]);
  const auto right = as_ratio(values[1]);
  if (!left || !right) return {};
  return compare(Asked, left->numerator * right->denominator, right->numerator * left->denominator,
                 dimensions);
}

// Positions in a list of `count` that start, end and step name, the arguments from `begin` on, as Python has
// it.
std::optional<std::vector<std::size_t>> sliced_positions(std::size_t count, const Values& values,
                                                         std::size_t begin) {
  const auto step = literal_integer(values, begin + 2);
  if (!step || *step == 0) return std::nullopt;
  const auto size = static_cast<std::int64_t>(count);
  const bool forwards = *step > 0;
  const std::int64_t lowest = forwards ? 0 : -1, highest = forwards ? size : size - 1;
  const auto bound = [&](std::size_t i, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (values.type(i).kind == ValueType::Kind::kNone) return otherwise;
    const auto position = literal_integer(values, i);
    if (!position) return std::nullopt;
    return std::clamp(*position < 0 ? *position + size : *position, lowest, highest);
  };
  const auto first = bound(begin, forwards ? lowest : highest),
             last = bound(begin + 1, forwards ? highest : lowest);
  if (!first || !last) return std::nullopt;
  std::vector<std::size_t> positions;
  const std::int64_t stride = std::clamp(*step, -size - 1, size + 1);
  for (std::int64_t i = *first; forwards ? i < *last : i > *last; i += stride) {
    positions.push_back(static_cast<std::size_t>(i));
  }
  return positions;
}

constexpr std::size_t kMostElements = 10'000;  // of a list that is remembered

std::optional<AbstractValue::Sequence> joined_sequences(const AbstractValue& first,
                                                        const AbstractValue& second) {
  const auto *items = first.sequence(), *more = second.sequence();
  if (items == nullptr || more == nullptr || items->size() + more->size() > kMostElements)
    return std::nullopt;
  AbstractValue::Sequence sequence = *items;
  sequence.insert(sequence.end(), more->begin(), more->end());
  return sequence;
}

Evaluated sum_of(const Ratio& a, const Ratio& b, bool is_integer) {
  if (is_integer) return integer(a.numerator + b.numerator);
  if (a.denominator == b.denominator) return ratio(a.numerator + b.numerator, a.denominator);
  return ratio(a.numerator * b.denominator + b.numerator * a.denominator,
               (SymInt(a.denominator) * b.denominator).number().value());
}

template <int Sign>
Evaluated add_values(const Values& values, const ShapeEnv&) {
  // The number that the second is multiplied by belongs to tensors.
  if (values.size() != 2) return {};
  if (Sign > 0) {
    if (auto list = joined_sequences(values[0], values[1])) return known_value({std::move(*list)});
  }
  const auto left = as_ratio(values[0]);
  auto right = as_ratio(values[1]);
  if (!left || !right) return {};
  if (Sign < 0) right->numerator = -right->numerator;
  return sum_of(*left, *right, !is_float(values[0]) && !is_float(values[1]));
}

Evaluated multiply(const Values& values, const ShapeEnv&) {
  const auto left = as_ratio(values[0]);
  const auto right = as_ratio(values[1]);
  if (!left || !right) return {};
  const SymInt product = left->numerator * right->numerator;
  if (!is_float(values[0]) && !is_float(values[1])) return integer(product);
  return ratio(product, (SymInt(left->denominator) * right->denominator).number().value());
}

Evaluated quotient(const Values& values, const ShapeEnv&) {
  if (values.size() != 2) return {};
  const auto left = as_ratio(values[0]);
  const auto right = as_ratio(values[1]);
  if (!left || !right) return {};
  const auto by = right->numerator.number();
  if (!by || *by <= 0) return {};
  return ratio(left->numerator * right->denominator, (SymInt(left->denominator) * *by).number().value());
}

SymInt power_of(const SymInt& base, const SymInt& exponent) {
  constexpr std::int64_t kMost = 63;
  const std::int64_t times = exponent.number().value();
  if (times < 0 || times > kMost) throw CannotTell{};
  SymInt result = 1;
  for (std::int64_t i = 0; i < times; ++i) result = result * base;
  return result;
}

// TorchScript's ** of integers gives a float.
Evaluated power_of_value(const Values& values, const ShapeEnv&) {
  const auto base = as_ratio(values[0]);
  const auto exponent = literal_integer(values, 1);
  if (!base || base->numerator.is_number() || !exponent) return {};
  return known_value(
      {Ratio{power_of(base->numerator, *exponent), power_of(base->denominator, *exponent).number().value()}});
}

// Integers only: Python's // of floats gives a float.
template <SymInt (*Operation)(const SymInt&, const SymInt&)>
Evaluated two_integers(const Values& values, const ShapeEnv& dimensions) {
  if (values.size() != 2) return {};
  const auto left = as_integer(values[0]);
  const auto right = as_integer(values[1]);
  if (!left || !right) return {};
  return integer(dimensions.simplify(Operation(*left, *right)));
}

SymInt floordiv_of(const SymInt& a, const SymInt& b) { return floordiv(a, b); }
SymInt mod_of(const SymInt& a, const SymInt& b) { return mod(a, b); }
SymInt min_of(const SymInt& a, const SymInt& b) { return min(a, b); }
SymInt max_of(const SymInt& a, const SymInt& b) { return max(a, b); }
SymInt shifted_left(const SymInt& a, const SymInt& b) { return a * power_of(2, b); }
SymInt shifted_right(const SymInt& a, const SymInt& b) { return floordiv(a, power_of(2, b)); }

Evaluated quotient_and_rest(const Values& values, const ShapeEnv& dimensions) {
  const auto quotient = two_integers<floordiv_of>(values, dimensions);
  const auto rest = two_integers<mod_of>(values, dimensions);
  if (quotient.known.is_unknown() || rest.known.is_unknown()) return {};
  return known_value({AbstractValue::Sequence{quotient.known, rest.known}});
}

template <SymInt (*Operation)(const SymInt&, const SymInt&)>
Evaluated extremum(const Values& values, const ShapeEnv& dimensions) {
  if (values.size() == 2) return two_integers<Operation>(values, dimensions);
  const auto items = values.size() == 1 ? as_integers(values[0]) : std::nullopt;
  if (!items || items->empty()) return {};
  SymInt result = (*items)[0];
  for (const SymInt& item : *items) result = Operation(result, item);
  return integer(dimensions.simplify(result));
}

Evaluated sum_of_list(const Values& values, const ShapeEnv& dimensions) {
  const auto items = as_integers(values[0]);
  if (!items) return {};
  SymInt sum = 0;
  for (const SymInt& item : *items) sum = sum + item;
  return integer(dimensions.simplify(sum));
}

Evaluated negate(const Values& values, const ShapeEnv&) {
  const auto value = as_ratio(values[0]);
  if (!value) return {};
  return is_float(values[0]) ? ratio(-value->numerator, value->denominator) : integer(-value->numerator);
}

Evaluated absolute(const Values& values, const ShapeEnv& dimensions) {
  const auto value = as_integer(values[0]);
  return value ? integer(dimensions.simplify(max(*value, -*value))) : Evaluated{};
}

Evaluated invert(const Values& values, const ShapeEnv&) {
  const auto* condition = values[0].get_if<Condition>();
  if (condition == nullptr) return {};
  return known_value({Condition{negated(condition->relation), condition->left, condition->right}});
}

Evaluated round_down(const Values& values, const ShapeEnv&) {
  const auto value = as_ratio(values[0]);
  if (!value) return {};
  return integer(floordiv(value->numerator, value->denominator));
}

Evaluated round_up(const Values& values, const ShapeEnv&) {
  const auto value = as_ratio(values[0]);
  if (!value) return {};
  return integer(ceildiv(value->numerator, value->denominator));
}

// int(x): towards zero.
Evaluated to_integer(const Values& values, const ShapeEnv& dimensions) {
  if (const TensorInfo* info = values[0].tensor()) {
    const TensorContent* content = info->find_content();
    return content != nullptr && content->elements.size() == 1 ? integer(content->elements[0]) : Evaluated{};
  }
  const auto value = as_ratio(values[0]);
  if (!value) return {};
  if (value->denominator == 1) return integer(value->numerator);
  if (dimensions.decide(Relation::kGreaterEqual, value->numerator, 0) != true) return {};
  return integer(floordiv(value->numerator, value->denominator));
}

Evaluated to_float(const Values& values, const ShapeEnv&) {
  const auto value = as_ratio(values[0]);
  return value ? ratio(value->numerator, value->denominator) : Evaluated{};
}

// A position in `count` things, counted from their end when negative.
std::optional<std::size_t> position_in(std::int64_t count, std::int64_t position) {
  if (position < 0) position += count;
  return position < 0 || position >= count ? std::nullopt : std::optional(static_cast<std::size_t>(position));
}

// The one that the second of two arguments names.
std::optional<std::size_t> position(const Values& values, std::int64_t count) {
  const auto number = values.size() == 2 ? literal_integer(values, 1) : std::nullopt;
  return number ? position_in(count, *number) : std::nullopt;
}

Evaluated size(const Values& values, const ShapeEnv&) {
  const TensorInfo* info = values[0].tensor();
  const auto dim = info == nullptr ? std::nullopt : position(values, info->dim());
  return dim ? integer(info->sizes[*dim]) : Evaluated{};
}

Evaluated number_of_dimensions(const TensorInfo& info, const ShapeEnv&) { return integer(info.dim()); }

SymInt product_of(std::span<const SymInt> sizes, SymInt product = 1) {
  for (const SymInt& size : sizes) product = product * size;
  return product;
}

Evaluated number_of_elements(const TensorInfo& info, const ShapeEnv& dimensions) {
  return integer(dimensions.simplify(product_of(info.sizes)));
}

Evaluated length(const Values& values, const ShapeEnv&) {
  if (const TensorInfo* info = values[0].tensor()) {
    return info->sizes.empty() ? Evaluated{} : integer(info->sizes[0]);
  }
  const auto* sequence = values[0].sequence();
  return sequence == nullptr ? Evaluated{} : integer(static_cast<std::int64_t>(sequence->size()));
}

// How often `for i in range(low, high, step)` runs.
Evaluated range_length(const Values& values, const ShapeEnv& dimensions) {
  const auto low = as_integer(values[0]);
  const auto high = as_integer(values[1]);
  const auto step = literal_integer(values, 2);
  if (!low || !high || !step || *step <= 0) return {};
  return integer(dimensions.simplify(max(0, ceildiv(*high - *low, *step))));
}

Evaluated element(const Values& values, const ShapeEnv&) {
  if (values.size() != 2 || !literal_integer(values, 1)) return {};
  const auto* sequence = values[0].sequence();
  if (sequence == nullptr) return {};
  const auto index = position(values, static_cast<std::int64_t>(sequence->size()));
  return index ? known_value((*sequence)[*index]) : Evaluated{};
}

// Of a list; of a tensor it is no business of this file.
Evaluated part_of_list(const Values& values, const ShapeEnv&) {
  if (values.size() != 4 || !literal_integer(values, 3)) return {};
  const auto* sequence = values[0].sequence();
  if (sequence == nullptr) return {};
  const auto positions = sliced_positions(sequence->size(), values, 1);
  if (!positions) return {};
  AbstractValue::Sequence part;
  for (const std::size_t place : *positions) part.push_back((*sequence)[place]);
  return known_value({std::move(part)});
}

// list(xs), xs.copy()
Evaluated same_list(const Values& values, const ShapeEnv&) {
  const bool is_list = values.size() == 1 && values[0].sequence() != nullptr;
  return is_list ? known_value(values[0]) : Evaluated{};
}

Evaluated dtype(const TensorInfo& info, const ShapeEnv&) {
  return info.dtype ? integer(static_cast<std::int64_t>(*info.dtype)) : Evaluated{};
}

// A node all the same, so that the graph can run on another device; only questions about it are answered.
Evaluated device(const TensorInfo& info, const ShapeEnv&) { return known_value({info.device}); }

// With the order of memory format: only that of the dimensions is known.
Evaluated contiguous(const Values& values, const ShapeEnv&) {
  const TensorInfo* info = values[0].tensor();
  if (info == nullptr || !info->contiguous) return {};
  const bool ordinary = values.size() == 1 || literal_integer(values, 1) == kContiguousFormat;
  return ordinary ? boolean(*info->contiguous) : Evaluated{};
}

// x.stride(dim) of a tensor that has its elements in order.
Evaluated stride(const Values& values, const ShapeEnv& dimensions) {
  const TensorInfo* info = values[0].tensor();
  if (info == nullptr || info->contiguous != true) return {};
  const auto dim = position(values, info->dim());
  if (!dim) return {};
  SymInt product = 1;
  // Strides of dimensions with one element may be anything, and an empty one counts as 1.
  for (std::size_t i = *dim; i < info->sizes.size(); ++i) {
    const SymInt& size = info->sizes[i];
    if (dimensions.decide(Relation::kGreater, size, 1) != true) return {};
    if (i > *dim) product = product * size;
  }
  return integer(dimensions.simplify(product));
}

Evaluated element_size(const TensorInfo& info, const ShapeEnv&) {
  return info.dtype ? integer(item_size(*info.dtype)) : Evaluated{};
}

Evaluated number_of_bytes(const TensorInfo& info, const ShapeEnv& dimensions) {
  if (!info.dtype || info.sparse_dim) return {};
  return integer(dimensions.simplify(product_of(info.sizes, item_size(*info.dtype))));
}

Evaluated layout(const TensorInfo& info, const ShapeEnv&) {
  return integer(info.sparse_dim ? kSparseLayout : kStridedLayout);
}

Evaluated asks_if_sparse(const TensorInfo& info, const ShapeEnv&) {
  return boolean(info.sparse_dim.has_value());
}

// str(x.device)
Evaluated text(const Values& values, const ShapeEnv&) {
  if (const auto* device = values[0].get_if<Device>()) return plain({device->text()});
  const SymInt* integer = values[0].integer();
  const auto number = integer == nullptr ? std::nullopt : integer->number();
  return number ? plain({std::to_string(*number)}) : Evaluated{};
}

Evaluated device_index(const Values& values, const ShapeEnv&) {
  const auto* device = values[0].get_if<Device>();
  if (device == nullptr) return {};
  return device->index < 0 ? plain({NoneValue{}}) : integer(device->index);
}

// x.get_device(): -1 on the CPU.
Evaluated device_number(const TensorInfo& info, const ShapeEnv&) {
  return info.device.is_cpu() ? integer(-1) : Evaluated{};
}

Evaluated same_sizes(const Values& values, const ShapeEnv& dimensions) {
  const TensorInfo *first = values[0].tensor(), *second = values[1].tensor();
  if (first == nullptr || second == nullptr) return {};
  if (first->dim() != second->dim()) return boolean(false);
  bool certain = true;
  for (std::size_t i = 0; i < first->sizes.size(); ++i) {
    const auto same = dimensions.decide(Relation::kEqual, first->sizes[i], second->sizes[i]);
    if (same == false) return boolean(false);
    certain = certain && same == true;
  }
  return certain ? boolean(true) : Evaluated{};
}

Evaluated device_type(const Values& values, const ShapeEnv&) {
  const auto* device = values[0].get_if<Device>();
  return device != nullptr ? plain({device->type}) : Evaluated{};
}

template <bool (*Question)(ScalarType)>
Evaluated ask_dtype(const TensorInfo& info, const ShapeEnv&) {
  return info.dtype ? boolean(Question(*info.dtype)) : Evaluated{};
}

Evaluated has_sign(const TensorInfo& info, const ShapeEnv&) {
  const auto answer = info.dtype ? is_signed(*info.dtype) : std::nullopt;
  return answer ? boolean(*answer) : Evaluated{};
}

Evaluated requires_grad(const TensorInfo& info, const ShapeEnv&) {
  return info.requires_grad ? boolean(*info.requires_grad) : Evaluated{};
}

// any([...]) with one that is true, all([...]) with one that is false.
template <bool Value>
Evaluated among(const Values& values, const ShapeEnv&) {
  const auto* items = values.size() == 1 ? values[0].sequence() : nullptr;
  const bool found = items != nullptr && std::ranges::any_of(*items, [](const AbstractValue& item) {
                       const auto* flag = item.get_if<bool>();
                       return flag != nullptr && *flag == Value;
                     });
  return found ? boolean(Value) : Evaluated{};
}

// Layouts without strides have no sizes here.
Evaluated is_dense(const TensorInfo&, const ShapeEnv&) { return boolean(false); }

template <Evaluated (*Answer)(const TensorInfo&, const ShapeEnv&)>
Evaluated of_tensor(const Values& values, const ShapeEnv& dimensions) {
  const TensorInfo* info = values[0].tensor();
  return info != nullptr ? Answer(*info, dimensions) : Evaluated{};
}

// prim::is_cuda and the like.
Evaluated is_on(std::string_view device, const Values& values) {
  static const std::unordered_set<std::string_view> devices{"cuda", "cpu",  "meta", "mps",    "xpu",
                                                            "ipu",  "maia", "mtia", "vulkan", "xla"};
  const TensorInfo* info = devices.contains(device) ? values[0].tensor() : nullptr;
  return info != nullptr ? boolean(info->device.type == device) : Evaluated{};
}

using Function = Evaluated (*)(const Values&, const ShapeEnv&);

const std::unordered_map<std::string_view, Function>& functions() {
  static const std::unordered_map<std::string_view, Function> table = {
      {"aten::size", size},
      {"aten::sym_size", size},
      {"aten::dim", of_tensor<number_of_dimensions>},
      {"aten::ndimension", of_tensor<number_of_dimensions>},
      {"prim::ndim", of_tensor<number_of_dimensions>},
      {"aten::numel", of_tensor<number_of_elements>},
      {"aten::sym_numel", of_tensor<number_of_elements>},
      {"aten::len", length},
      {"aten::is_floating_point", of_tensor<ask_dtype<is_floating>>},
      {"aten::is_complex", of_tensor<ask_dtype<is_complex>>},
      {"aten::is_signed", of_tensor<has_sign>},
      {"aten::is_contiguous", contiguous},
      {"aten::stride", stride},
      {"aten::element_size", of_tensor<element_size>},
      {"prim::itemsize", of_tensor<element_size>},
      {"prim::nbytes", of_tensor<number_of_bytes>},
      {"aten::is_same_size", same_sizes},
      {"aten::str", text},
      {"prim::index", device_index},
      {"aten::get_device", of_tensor<device_number>},
      {"prim::layout", of_tensor<layout>},
      {"prim::dtype", of_tensor<dtype>},
      {"prim::device", of_tensor<device>},
      {"prim::type", device_type},
      {"prim::requires_grad", of_tensor<requires_grad>},
      {"aten::any", among<true>},
      {"aten::all", among<false>},
      {"prim::is_quantized", of_tensor<ask_dtype<is_quantized>>},
      {"prim::is_nested", of_tensor<is_dense>},
      {"prim::is_sparse", of_tensor<asks_if_sparse>},
      {"prim::is_sparse_csr", of_tensor<is_dense>},
      {"prim::is_mkldnn", of_tensor<is_dense>},
      {"aten::add", add_values<1>},
      {"aten::sub", add_values<-1>},
      {"aten::mul", multiply},
      {"aten::div", quotient},
      {"aten::truediv", quotient},
      {"aten::floordiv", two_integers<floordiv_of>},
      {"aten::remainder", two_integers<mod_of>},
      {"aten::divmod", quotient_and_rest},
      {"prim::min", extremum<min_of>},
      {"prim::max", extremum<max_of>},
      {"aten::pow", power_of_value},
      {"aten::__lshift__", two_integers<shifted_left>},
      {"aten::__rshift__", two_integers<shifted_right>},
      {"aten::sum", sum_of_list},
      {"aten::neg", negate},
      {"aten::abs", absolute},
      {"prim::abs", absolute},
      {"aten::__not__", invert},
      {"aten::floor", round_down},
      {"aten::ceil", round_up},
      {"aten::Int", to_integer},
      {"aten::IntImplicit", to_integer},
      {"aten::item", to_integer},
      {"aten::ScalarImplicit", to_integer},
      {"aten::Float", to_float},
      {"aten::eq", compare_values<Relation::kEqual>},
      {"aten::ne", compare_values<Relation::kNotEqual>},
      {"aten::lt", compare_values<Relation::kLess>},
      {"aten::le", compare_values<Relation::kLessEqual>},
      {"aten::gt", compare_values<Relation::kGreater>},
      {"aten::ge", compare_values<Relation::kGreaterEqual>},
      {"aten::__range_length", range_length},
      {"aten::__getitem__", element},
      {"aten::slice", part_of_list},
      {"aten::list", same_list},
      {"aten::copy", same_list},
  };
  return table;
}

using Elements = std::vector<SymInt>;

// Those of a tensor, of tensors or numbers in a list, or a number beside a tensor.
Elements elements_of(const AbstractValue& value) {
  if (const TensorInfo* info = value.tensor()) {
    const TensorContent* content = info->find_content();
    return content != nullptr ? content->elements : Elements{};
  }
  if (const auto* items = value.sequence()) {
    Elements all;
    for (const AbstractValue& item : *items) {
      const Elements more = item.sequence() != nullptr ? Elements{} : elements_of(item);
      if (more.empty()) return {};
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  const auto number = as_integer(value);
  return number ? Elements{*number} : Elements{};
}

SymInt add_of(const SymInt& a, const SymInt& b) { return a + b; }
SymInt sub_of(const SymInt& a, const SymInt& b) { return a - b; }
SymInt rsub_of(const SymInt& a, const SymInt& b) { return b - a; }
SymInt mul_of(const SymInt& a, const SymInt& b) { return a * b; }
// Towards zero.
SymInt truncdiv_of(const SymInt& a, const SymInt& b) {
  if (b.number().value() <= 0) throw CannotTell{};
  return max(floordiv(a, b), 0) + min(ceildiv(a, b), 0);
}
SymInt fmod_of(const SymInt& a, const SymInt& b) { return a - b * truncdiv_of(a, b); }

using BinaryOnElements = SymInt (*)(const SymInt&, const SymInt&);

const std::unordered_map<std::string_view, BinaryOnElements>& element_functions() {
  static const std::unordered_map<std::string_view, BinaryOnElements> table = {
      {"aten::add", add_of},
      {"aten::sub", sub_of},
      {"aten::rsub", rsub_of},
      {"aten::mul", mul_of},
      {"aten::remainder", mod_of},
      {"aten::fmod", fmod_of},
      {"aten::maximum", max_of},
      {"aten::max", max_of},
      {"aten::clamp_min", max_of},
      {"aten::minimum", min_of},
      {"aten::min", min_of},
      {"aten::clamp_max", min_of},
      {"aten::pow", power_of},
      {"aten::__lshift__", shifted_left},
      {"aten::bitwise_left_shift", shifted_left},
      {"aten::__rshift__", shifted_right},
      {"aten::bitwise_right_shift", shifted_right},
      {"aten::floor_divide", floordiv_of}};
  return table;
}

// What has the elements of its first argument, in order.
const std::unordered_set<std::string_view>& element_keepers() {
  static const std::unordered_set<std::string_view> names{
      "prim::NumToTensor",     "aten::scalar_tensor", "aten::tensor",  "aten::as_tensor",
      "aten::_list_to_tensor", "aten::clone",         "aten::detach",  "aten::to",
      "aten::alias",           "aten::positive",      "aten::floor",   "aten::ceil",
      "aten::trunc",           "aten::stack",         "aten::cat",     "aten::reshape",
      "aten::flatten",         "aten::unsqueeze",     "aten::squeeze", "aten::contiguous"};
  return names;
}

const std::unordered_map<std::string_view, SymInt (*)(const SymInt&)>& unary_element_functions() {
  static const std::unordered_map<std::string_view, SymInt (*)(const SymInt&)> table = {
      {"aten::neg", [](const SymInt& x) { return -x; }},
      {"aten::abs", [](const SymInt& x) { return max(x, -x); }},
      {"aten::square", [](const SymInt& x) { return x * x; }}};
  return table;
}

// All elements become one; those that run over them, cumsum() and cumprod(), leave one at each.
const std::unordered_map<std::string_view, BinaryOnElements>& element_reductions() {
  static const std::unordered_map<std::string_view, BinaryOnElements> table = {
      {"aten::sum", add_of}, {"aten::prod", mul_of}, {"aten::max", max_of},    {"aten::amax", max_of},
      {"aten::min", min_of}, {"aten::amin", min_of}, {"aten::cumsum", add_of}, {"aten::cumprod", mul_of}};
  return table;
}

Elements element_by_element(BinaryOnElements function, const Elements& left, const Elements& right) {
  Elements result;
  const std::size_t count = std::max(left.size(), right.size());
  for (const Elements* each : {&left, &right}) {
    if (each->empty() || (each->size() != count && each->size() != 1)) return {};
  }
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(function(left[left.size() == 1 ? 0 : i], right[right.size() == 1 ? 0 : i]));
  return result;
}

Elements clamped(const Values& values, Elements result) {
  for (const std::size_t i : {1, 2}) {
    if (i >= values.size() || values.type(i).kind == ValueType::Kind::kNone) continue;
    result = element_by_element(i == 1 ? max_of : min_of, result, elements_of(values[i]));
  }
  return result;
}

Elements parts_of_elements(std::string_view name, const Values& values, const Elements& of) {
  if (name == "aten::flip") return {of.rbegin(), of.rend()};
  Elements result;
  if (name == "aten::select") {
    const auto index = literal_integer(values, 2);
    const auto at = index ? position_in(std::ssize(of), *index) : std::nullopt;
    if (at) result.push_back(of[*at]);
  } else if (const auto positions = sliced_positions(of.size(), values, 2)) {
    for (const std::size_t at : *positions) result.push_back(of[at]);
  }
  return result;
}

Elements elements_after(std::string_view name, const Values& values, std::size_t count) {
  if (name == "aten::_shape_as_tensor") {
    const TensorInfo* info = values[0].tensor();
    return info != nullptr ? info->sizes : Elements{};
  }
  const Elements left = values[0].get_if<bool>() != nullptr ? Elements{} : elements_of(values[0]);
  if (left.empty()) return {};
  // Of another dtype, a view has other numbers.
  if (name == "aten::view") return values[1].sequence() != nullptr ? left : Elements{};
  if (element_keepers().contains(name)) return left;
  if (const auto found = unary_element_functions().find(name); found != unary_element_functions().end()) {
    Elements result;
    for (const SymInt& element : left) result.push_back(found->second(element));
    return result;
  }
  if (name == "aten::clamp") return clamped(values, left);
  if (name == "aten::select" || name == "aten::slice" || name == "aten::flip")
    return parts_of_elements(name, values, left);
  const bool is_scan = name.starts_with("aten::cum");
  const auto reduction = element_reductions().find(name);
  const bool has_other = values.size() == 2 && (name == "aten::max" || name == "aten::min");
  if (reduction != element_reductions().end() && (is_scan || count == 1) && !has_other) {
    Elements result = left;
    for (std::size_t i = 1; i < result.size(); ++i) result[i] = reduction->second(result[i - 1], result[i]);
    return is_scan ? result : Elements{result.back()};
  }
  const Elements right = elements_of(values[1]);
  if (name == "aten::div") {
    const auto* rounding = values.size() == 3 ? values[2].get_if<std::string>() : nullptr;
    if (rounding == nullptr) return {};
    return element_by_element(*rounding == "floor" ? floordiv_of : truncdiv_of, left, right);
  }
  const auto function = element_functions().find(name);
  // alpha, of which anything but 1 is rare.
  if (function == element_functions().end() || (values.size() > 2 && literal_integer(values, 2) != 1))
    return {};
  return element_by_element(function->second, left, right);
}

}  // namespace

Evaluated evaluate_plain(std::string_view name, const Values& values, const ShapeEnv& dimensions) {
  constexpr std::string_view kIsOn = "prim::is_";
  try {
    if (const auto found = functions().find(name); found != functions().end())
      return found->second(values, dimensions);
    return name.starts_with(kIsOn) ? is_on(name.substr(kIsOn.size()), values) : Evaluated{};
  } catch (const SymbolicError&) {
    return {};
  } catch (const CannotTell&) {
    return {};  // fewer arguments than the operator of that name that is meant
  } catch (const std::bad_optional_access&) {
    return {};
  }
}

std::optional<ChangedList> changed_list(std::string_view name, const Values& values) {
  static const std::unordered_set<std::string_view> names{"aten::reverse",   "aten::clear", "aten::append",
                                                          "aten::extend",    "aten::add_",  "aten::insert",
                                                          "aten::_set_item", "aten::pop",   "aten::Delete"};
  const auto* items = values.size() == 0 || !names.contains(name) ? nullptr : values[0].sequence();
  if (items == nullptr) return std::nullopt;
  AbstractValue::Sequence list = *items;
  const auto count = static_cast<std::int64_t>(list.size());
  const auto place = [&](std::optional<std::int64_t> position) {
    const auto found = position ? position_in(count, *position) : std::nullopt;
    return found ? std::optional(list.begin() + static_cast<std::ptrdiff_t>(*found)) : std::nullopt;
  };
  if (name == "aten::reverse") {
    std::ranges::reverse(list);
  } else if (name == "aten::clear") {
    list.clear();
  } else if (name == "aten::append" && values.size() == 2 && list.size() < kMostElements) {
    list.push_back(values[1]);
  } else if ((name == "aten::extend" || name == "aten::add_") && values.size() == 2) {
    auto all = joined_sequences(values[0], values[1]);
    if (!all) return std::nullopt;
    list = std::move(*all);
  } else if (name == "aten::insert" && values.size() == 3 && list.size() < kMostElements) {
    const auto position = literal_integer(values, 1);
    if (!position) return std::nullopt;
    const std::int64_t at = *position < 0 ? *position + count : *position;  // any: it is cut to the list
    list.insert(list.begin() + std::clamp<std::int64_t>(at, 0, count), values[2]);
  } else if (name == "aten::_set_item" && values.size() == 3) {
    const auto at = place(literal_integer(values, 1));
    if (!at) return std::nullopt;
    **at = values[2];
  } else if (name == "aten::pop" || name == "aten::Delete") {
    const auto at = place(values.size() > 1 ? literal_integer(values, 1) : -1);
    if (!at) return std::nullopt;
    AbstractValue taken = std::move(**at);
    list.erase(*at);
    return ChangedList{std::move(list), std::move(taken)};
  } else {
    return std::nullopt;
  }
  return ChangedList{std::move(list), {}};
}

std::vector<SymInt> evaluate_elements(std::string_view name, const Values& values, std::size_t count) {
  try {
    Elements result = elements_after(name, values, count);
    return result.size() == count ? result : Elements{};
  } catch (const SymbolicError&) {
    return {};
  } catch (const CannotTell&) {
    return {};
  } catch (const std::bad_optional_access&) {
    return {};
  }
}

}  // namespace fxtrace
