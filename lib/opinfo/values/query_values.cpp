// Value rules of queries about sizes, dtypes and devices of tensors, whose elements may be unknown.
#include <algorithm>
#include <concepts>

#include "opinfo/rules/shape_helpers.h"
#include "opinfo/values/value_rules.h"

namespace fxtrace::internal::values {
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
