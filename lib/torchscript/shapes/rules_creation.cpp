// Rules of operators that make tensors from sizes and numbers.
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "torchscript/shapes/rule_helpers.h"
#include "torchscript/shapes/size_arithmetic.h"
#include "torchscript/value.h"

namespace fxtrace {
namespace {

Dtype default_dtype() { return c10::get_default_dtype_as_scalartype(); }

// That of a Python number: int64, float32, bool.
Dtype scalar_dtype(const at::IValue& scalar) {
  Promotion promotion;
  promotion.add_scalar(scalar);
  return promotion.result();
}

// zeros(size), rand(size)
std::vector<Known> of_size(const RuleArguments& args) {
  return make(args.sizes("size"), dtype_or(args, "dtype", default_dtype()));
}

std::vector<Known> full(const RuleArguments& args) {
  return make(args.sizes("size"), dtype_or(args, "dtype", scalar_dtype(args.value("fill_value"))));
}

std::vector<Known> of_size_integers(const RuleArguments& args) {
  return make(args.sizes("size"), dtype_or(args, "dtype", at::kLong));
}

// zeros_like(x)
std::vector<Known> like(const RuleArguments& args) {
  const TensorInfo self = args.tensor(first_argument(args));
  return make(self.sizes, dtype_or(args, "dtype", self.dtype));
}

// x.new_zeros(size)
std::vector<Known> of_size_like(const RuleArguments& args) {
  return make(args.sizes("size"), dtype_or(args, "dtype", args.tensor("self").dtype));
}

std::vector<Known> randperm(const RuleArguments& args) {
  return make({args.size("n")}, dtype_or(args, "dtype", at::kLong));
}

std::vector<Known> arange(const RuleArguments& args) {
  bool integers = true;
  Promotion promotion;
  for (const std::string_view name : {"start", "end", "step"}) {
    if (!args.given(name)) continue;
    integers = integers && known_of_value(args.value(name)).integer() != nullptr;
    promotion.add_scalar(args.value(name));
  }
  Dtype dtype = promotion.result();
  if (dtype && c10::isFloatingType(*dtype)) dtype = default_dtype();
  dtype = dtype_or(args, "dtype", dtype);
  if (!integers) {
    // The numbers are rounded before they are counted.
    if (dtype == at::kLong) throw CannotTell{};
    const double start = args.given("start") ? args.real("start") : 0;
    const double step = args.given("step") ? args.real("step") : 1;
    const double count = std::ceil((args.real("end") - start) / step);
    constexpr double kLimit = 1e15;  // where floats still hold integers
    if (!(count >= 0 && count <= kLimit)) throw CannotTell{};
    return make({static_cast<std::int64_t>(count)}, dtype);
  }
  const SymInt start = args.given("start") ? args.size("start") : SymInt(0);
  const SymInt step = args.given("step") ? args.size("step") : SymInt(1);
  const SymInt distance = args.size("end") - start;
  if (decided(args.dimensions, Relation::kGreater, step, 0)) return make({ceildiv(distance, step)}, dtype);
  return make({ceildiv(-distance, -step)}, dtype);
}

std::vector<Known> linspace(const RuleArguments& args) {
  return make({args.size("steps")}, dtype_or(args, "dtype", default_dtype()));
}

std::vector<Known> eye(const RuleArguments& args) {
  const SymInt rows = args.size("n");
  return make({rows, args.given("m") ? args.size("m") : rows}, dtype_or(args, "dtype", default_dtype()));
}

std::vector<Known> window(const RuleArguments& args) {
  return make({args.size("window_length")}, dtype_or(args, "dtype", default_dtype()));
}

std::vector<Known> frequencies(const RuleArguments& args) {
  return make({args.size("n")}, dtype_or(args, "dtype", default_dtype()));
}

std::vector<Known> real_frequencies(const RuleArguments& args) {
  return make({floordiv(args.size("n"), 2) + 1}, dtype_or(args, "dtype", default_dtype()));
}

// ---- Tensors from nested lists of numbers ----

at::IValue first_leaf(const at::IValue& value) {
  if (!value.isList() || value.toListRef().empty()) return value;
  return first_leaf(value.toListRef()[0]);
}

Dtype leaf_dtype(const at::IValue& value) {
  c10::TypePtr type = dynamic_type(value);
  while (const auto list = type->cast<c10::ListType>()) type = list->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::IntType:
      return at::kLong;
    case c10::TypeKind::FloatType:
      return default_dtype();
    case c10::TypeKind::BoolType:
      return at::kBool;
    case c10::TypeKind::ComplexType:
      return c10::get_default_complex_dtype().toScalarType();
    default:
      return std::nullopt;
  }
}

void append_lengths(const at::IValue& value, Sizes& sizes) {
  if (value.isList()) {
    const auto items = value.toListRef();
    sizes.emplace_back(static_cast<std::int64_t>(items.size()));
    if (!items.empty()) {
      append_lengths(items[0], sizes);
    } else if (dynamic_type(value)->expectRef<c10::ListType>().getElementType()->kind() ==
               c10::TypeKind::ListType) {
      throw CannotTell{};
    }
    return;
  }
  const Proxy* proxy = find_proxy(value);
  if (proxy == nullptr) return;
  const auto list_type = proxy->type->cast<c10::ListType>();
  if (!list_type) return;
  const Known known = known_of_value(value);
  if (known.sequence() == nullptr || list_type->getElementType()->kind() == c10::TypeKind::ListType) {
    throw CannotTell{};
  }
  sizes.emplace_back(static_cast<std::int64_t>(known.sequence()->size()));
}

// torch.tensor(data), torch.as_tensor(data)
std::vector<Known> tensor(const RuleArguments& args) {
  const std::string_view name = first_argument(args);
  if (args.is_tensor(name)) return like(args);
  const at::IValue& data = args.value(name);
  Sizes sizes;
  append_lengths(data, sizes);
  return make(std::move(sizes), dtype_or(args, "dtype", leaf_dtype(first_leaf(data))));
}

std::vector<Known> scalar_tensor(const RuleArguments& args) {
  return make(Sizes(), dtype_or(args, "dtype", default_dtype()));
}

// prim::NumToTensor
std::vector<Known> number_to_tensor(const RuleArguments& args) {
  return make(Sizes(), scalar_dtype(args.value(first_argument(args))));
}

std::vector<Known> list_to_tensor(const RuleArguments& args) {
  Sizes sizes;
  append_lengths(args.value("self"), sizes);
  return make(std::move(sizes), at::kLong);
}

std::vector<Known> shape_as_tensor(const RuleArguments& args) {
  return make({args.tensor("self").dim()}, at::kLong);
}

// normal(mean, std): either may be a tensor; normal(mean, std, size)
std::vector<Known> normal(const RuleArguments& args) {
  if (args.given("size")) return of_size(args);
  return make(broadcast_all(args), promoted(args, {"mean", "std"}));
}

std::vector<Known> triangle_indices(const RuleArguments& args) {
  const std::int64_t rows = args.number("row"), columns = args.number("col"), offset = args.number("offset");
  constexpr std::int64_t kLimit = 1'000'000;
  if (rows < 0 || rows > kLimit || columns < 0 || columns > kLimit || std::abs(offset) > kLimit)
    throw CannotTell{};
  std::int64_t lower = 0, strictly_lower = 0;  // elements of all rows up to the diagonal, with it and without
  for (std::int64_t row = 0; row < rows; ++row) {
    lower += std::clamp<std::int64_t>(row + offset + 1, 0, columns);
    strictly_lower += std::clamp<std::int64_t>(row + offset, 0, columns);
  }
  const bool is_lower = args.schema().name() == "aten::tril_indices";
  return make({2, is_lower ? lower : rows * columns - strictly_lower}, dtype_or(args, "dtype", at::kLong));
}

std::vector<Known> one_hot(const RuleArguments& args) {
  const TensorInfo self = args.tensor("self");
  const std::optional<std::int64_t> classes = args.size("num_classes").number();
  // -1: as many as the largest element asks for.
  const bool from_data = classes && *classes < 0;
  return make(concatenated(self.sizes, {from_data ? args.dimensions.fresh() : args.size("num_classes")}),
              at::kLong);
}

std::vector<Known> multinomial(const RuleArguments& args) {
  Sizes sizes = args.tensor("self").sizes;
  if (sizes.empty()) throw CannotTell{};
  sizes.back() = args.size("num_samples");
  return make(std::move(sizes), at::kLong);
}

std::vector<Known> from_template(const RuleArguments& args) {
  return make(args.tensor("the_template").sizes, args.tensor("self").dtype);
}

std::vector<Known> resize(const RuleArguments& args) {
  return make(args.sizes("size"), args.tensor("self").dtype);
}

}  // namespace

