// Value rules that make tensors from numbers, and numbers from tensors.
#include <algorithm>
#include <cmath>
#include <concepts>

#include "opinfo/rules/shape_helpers.h"
#include "opinfo/values/number_values.h"
#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53

Results of_number(const ValueCall& call, const Element& element) {
  Array out = result(call);
  out.elements.assign(static_cast<std::size_t>(count_of(out.sizes)), element);
  return one_result(std::move(out));
}

}  // namespace

Results zeros(const ValueCall& call) {
  return of_number(call, converted(std::int64_t{0}, result(call).dtype));
}
Results ones(const ValueCall& call) {
  return of_number(call, converted(std::int64_t{1}, result(call).dtype));
}
Results full(const ValueCall& call) {
  const Array number = array(call, "fill_value");
  need(number.is_number);
  return of_number(call, fitting(number, result(call).dtype));
}
Results scalar(const ValueCall& call) {
  const Array number = array_of(call[0]);
  need(number.is_number);
  return of_number(call, fitting(number, result(call).dtype));
}

// prim::NumToTensor: LibTorch makes a float64 tensor of a float and the shape rule says float32, so that the
// value of a float is unknown.
Results number_as_tensor(const ValueCall& call) {
  need(array_of(call[0]).dtype == result(call).dtype);
  return scalar(call);
}

// --- tensors from lists ---

namespace {

void read_list(const AbstractValue& value, std::vector<const AbstractValue*>& items, std::size_t depth) {
  constexpr std::size_t kMaxDims = 16;
  const auto* list = value.sequence();
  if (list == nullptr) {
    items.push_back(&value);
  } else {
    need(depth < kMaxDims && list->size() <= kMaxKnownElements);
    for (const AbstractValue& item : *list) read_list(item, items, depth + 1);
  }
  need(items.size() <= kMaxKnownElements);
}

}  // namespace

// torch.tensor() of a number or nested lists, and as_tensor(), which also takes tensors.
Results tensor_of_list(const ValueCall& call) {
  Array out = result(call);
  if (call[0].tensor() != nullptr) return cast(call);
  need(!call.args.is_given("requires_grad") || !call.args.flag("requires_grad"));
  std::vector<const AbstractValue*> items;
  read_list(call[0], items, 0);
  for (const AbstractValue* item : items) {
    Array number = array_of(*item);
    // torch.tensor() takes tensors with one element as numbers.
    need(number.count() == 1 && number.dtype == array_of(*items[0]).dtype);
    // LibTorch first makes a tensor of the default dtype.
    if (is_floating(number.dtype)) number = cast(std::move(number), kDefaultFloat);
    out.elements.push_back(converted(only(number), out.dtype));
    need(is_floating(out.dtype) || out.dtype != ScalarType::kInt32 || out.elements.back() == only(number));
  }
  return one_result(std::move(out));
}

// --- ranges ---

namespace {

// Returns the numbers of a range; throws CannotTell unless they are the same however torch rounds.
Array range_of(long double start, long double step, Array out) {
  for (std::int64_t i = 0; i < nth(out.sizes, 0); ++i) {
    const long double number = start + step * static_cast<long double>(i);
    const Element stored = real_element(static_cast<double>(number), out.dtype);
    need(static_cast<long double>(real(stored)) == number);
    out.elements.push_back(stored);
  }
  return out;
}

Array number_or(const ValueCall& call, std::string_view name, std::int64_t otherwise) {
  return call.args.is_given(name) ? array(call, name) : Array{ScalarType::kInt64, {}, {otherwise}, true};
}

double exact_real(const Array& number) {
  const Element& element = nth(number.elements, 0);
  const double value = is_floating(number.dtype) ? real(element) : static_cast<double>(integer(element));
  need(std::abs(value) < kExact);
  return value;
}

}  // namespace

