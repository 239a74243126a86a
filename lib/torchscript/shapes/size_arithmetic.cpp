#include "torchscript/shapes/size_arithmetic.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "torchscript/value.h"

namespace fxtrace {
namespace {

using Values = std::vector<at::IValue>;

std::optional<SymInt> as_integer(const at::IValue& value) {
  if (value.isInt()) return SymInt(value.toInt());
  if (value.isBool()) return SymInt(value.toBool() ? 1 : 0);
  if (const SymInt* integer = known_of(value).integer()) return *integer;
  return std::nullopt;
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

std::optional<Ratio> as_ratio(const at::IValue& value) {
  if (const auto integer = as_integer(value)) return Ratio{*integer, 1};
  if (value.isDouble()) return exact_ratio(value.toDouble());
  if (const auto* ratio = std::get_if<Ratio>(&known_of(value).value)) return *ratio;
  return std::nullopt;
}

std::optional<at::Device> as_device(const at::IValue& value) {
  if (value.isDevice()) return value.toDevice();
  const auto* device = std::get_if<at::Device>(&known_of(value).value);
  return device == nullptr ? std::nullopt : std::optional<at::Device>(*device);
}

bool is_float(const at::IValue& value) {
  return value.isDouble() || std::holds_alternative<Ratio>(known_of(value).value);
}

Evaluated integer(const SymInt& value) {
  if (const auto number = value.number()) return {at::IValue(*number), {}};
  return {std::nullopt, Known{value}};
}

Evaluated ratio(const SymInt& numerator, std::int64_t denominator) {
  if (const auto number = numerator.number()) {
    return {at::IValue(static_cast<double>(*number) / static_cast<double>(denominator)), {}};
  }
  // Python rounds at 53 bits; a product of sizes does not get there.
  return {std::nullopt, Known{Ratio{numerator, denominator}}};
}

Evaluated boolean(bool value) { return {at::IValue(value), {}}; }

Evaluated compare(Relation relation, const SymInt& left, const SymInt& right, const Dimensions& dimensions) {
  if (const auto decided = dimensions.decide(relation, left, right)) return boolean(*decided);
  return {std::nullopt, Known{Condition{relation, left, right}}};
}

std::optional<std::vector<SymInt>> as_integers(const at::IValue& value) {
  std::vector<SymInt> items;
  if (value.isList()) {
    for (const at::IValue& item : value.toListRef()) {
      const auto number = as_integer(item);
      if (!number || item.isBool()) return std::nullopt;
      items.push_back(*number);
    }
    return items;
  }
  const auto* sequence = known_of(value).sequence();
  if (sequence == nullptr) return std::nullopt;
  for (const Known& item : *sequence) {
    if (item.integer() == nullptr) return std::nullopt;
    items.push_back(*item.integer());
  }
  return items;
}

// [a, b] == [c, d]
Evaluated compare_lists(bool equal, const Values& values, const Dimensions& dimensions) {
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
  return {std::nullopt, Known{Condition{equal ? Relation::kEqual : Relation::kNotEqual, (*left)[open[0]],
                                        (*right)[open[0]]}}};
}

template <Relation Asked>
Evaluated compare_values(const Values& values, const Dimensions& dimensions) {
  if (values.size() != 2) return {};
  if constexpr (Asked == Relation::kEqual || Asked == Relation::kNotEqual) {
    const Evaluated lists = compare_lists(Asked == Relation::kEqual, values, dimensions);
    if (lists.plain || !lists.known.is_unknown()) return lists;
    const auto first = as_device(values[0]);
    const auto second = as_device(values[1]);
    if (first && second) return boolean((*first == *second) == (Asked == Relation::kEqual));
  }
  const auto left = as_ratio(values[0]);
  const auto right = as_ratio(values[1]);
  if (!left || !right) return {};
  return compare(Asked, left->numerator * right->denominator, right->numerator * left->denominator,
                 dimensions);
}

// Positions in a list of `count` that slice(start, end, step) names, as Python has it.
std::optional<std::vector<std::size_t>> sliced_positions(std::size_t count, const at::IValue& start,
                                                         const at::IValue& end, const at::IValue& step) {
  if (!step.isInt() || step.toInt() == 0) return std::nullopt;
  const auto size = static_cast<std::int64_t>(count);
  const bool forwards = step.toInt() > 0;
  const std::int64_t lowest = forwards ? 0 : -1, highest = forwards ? size : size - 1;
  const auto bound = [&](const at::IValue& value, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (value.isNone()) return otherwise;
    if (!value.isInt()) return std::nullopt;
    return std::clamp(value.toInt() < 0 ? value.toInt() + size : value.toInt(), lowest, highest);
  };
  const auto first = bound(start, forwards ? lowest : highest),
             last = bound(end, forwards ? highest : lowest);
  if (!first || !last) return std::nullopt;
  std::vector<std::size_t> positions;
  const std::int64_t stride = std::clamp(step.toInt(), -size - 1, size + 1);
  for (std::int64_t i = *first; forwards ? i < *last : i > *last; i += stride) {
    positions.push_back(static_cast<std::size_t>(i));
  }
  return positions;
}

// Elements of a list that is known, or that is made while tracing.
std::optional<Known::Sequence> as_sequence(const at::IValue& value) {
  if (value.isList()) {
    Known known = known_of_value(value);
    return std::get<Known::Sequence>(std::move(known.value));
  }
  const auto* sequence = known_of(value).sequence();
  return sequence == nullptr ? std::nullopt : std::optional(*sequence);
}

constexpr std::size_t kMostElements = 10'000;  // of a list that is remembered

std::optional<Known::Sequence> joined(const at::IValue& first, const at::IValue& second) {
  auto sequence = as_sequence(first);
  const auto more = as_sequence(second);
  if (!sequence || !more || sequence->size() + more->size() > kMostElements) return std::nullopt;
  sequence->insert(sequence->end(), more->begin(), more->end());
  return sequence;
}

Evaluated sum(const Ratio& a, const Ratio& b, bool is_integer) {
  if (is_integer) return integer(a.numerator + b.numerator);
  if (a.denominator == b.denominator) return ratio(a.numerator + b.numerator, a.denominator);
  return ratio(a.numerator * b.denominator + b.numerator * a.denominator,
               (SymInt(a.denominator) * b.denominator).number().value());
}

template <int Sign>
Evaluated add_values(const Values& values, const Dimensions&) {
  // The number that the second is multiplied by belongs to tensors.
  if (values.size() != 2) return {};
  if (Sign > 0) {
    if (auto list = joined(values[0], values[1])) return {std::nullopt, Known{std::move(*list)}};
  }
  const auto left = as_ratio(values[0]);
  auto right = as_ratio(values[1]);
  if (!left || !right) return {};
  if (Sign < 0) right->numerator = -right->numerator;
  return sum(*left, *right, !is_float(values[0]) && !is_float(values[1]));
}

Evaluated multiply(const Values& values, const Dimensions&) {
  const auto left = as_ratio(values.at(0));
  const auto right = as_ratio(values.at(1));
  if (!left || !right) return {};
  const SymInt product = left->numerator * right->numerator;
  if (!is_float(values[0]) && !is_float(values[1])) return integer(product);
  return ratio(product, (SymInt(left->denominator) * right->denominator).number().value());
}

Evaluated divide(const Values& values, const Dimensions&) {
  if (values.size() != 2) return {};
  const auto left = as_ratio(values[0]);
  const auto right = as_ratio(values[1]);
  if (!left || !right) return {};
  const auto by = right->numerator.number();
  if (!by || *by <= 0) return {};
  return ratio(left->numerator * right->denominator, (SymInt(left->denominator) * *by).number().value());
}

// Integers only: Python's // of floats gives a float.
template <SymInt (*Operation)(const SymInt&, const SymInt&)>
Evaluated two_integers(const Values& values, const Dimensions& dimensions) {
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

template <SymInt (*Operation)(const SymInt&, const SymInt&)>
Evaluated extremum(const Values& values, const Dimensions& dimensions) {
  if (values.size() == 2) return two_integers<Operation>(values, dimensions);
  const auto items = values.size() == 1 ? as_integers(values[0]) : std::nullopt;
  if (!items || items->empty()) return {};
  SymInt result = (*items)[0];
  for (const SymInt& item : *items) result = Operation(result, item);
  return integer(dimensions.simplify(result));
}

Evaluated negate(const Values& values, const Dimensions&) {
  const auto value = as_ratio(values.at(0));
  if (!value) return {};
  return is_float(values[0]) ? ratio(-value->numerator, value->denominator) : integer(-value->numerator);
}

Evaluated absolute(const Values& values, const Dimensions& dimensions) {
  const auto value = as_integer(values.at(0));
  return value ? integer(dimensions.simplify(max(*value, -*value))) : Evaluated{};
}

Evaluated invert(const Values& values, const Dimensions&) {
  const auto* condition = std::get_if<Condition>(&known_of(values.at(0)).value);
  if (condition == nullptr) return {};
  return {std::nullopt, Known{Condition{negated(condition->relation), condition->left, condition->right}}};
}

Evaluated round_down(const Values& values, const Dimensions&) {
  const auto value = as_ratio(values.at(0));
  if (!value) return {};
  return integer(floordiv(value->numerator, value->denominator));
}

Evaluated round_up(const Values& values, const Dimensions&) {
  const auto value = as_ratio(values.at(0));
  if (!value) return {};
  return integer(ceildiv(value->numerator, value->denominator));
}

// int(x): towards zero.
Evaluated to_integer(const Values& values, const Dimensions& dimensions) {
  if (const auto info = find_tensor_info(values.at(0))) {
    const TensorContent* content = info->find_content();
    return content != nullptr && content->element ? integer(*content->element) : Evaluated{};
  }
  const auto value = as_ratio(values[0]);
  if (!value) return {};
  if (value->denominator == 1) return integer(value->numerator);
  if (dimensions.decide(Relation::kGreaterEqual, value->numerator, 0) != true) return {};
  return integer(floordiv(value->numerator, value->denominator));
}

Evaluated to_float(const Values& values, const Dimensions&) {
  const auto value = as_ratio(values.at(0));
  return value ? ratio(value->numerator, value->denominator) : Evaluated{};
}

Evaluated size(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  if (!info || values.size() != 2 || !values[1].isInt()) return {};
  std::int64_t dim = values[1].toInt();
  if (dim < 0) dim += info->dim();
  if (dim < 0 || dim >= info->dim()) return {};
  return integer(info->sizes[static_cast<std::size_t>(dim)]);
}

Evaluated number_of_dimensions(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info ? integer(info->dim()) : Evaluated{};
}

Evaluated number_of_elements(const Values& values, const Dimensions& dimensions) {
  const auto info = find_tensor_info(values.at(0));
  if (!info) return {};
  SymInt product(1);
  for (const SymInt& size : info->sizes) product = product * size;
  return integer(dimensions.simplify(product));
}

Evaluated length(const Values& values, const Dimensions&) {
  if (const auto info = find_tensor_info(values.at(0))) {
    return info->sizes.empty() ? Evaluated{} : integer(info->sizes[0]);
  }
  const auto* sequence = known_of(values[0]).sequence();
  return sequence == nullptr ? Evaluated{} : integer(static_cast<std::int64_t>(sequence->size()));
}

// How often `for i in range(low, high, step)` runs.
Evaluated range_length(const Values& values, const Dimensions& dimensions) {
  const auto low = as_integer(values.at(0));
  const auto high = as_integer(values.at(1));
  if (!low || !high || !values.at(2).isInt() || values[2].toInt() <= 0) return {};
  return integer(dimensions.simplify(max(0, ceildiv(*high - *low, values[2].toInt()))));
}

Evaluated element(const Values& values, const Dimensions&) {
  const auto* sequence = known_of(values.at(0)).sequence();
  if (sequence == nullptr || values.size() != 2 || !values[1].isInt()) return {};
  std::int64_t index = values[1].toInt();
  const auto count = static_cast<std::int64_t>(sequence->size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) return {};
  return {std::nullopt, (*sequence)[static_cast<std::size_t>(index)]};
}

// Of a list; of a tensor it is no business of this file.
Evaluated slice(const Values& values, const Dimensions&) {
  const auto* sequence = known_of(values.at(0)).sequence();
  if (sequence == nullptr || values.size() != 4) return {};
  const auto positions = sliced_positions(sequence->size(), values[1], values[2], values[3]);
  if (!positions) return {};
  Known::Sequence part;
  for (const std::size_t position : *positions) part.push_back((*sequence)[position]);
  return {std::nullopt, Known{std::move(part)}};
}

// list(xs), xs.copy()
Evaluated same_list(const Values& values, const Dimensions&) {
  if (values.size() != 1) return {};
  auto sequence = as_sequence(values[0]);
  return sequence ? Evaluated{std::nullopt, Known{std::move(*sequence)}} : Evaluated{};
}

Evaluated dtype(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  if (!info || !info->dtype) return {};
  return {at::IValue(static_cast<std::int64_t>(*info->dtype)), {}};
}

// A node all the same, so that the graph can run on another device; only questions about it are answered.
Evaluated device(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info ? Evaluated{std::nullopt, Known{info->device}} : Evaluated{};
}

// With the order of memory format: only that of the dimensions is known.
Evaluated contiguous(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  if (!info || !info->contiguous) return {};
  const bool ordinary =
      values.size() == 1 ||
      (values[1].isInt() && values[1].toInt() == static_cast<std::int64_t>(at::MemoryFormat::Contiguous));
  return ordinary ? boolean(*info->contiguous) : Evaluated{};
}

// x.stride(dim) of a tensor that has its elements in order.
Evaluated stride(const Values& values, const Dimensions& dimensions) {
  const auto info = find_tensor_info(values.at(0));
  if (!info || info->contiguous != true || values.size() != 2 || !values[1].isInt()) return {};
  std::int64_t dim = values[1].toInt();
  if (dim < 0) dim += info->dim();
  if (dim < 0 || dim >= info->dim()) return {};
  SymInt product = 1;
  // Strides of dimensions with one element may be anything, and an empty one counts as 1.
  for (std::int64_t i = dim; i < info->dim(); ++i) {
    const SymInt& size = info->sizes[static_cast<std::size_t>(i)];
    if (dimensions.decide(Relation::kGreater, size, 1) != true) return {};
    if (i > dim) product = product * size;
  }
  return integer(dimensions.simplify(product));
}

Evaluated element_size(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info && info->dtype ? integer(static_cast<std::int64_t>(at::elementSize(*info->dtype)))
                             : Evaluated{};
}

Evaluated number_of_bytes(const Values& values, const Dimensions& dimensions) {
  const auto info = find_tensor_info(values.at(0));
  if (!info || !info->dtype || info->sparse_dim) return {};
  SymInt product = static_cast<std::int64_t>(at::elementSize(*info->dtype));
  for (const SymInt& size : info->sizes) product = product * size;
  return integer(dimensions.simplify(product));
}

Evaluated layout(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  if (!info) return {};
  return {at::IValue(static_cast<std::int64_t>(info->sparse_dim ? at::kSparse : at::kStrided)), {}};
}

Evaluated is_sparse(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info ? boolean(info->sparse_dim.has_value()) : Evaluated{};
}

// str(x.device)
Evaluated text(const Values& values, const Dimensions&) {
  if (const auto found = as_device(values.at(0))) return {at::IValue(found->str()), {}};
  const auto number = as_integer(values[0]);
  const auto plain = number && !values[0].isBool() ? number->number() : std::nullopt;
  return plain ? Evaluated{at::IValue(std::to_string(*plain)), {}} : Evaluated{};
}

Evaluated device_index(const Values& values, const Dimensions&) {
  const auto found = as_device(values.at(0));
  if (!found) return {};
  return {found->has_index() ? at::IValue(static_cast<std::int64_t>(found->index())) : at::IValue(), {}};
}

// x.get_device(): -1 on the CPU.
Evaluated device_number(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info && info->device.is_cpu() ? integer(-1) : Evaluated{};
}

Evaluated same_sizes(const Values& values, const Dimensions& dimensions) {
  const auto first = find_tensor_info(values.at(0)), second = find_tensor_info(values.at(1));
  if (!first || !second) return {};
  if (first->dim() != second->dim()) return boolean(false);
  bool certain = true;
  for (std::size_t i = 0; i < first->sizes.size(); ++i) {
    const auto same = dimensions.decide(Relation::kEqual, first->sizes[i], second->sizes[i]);
    if (same == false) return boolean(false);
    certain = certain && same == true;
  }
  return certain ? boolean(true) : Evaluated{};
}

Evaluated device_type(const Values& values, const Dimensions&) {
  const auto found = as_device(values.at(0));
  return found ? Evaluated{at::IValue(at::DeviceTypeName(found->type(), true)), {}} : Evaluated{};
}

template <bool (*Question)(const at::ScalarType)>
Evaluated ask_dtype(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info && info->dtype ? boolean(Question(*info->dtype)) : Evaluated{};
}

bool is_floating(at::ScalarType type) { return at::isFloatingType(type); }
bool is_complex(at::ScalarType type) { return at::isComplexType(type); }
bool is_signed(at::ScalarType type) { return type != at::kBool && at::isSignedType(type); }

bool is_quantized(at::ScalarType type) { return at::isQIntType(type); }

Evaluated requires_grad(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info && info->requires_grad ? boolean(*info->requires_grad) : Evaluated{};
}

// any([...]) with one that is true, all([...]) with one that is false.
template <bool Value>
Evaluated among(const Values& values, const Dimensions&) {
  if (values.size() != 1 || !values[0].isList()) return {};
  for (const at::IValue& item : values[0].toListRef()) {
    if (item.isBool() && item.toBool() == Value) return boolean(Value);
  }
  return {};
}

// Layouts without strides have no sizes here.
Evaluated is_dense(const Values& values, const Dimensions&) {
  return find_tensor_info(values.at(0)) ? boolean(false) : Evaluated{};
}

template <at::DeviceType Kind>
Evaluated is_on(const Values& values, const Dimensions&) {
  const auto info = find_tensor_info(values.at(0));
  return info ? boolean(info->device.type() == Kind) : Evaluated{};
}

using Function = Evaluated (*)(const Values&, const Dimensions&);

const std::unordered_map<std::string_view, Function>& functions() {
  static const std::unordered_map<std::string_view, Function> table = {
      {"aten::size", size},
      {"aten::sym_size", size},
      {"aten::dim", number_of_dimensions},
      {"aten::ndimension", number_of_dimensions},
      {"prim::ndim", number_of_dimensions},
      {"aten::numel", number_of_elements},
      {"aten::sym_numel", number_of_elements},
      {"aten::len", length},
      {"aten::is_floating_point", ask_dtype<is_floating>},
      {"aten::is_complex", ask_dtype<is_complex>},
      {"aten::is_signed", ask_dtype<is_signed>},
      {"aten::is_contiguous", contiguous},
      {"aten::stride", stride},
      {"aten::element_size", element_size},
      {"prim::itemsize", element_size},
      {"prim::nbytes", number_of_bytes},
      {"aten::is_same_size", same_sizes},
      {"aten::str", text},
      {"prim::index", device_index},
      {"aten::get_device", device_number},
      {"prim::layout", layout},
      {"prim::dtype", dtype},
      {"prim::device", device},
      {"prim::type", device_type},
      {"prim::requires_grad", requires_grad},
      {"aten::any", among<true>},
      {"aten::all", among<false>},
      {"prim::is_quantized", ask_dtype<is_quantized>},
      {"prim::is_nested", is_dense},
      {"prim::is_sparse", is_sparse},
      {"prim::is_sparse_csr", is_dense},
      {"prim::is_mkldnn", is_dense},
      {"prim::is_cuda", is_on<at::kCUDA>},
      {"prim::is_cpu", is_on<at::kCPU>},
      {"prim::is_meta", is_on<at::kMeta>},
      {"prim::is_mps", is_on<at::kMPS>},
      {"prim::is_xpu", is_on<at::kXPU>},
      {"aten::add", add_values<1>},
      {"aten::sub", add_values<-1>},
      {"aten::mul", multiply},
      {"aten::div", divide},
      {"aten::truediv", divide},
      {"aten::floordiv", two_integers<floordiv_of>},
      {"aten::remainder", two_integers<mod_of>},
      {"prim::min", extremum<min_of>},
      {"prim::max", extremum<max_of>},
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
      {"aten::slice", slice},
      {"aten::list", same_list},
      {"aten::copy", same_list},
  };
  return table;
}

// A position in a list, counted from its end when negative.
std::optional<std::size_t> position_in(const Known::Sequence& list, const at::IValue& value, bool past_end) {
  if (!value.isInt()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(list.size());
  std::int64_t position = value.toInt() < 0 ? value.toInt() + count : value.toInt();
  if (past_end) position = std::clamp<std::int64_t>(position, 0, count);  // insert() takes any
  if (position < 0 || position >= count + (past_end ? 1 : 0)) return std::nullopt;
  return static_cast<std::size_t>(position);
}

// The element of a tensor, or a number beside it.
std::optional<SymInt> element_of(const at::IValue& value, const ReadConstant& constant) {
  if (value.isTensor()) return constant(value.toTensor());
  if (const auto info = find_tensor_info(value)) {
    const TensorContent* content = info->find_content();
    return content != nullptr ? content->element : std::nullopt;
  }
  return as_integer(value);
}

SymInt add_of(const SymInt& a, const SymInt& b) { return a + b; }
SymInt sub_of(const SymInt& a, const SymInt& b) { return a - b; }
SymInt mul_of(const SymInt& a, const SymInt& b) { return a * b; }

const std::unordered_map<std::string_view, SymInt (*)(const SymInt&, const SymInt&)>& element_functions() {
  static const std::unordered_map<std::string_view, SymInt (*)(const SymInt&, const SymInt&)> table = {
      {"aten::add", add_of},
      {"aten::sub", sub_of},
      {"aten::mul", mul_of},
      {"aten::remainder", mod_of},
      {"aten::maximum", max_of},
      {"aten::minimum", min_of},
      {"aten::floor_divide", floordiv_of}};
  return table;
}

const std::unordered_map<std::string_view, int>& element_keepers() {
  static const std::unordered_map<std::string_view, int> table = {
      {"prim::NumToTensor", 0}, {"aten::scalar_tensor", 0}, {"aten::tensor", 0}, {"aten::as_tensor", 0},
      {"aten::clone", 0},       {"aten::detach", 0},        {"aten::to", 0},     {"aten::alias", 0}};
  return table;
}

}  // namespace

std::optional<TensorInfo> find_tensor_info(const at::IValue& value) {
  if (const TensorInfo* info = known_of(value).tensor()) return *info;
  if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  const at::Tensor& tensor = value.toTensor();
  TensorInfo info;
  if (tensor.layout() == at::kSparse) {
    info.sparse_dim = tensor.sparse_dim();
  } else if (tensor.layout() != at::kStrided) {
    return std::nullopt;
  }
  info.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  info.dtype = tensor.scalar_type();
  info.device = tensor.device();
  info.requires_grad = tensor.requires_grad();
  if (!info.sparse_dim) info.contiguous = tensor.is_contiguous();
  return info;
}

namespace {

constexpr int kMaxNesting = 16;  // objects may hold themselves

Known known_at_depth(const at::IValue& value, int depth) {
  if (value.isCapsule()) return known_of(value);
  if (value.isNone()) return {NoneValue{}};
  if (value.isInt()) return {SymInt(value.toInt())};
  if (value.isDevice()) return {value.toDevice()};
  if (auto info = find_tensor_info(value)) return {std::move(*info)};
  if (depth >= kMaxNesting) return {};
  Known::Sequence items;
  if (value.isTuple()) {
    for (const auto& item : value.toTupleRef().elements()) items.push_back(known_at_depth(item, depth + 1));
    return {std::move(items)};
  }
  if (value.isList()) {
    for (const at::IValue& item : value.toListRef()) items.push_back(known_at_depth(item, depth + 1));
    return {std::move(items)};
  }
  if (value.isGenericDict()) {
    Known::Dict dict;
    for (const auto& entry : value.toGenericDict()) {
      dict.keys.push_back(entry.key());
      dict.values.push_back(known_at_depth(entry.value(), depth + 1));
    }
    return {std::move(dict)};
  }
  if (value.isObject() && !value.toObjectRef().type()->is_module()) {
    for (const at::IValue& item : value.toObjectRef().slots())
      items.push_back(known_at_depth(item, depth + 1));
    return {std::move(items)};
  }
  return {};
}

}  // namespace

Known known_of_value(const at::IValue& value) { return known_at_depth(value, 0); }

Evaluated evaluate_plain(const c10::FunctionSchema& schema, const Values& values,
                         const Dimensions& dimensions) {
  const auto found = functions().find(schema.name());
  if (found == functions().end() || values.empty()) return {};
  try {
    return found->second(values, dimensions);
  } catch (const SymbolicError&) {
    return {};
  } catch (const std::out_of_range&) {
    return {};  // fewer arguments than the operator of that name that is meant
  } catch (const std::bad_optional_access&) {
    return {};
  }
}

std::optional<ChangedList> changed_list(const c10::FunctionSchema& schema, const Values& values) {
  auto list = values.empty() ? std::nullopt : as_sequence(values[0]);
  if (!list) return std::nullopt;
  const std::string& name = schema.name();
  const auto place = [&](const at::IValue& position, bool past_end = false) {
    const auto found = position_in(*list, position, past_end);
    return found ? std::optional(list->begin() + static_cast<std::ptrdiff_t>(*found)) : std::nullopt;
  };
  if (name == "aten::reverse") {
    std::ranges::reverse(*list);
  } else if (name == "aten::clear") {
    list->clear();
  } else if (name == "aten::append" && values.size() == 2 && list->size() < kMostElements) {
    list->push_back(known_of_value(values[1]));
  } else if ((name == "aten::extend" || name == "aten::add_") && values.size() == 2) {
    list = joined(values[0], values[1]);
    if (!list) return std::nullopt;
  } else if (name == "aten::insert" && values.size() == 3 && list->size() < kMostElements) {
    const auto at = place(values[1], true);
    if (!at) return std::nullopt;
    list->insert(*at, known_of_value(values[2]));
  } else if (name == "aten::_set_item" && values.size() == 3) {
    const auto at = place(values[1]);
    if (!at) return std::nullopt;
    **at = known_of_value(values[2]);
  } else if (name == "aten::pop" || name == "aten::Delete") {
    const auto at = place(values.size() > 1 ? values[1] : at::IValue(-1));
    if (!at) return std::nullopt;
    Known taken = std::move(**at);
    list->erase(*at);
    return ChangedList{std::move(*list), std::move(taken)};
  } else {
    return std::nullopt;
  }
  return ChangedList{std::move(*list), {}};
}

std::optional<SymInt> evaluate_element(const c10::FunctionSchema& schema, const Values& values,
                                       const ReadConstant& constant) {
  if (values.empty()) return std::nullopt;
  try {
    if (element_keepers().count(schema.name()) != 0) {
      return values[0].isBool() ? std::nullopt : element_of(values[0], constant);
    }
    const auto function = element_functions().find(schema.name());
    if (function == element_functions().end() || values.size() < 2) return std::nullopt;
    // alpha, of which anything but 1 is rare.
    if (values.size() > 2 && !(values[2].isInt() && values[2].toInt() == 1)) return std::nullopt;
    const auto left = element_of(values[0], constant);
    const auto right = element_of(values[1], constant);
    if (!left || !right) return std::nullopt;
    return function->second(*left, *right);
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

}  // namespace fxtrace
