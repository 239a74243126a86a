#include "script/small_tensors.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "catch.h"

namespace fxtrace::script {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TensorRef integers(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& numbers) {
  std::vector<TensorElement> elements;
  for (const std::int64_t number : numbers) elements.push_back({.integer = number});
  return make_tensor(ScalarType::kInt64, std::move(sizes), std::move(elements));
}
TensorRef floats(const std::vector<double>& numbers) {
  std::vector<TensorElement> elements;
  for (const double number : numbers) elements.push_back({.real = number});
  return make_tensor(ScalarType::kFloat32, {static_cast<std::int64_t>(numbers.size())}, std::move(elements));
}

// All elements of the first result.
std::vector<double> numbers(std::string_view name, const std::vector<Value>& arguments) {
  const auto results = compute_small(name, arguments);
  INFO(name);
  REQUIRE(results.has_value());
  const TensorValue& tensor = results->front().to_tensor();
  std::vector<double> found;
  for (const TensorElement element : elements_of(tensor))
    found.push_back(is_floating(tensor.dtype) ? element.real : static_cast<double>(element.integer));
  return found;
}
bool is_known(std::string_view name, const std::vector<Value>& arguments) {
  return compute_small(name, arguments).has_value();
}

TEST_CASE("small tensors: arithmetic with torch's promotion") {
  const TensorRef a = integers({3}, {1, -2, 3});
  CHECK(numbers("aten::add.Tensor", {a, a, 1}) == std::vector<double>{2, -4, 6});
  CHECK(numbers("aten::mul.Scalar", {a, 0.5}) == std::vector<double>{0.5, -1, 1.5});
  CHECK(numbers("aten::div.Tensor_mode", {a, integers({}, {2}), "floor"}) == std::vector<double>{0, -1, 1});
  CHECK(numbers("aten::gt.Scalar", {a, 0}) == std::vector<double>{1, 0, 1});
  CHECK_FALSE(is_known("aten::div.Tensor_mode", {a, integers({}, {0}), "floor"}));
  CHECK_FALSE(is_known("aten::div.Tensor_mode", {integers({}, {kLeast}), integers({}, {-1}), "trunc"}));
  CHECK_FALSE(is_known("aten::add.Tensor", {a, integers({2}, {1, 2}), 1}));
}

TEST_CASE("small tensors: views share elements") {
  const TensorRef a = integers({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto turned = compute_small("aten::t", std::vector<Value>{a});
  REQUIRE(turned.has_value());
  CHECK(turned->front().to_tensor().elements == a->elements);
  CHECK(numbers("aten::reshape", {turned->front(), make_int_list({-1})}) ==
        std::vector<double>{0, 3, 1, 4, 2, 5});
  CHECK_FALSE(is_known("aten::view", {turned->front(), make_int_list({-1})}));
  CHECK(numbers("aten::slice.Tensor", {a, 1, 1, Value(), 1}) == std::vector<double>{1, 2, 4, 5});
  CHECK_FALSE(is_known("aten::select.int", {a, 0, 2}));
}

TEST_CASE("small tensors: sums of floats are known where nothing is rounded") {
  CHECK(numbers("aten::sum", {floats({0.5, 1.5, -4}), Value()}) == std::vector<double>{-2});
  CHECK_FALSE(is_known("aten::sum", {floats({double{0.1F}, double{0.2F}, 1e10}), Value()}));
  CHECK_FALSE(is_known("aten::sum", {floats({16777216, 1}), Value()}));
  CHECK(numbers("aten::sum", {integers({2}, {kLeast, -1}), Value()}) ==
        std::vector<double>{9223372036854775807.0});
  CHECK_FALSE(is_known("aten::exp", {floats({1})}));
}

TEST_CASE("small tensors: what is made stays small, whatever the arguments") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  CHECK_FALSE(is_known("aten::zeros", {make_int_list({65}), Value()}));
  CHECK_FALSE(is_known("aten::zeros", {make_int_list({kHuge, kHuge}), Value()}));
  CHECK_FALSE(is_known("aten::zeros", {make_int_list({0, kHuge, kHuge}), Value()}));
  CHECK_FALSE(is_known("aten::zeros", {make_int_list({-1}), Value()}));
  CHECK_FALSE(is_known("aten::arange", {kHuge, Value()}));
  CHECK_FALSE(is_known("aten::repeat", {integers({2}, {1, 2}), make_int_list({kHuge})}));
  CHECK_FALSE(is_known("aten::expand", {integers({1}, {1}), make_int_list({kHuge})}));
  CHECK_FALSE(
      is_known("aten::tensor", {make_int_list(std::vector<std::int64_t>(65)), Value(), Value(), false}));
}

TEST_CASE("small tensors: arguments of another type, or too few, give nothing") {
  const TensorRef a = integers({2}, {1, 2});
  for (const char* name :
       {"aten::add.Tensor", "aten::view", "aten::cat", "aten::sum.dim_IntList", "aten::where.self",
        "aten::tensor", "aten::arange", "aten::item", "aten::slice.Tensor", "aten::to.dtype"}) {
    CHECK_FALSE(is_known(name, {}));
    CHECK_FALSE(is_known(name, {a}));
    CHECK_FALSE(is_known(name, {Value(), Value(), Value(), Value(), Value()}));
    CHECK_FALSE(is_known(name, {a, "text", "text", "text", "text"}));
  }
}

}  // namespace
}  // namespace fxtrace::script