Results arange(const ValueCall& call) {
  Array out = result(call);
  const Array start = number_or(call, "start", 0), end = array(call, "end"),
              step = number_or(call, "step", 1);
  const double from = exact_real(start), by = exact_real(step);
  need((by > 0 && from <= exact_real(end)) || (by < 0 && from >= exact_real(end)));
  if (is_floating(out.dtype)) return one_result(range_of(from, by, std::move(out)));
  need(!is_floating(start.dtype) && !is_floating(end.dtype) && !is_floating(step.dtype) &&
       out.dtype != ScalarType::kBool);
  for (std::int64_t i = 0; i < nth(out.sizes, 0); ++i) {
    const Element number = integer(only(start)) + i * integer(only(step));
    out.elements.push_back(converted(number, out.dtype));
    need(out.elements.back() == number);
  }
  return one_result(std::move(out));
}

Results linspace(const ValueCall& call) {
  const double from = exact_real(array(call, "start")), to = exact_real(array(call, "end"));
  const std::int64_t steps = call.args.number("steps");
  Array out = result(call);
  const auto is_plain = [](double end) { return !(end == 0 && std::signbit(end)); };
  need(is_floating(out.dtype) && is_plain(from) && is_plain(to));
  if (steps < 2) return of_number(call, real_element(from, out.dtype));
  const long double step = (static_cast<long double>(to) - from) / static_cast<long double>(steps - 1);
  need(static_cast<long double>(real(real_element(static_cast<double>(step), out.dtype))) == step);
  out = range_of(from, step, std::move(out));
  need(real(out.elements.back()) == to);
  return one_result(std::move(out));
}

Results eye(const ValueCall& call) {
  const Array out = result(call);
  return one_result(filled(
      out, [&](const Dims& at) { return converted(std::int64_t{nth(at, 0) == nth(at, 1)}, out.dtype); }));
}

Results sizes_as_tensor(const ValueCall& call) {
  const TensorInfo* info = call[0].tensor();
  need(info != nullptr);
  Array out = result(call);
  for (const SymInt& size : info->sizes) out.elements.push_back(element_of(size, out.dtype));
  return one_result(std::move(out));
}

// --- numbers from tensors ---

Results item(const ValueCall& call) { return {number_value(tensor_array(call[0]))}; }

// Implicit conversion of an argument: from a tensor without dimensions, and to int only from integers.
Results implicit_scalar(const ValueCall& call) {
  need(call[0].tensor() != nullptr && call[0].tensor()->sizes.empty());
  return item(call);
}
Results implicit_integer(const ValueCall& call) {
  const Dtype dtype = call[0].tensor() != nullptr ? call[0].tensor()->dtype : std::nullopt;
  need(dtype && is_integral(*dtype) && *dtype != ScalarType::kBool);
  return implicit_scalar(call);
}
Results implicit_float(const ValueCall& call) {
  need(call[0].tensor() != nullptr && call[0].tensor()->sizes.empty());
  return to_float(call);
}

Results equal_tensors(const ValueCall& call) {
  const Array a = tensor_array(call[0]), b = tensor_array(call[1]);
  need(a.dtype == b.dtype);
  bool equal = a.sizes == b.sizes;
  for (std::size_t i = 0; i < a.elements.size() && equal; ++i)
    equal = holds(Relation::kEqual, a.elements[i], b.elements[i]);
  return {{equal}};
}

// Value rules of queries about sizes, dtypes and devices of tensors, whose elements may be unknown.

namespace {

const TensorInfo& info(const ValueCall& call, std::size_t i = 0) {
  const TensorInfo* found = call[i].tensor();
  need(found != nullptr);
  return *found;
}

Results answer(const SymInt& integer) { return {{integer}}; }
template <std::same_as<bool> Bool>
Results answer(Bool holds) {
  return {{holds}};
}

ScalarType known_dtype(const ValueCall& call) {
  need(info(call).dtype.has_value());
  return *info(call).dtype;
}

const Device& device_of(const ValueCall& call) {
  const auto* device = call[0].get_if<Device>();
  need(device != nullptr);
  return *device;
}

// Returns the dimension that the second argument names.
std::size_t dim(const ValueCall& call) { return position_in(info(call).dim(), whole(call, 1)); }

}  // namespace

