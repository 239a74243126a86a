#include "opinfo/rules/checks.h"

#include <string>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

// Memory formats with channels last need tensors of four dimensions (images) or five (volumes).
void check_memory_format(const RuleArguments& args) {
  if (!args.is_given("memory_format")) return;
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr) return;
  const std::int64_t format = args.number("memory_format");
  if (format == kChannelsLastFormat) require_rank(*info, {4}, first_argument(args));
  if (format == kChannelsLast3dFormat) require_rank(*info, {5}, first_argument(args));
}

void check_precision(const RuleArguments& args, bool for_half) {
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr || !info->dtype) return;
  // Kernels accept any dtype for empty tensors.
  if (args.dimensions.decide(Relation::kEqual, product(info->sizes), 0) == true) return;
  const bool is_short = *info->dtype == ScalarType::kFloat16 || *info->dtype == ScalarType::kBfloat16;
  if (is_integral(*info->dtype) || (!for_half && is_short && info->device.is_cpu())) {
    throw Raises{std::string(first_argument(args)) + " is " + dtype_name(*info->dtype) + ", expected " +
                 (for_half ? "a floating or complex dtype" : "float32, float64 or a complex dtype")};
  }
}

void check_same_type(const RuleArguments& args, const std::array<std::string_view, 2>& names) {
  const TensorInfo* first = find_tensor(args, names.front());
  if (first == nullptr) return;
  for (const std::string_view name : names) {
    const TensorInfo* other = find_tensor(args, name);
    if (other == nullptr) continue;
    require_same_dtype(first->dtype, other->dtype, {names.front(), name});
  }
}

}  // namespace

void check_floating(const RuleArguments& args) {
  if (args.is_given("dtype")) return;
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr || !info->dtype || !info->device.is_cpu()) return;
  if (*info->dtype == ScalarType::kInt64 || *info->dtype == ScalarType::kInt32 ||
      *info->dtype == ScalarType::kInt16) {
    throw Raises{std::string(first_argument(args)) + " is " + dtype_name(*info->dtype) +
                 ", expected a floating dtype"};
  }
}

void check_dim(const RuleArguments& args) {
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info != nullptr) normalize_dim(args.number("dim"), info->dim());
}

void check_call(const RuleArguments& args) {
  std::string_view name = args.name();
  if (name.ends_with('_')) name.remove_suffix(1);
  const OperatorFacts& facts = facts_of(name);
  try {
    if ((facts.traits & traits::kForFloats) != 0) check_floating(args);
    if ((facts.traits & traits::kNotForIntegers) != 0)
      check_precision(args, (facts.traits & traits::kNotForHalf) == 0);
    check_memory_format(args);
    if (!facts.same_dtype.front().empty()) check_same_type(args, facts.same_dtype);
    if (facts.check != nullptr) facts.check(args);
  } catch (const CannotTell&) {
    // Unknown arguments may be valid.
  }
}

}  // namespace fxtrace::internal