RuleTable creation_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"empty", of_size},
      {"empty_strided", of_size},
      {"ones", of_size},
      {"rand", of_size},
      {"randn", of_size},
      {"zeros", of_size},
      {"full", full},
      {"randint", of_size_integers},

      {"empty_like", like},
      {"full_like", like},
      {"ones_like", like},
      {"rand_like", like},
      {"randint_like", like},
      {"randn_like", like},
      {"zeros_like", like},

      {"new_empty", of_size_like},
      {"new_empty_strided", of_size_like},
      {"new_full", of_size_like},
      {"new_ones", of_size_like},
      {"new_zeros", of_size_like},

      {"arange", arange},
      {"bartlett_window", window},
      {"blackman_window", window},
      {"eye", eye},
      {"fft_fftfreq", frequencies},
      {"fft_rfftfreq", real_frequencies},
      {"hamming_window", window},
      {"hann_window", window},
      {"kaiser_window", window},
      {"linspace", linspace},
      {"logspace", linspace},
      {"multinomial", multinomial},
      {"normal", normal},
      {"normal_functional", same_as_first},
      {"one_hot", one_hot},
      {"poisson", same_as_first},
      {"randperm", randperm},
      {"resize", resize},
      {"resize_as", from_template},
      {"tril_indices", triangle_indices},
      {"triu_indices", triangle_indices},

      {"_list_to_tensor", list_to_tensor},
      {"_shape_as_tensor", shape_as_tensor},
      {"as_tensor", tensor},
      {"prim::NumToTensor", number_to_tensor},
      {"scalar_tensor", scalar_tensor},
      {"tensor", tensor},
  };
  return kRules;
}

}  // namespace fxtrace