Results size(const ValueCall& call) {
  if (call.size() == 2) return answer(info(call).sizes[dim(call)]);
  const auto& sizes = info(call).sizes;
  return {{AbstractValue::Sequence(sizes.begin(), sizes.end())}};
}
Results rank(const ValueCall& call) { return answer(info(call).dim()); }
Results element_count(const ValueCall& call) {
  return answer(call.args.dimensions.simplify(internal::product(info(call).sizes)));
}
Results length(const ValueCall& call) {
  if (const auto* items = call[0].sequence()) return answer(std::ssize(*items));
  need(!info(call).sizes.empty());
  return answer(info(call).sizes[0]);
}

Results is_floating_point(const ValueCall& call) { return answer(is_floating(known_dtype(call))); }
Results is_complex(const ValueCall& call) { return answer(internal::is_complex(known_dtype(call))); }
Results is_quantized(const ValueCall& call) { return answer(internal::is_quantized(known_dtype(call))); }
Results is_signed(const ValueCall& call) {
  const auto sign = internal::is_signed(known_dtype(call));
  need(sign.has_value());
  return answer(*sign);
}
Results item_size(const ValueCall& call) { return answer(internal::item_size(known_dtype(call))); }
Results byte_count(const ValueCall& call) {
  need(!info(call).sparse_dim);
  return answer(call.args.dimensions.simplify(
      internal::product(info(call).sizes, internal::item_size(known_dtype(call)))));
}
Results dtype(const ValueCall& call) { return answer(static_cast<std::int64_t>(known_dtype(call))); }

// The result is unknown for memory formats other than the contiguous one.
Results is_contiguous(const ValueCall& call) {
  need(info(call).contiguous && (call.size() == 1 || whole(call, 1) == kContiguousFormat));
  return answer(*info(call).contiguous);
}

// x.stride(dim) of a contiguous tensor.
Results stride(const ValueCall& call) {
  const TensorInfo& tensor = info(call);
  const ShapeEnv& dimensions = call.args.dimensions;
  need(tensor.contiguous == true && call.size() == 2);
  const std::size_t at = dim(call);
  // The stride of a dimension with one element is arbitrary, and an empty dimension counts as 1.
  for (std::size_t i = at; i < tensor.sizes.size(); ++i)
    need(dimensions.decide(Relation::kGreater, tensor.sizes[i], 1) == true);
  return answer(dimensions.simplify(internal::product(std::span(tensor.sizes).subspan(at + 1))));
}

Results is_same_size(const ValueCall& call) {
  const TensorInfo &first = info(call, 0), &second = info(call, 1);
  if (first.dim() != second.dim()) return answer(false);
  bool certain = true;
  for (std::size_t i = 0; i < first.sizes.size(); ++i) {
    const auto same = call.args.dimensions.decide(Relation::kEqual, first.sizes[i], second.sizes[i]);
    if (same == false) return answer(false);
    certain = certain && same == true;
  }
  need(certain);
  return answer(true);
}

Results layout(const ValueCall& call) {
  return answer(info(call).sparse_dim ? kSparseLayout : kStridedLayout);
}
Results is_sparse(const ValueCall& call) { return answer(info(call).sparse_dim.has_value()); }
// Tensors of layouts other than strided and sparse COO are unknown values, so that the answer is False.
Results is_strided(const ValueCall& call) {
  info(call);
  return answer(false);
}
Results requires_grad(const ValueCall& call) {
  need(info(call).requires_grad.has_value());
  return answer(*info(call).requires_grad);
}

// --- devices ---

Results device(const ValueCall& call) { return {{info(call).device}}; }
// x.get_device(): -1 on the CPU.
Results device_number(const ValueCall& call) {
  need(info(call).device.is_cpu());
  return answer(-1);
}
// prim::is_cuda and other attributes for device types.
Results is_on_device(const ValueCall& call) {
  constexpr std::string_view kIsOn = "prim::is_";
  return answer(info(call).device.type == call.args.name().substr(kIsOn.size()));
}
Results device_index(const ValueCall& call) {
  const int index = device_of(call).index;
  return {{index < 0 ? AbstractValue{NoneValue{}} : AbstractValue{SymInt(index)}}};
}
Results device_type(const ValueCall& call) { return {{device_of(call).type}}; }

// str() of a device or an integer.
Results text(const ValueCall& call) {
  if (const auto* device = call[0].get_if<Device>()) return {{device->text()}};
  return {{std::to_string(whole(call, 0))}};
}

}  // namespace fxtrace::internal::values
