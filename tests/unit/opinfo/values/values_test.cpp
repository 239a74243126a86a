// Value rules, one line for each case (tests/fuzz/call_text.h).
#include <string>

#include "catch.h"
#include "symbolic/sym_int.h"
#include "tests/fuzz/call_text.h"

namespace fxtrace::internal {
namespace {

struct Case {
  const char* call;
  const char* result;
};

template <std::size_t Count>
void check(const Case (&cases)[Count]) {
  for (const Case& item : cases) {
    INFO(item.call);
    CHECK(values_of(item.call) == item.result);
  }
}

TEST_CASE("values: arithmetic with torch's promotion", "[values]") {
  constexpr Case kCases[] = {
      {"add.Tensor(int64[3]{1,-2,3}, int64[3]{1,-2,3})", "int64[3]{2,-4,6}"},
      {"add.Tensor(int64[2]{n,3}, int64[2]{m,m})", "int64[2]{m+n,m+3}"},
      {"add.Tensor(int64[]{n}, int64[]{3}, alpha=2)", "?"},
      {"add.Tensor(int64[]{n}, int64[])", "?"},
      {"add.Tensor(int64[3]{1,-2,3}, int64[2]{1,2})", "?"},
      {"add.Tensor(int8[]{127}, int8[]{1})", "int8[]{-128}"},
      {"rsub.Scalar(int64[]{n}, 7)", "int64[]{7-n}"},
      {"mul.Scalar(int64[3]{1,-2,3}, 0.5)", "float32[3]{0.5,-1.,1.5}"},
      {"mul.Tensor(int64[2]{n,3}, int64[]{2})", "int64[2]{n*2,6}"},
      {"mul.Tensor(int32[]{n}, int32[]{2})", "int32[]{n*2}"},
      {"div.Tensor_mode(int64[3]{1,-2,3}, int64[]{2}, rounding_mode='floor')", "int64[3]{0,-1,1}"},
      {"div.Tensor_mode(int64[]{n}, int64[]{3}, rounding_mode='floor')", "int64[]{n//3}"},
      {"div.Tensor_mode(int64[]{n}, int64[]{m}, rounding_mode='trunc')", "?"},
      {"div.Tensor_mode(int64[3]{1,-2,3}, int64[]{0}, rounding_mode='floor')", "?"},
      {"div.Tensor_mode(int64[]{-9223372036854775808}, int64[]{-1}, rounding_mode='trunc')", "?"},
      {"div.Tensor(int64[]{n}, int64[]{3})", "?"},
      {"div.Tensor(int64[]{3}, int64[]{2})", "float32[]{1.5}"},
      {"floor_divide(int64[]{n}, int64[]{2})", "int64[]{n//2}"},
      {"remainder.Tensor(int64[2]{-7,7}, int64[]{2})", "int64[2]{1,1}"},
      {"pow.Tensor_Scalar(int64[]{n}, 2)", "int64[]{n**2}"},
      {"pow.Tensor_Scalar(int64[]{n}, -1)", "?"},
      {"pow.Scalar(2, int64[]{n})", "?"},
      {"neg(int64[]{n})", "int64[]{-n}"},
      {"neg(int64[])", "?"},
      {"abs(int64[]{n-m})", "int64[]{max(m-n,n-m)}"},
      {"__lshift__.Scalar(int64[]{n}, 3)", "int64[]{n*8}"},
      {"bitwise_right_shift.Tensor(int64[]{8}, int64[]{1})", "int64[]{4}"},
      {"gt.Scalar(int64[3]{1,-2,3}, 0)", "bool[3]{1,0,1}"},
      {"gt.Scalar(int64[]{n}, 0)", "?"},
      {"minimum(int64[]{n}, int64[]{3})", "int64[]{min(3,n)}"},
      {"minimum(int64[]{n}, int64[])", "?"},
      {"clamp(int64[]{n}, 2, 7)", "int64[]{min(7,max(2,n))}"},
      {"clamp(int64[]{n}, max=7)", "int64[]{min(7,n)}"},
      {"clamp(int64[]{n}, 0.5, 7)", "?"},
      {"sin(int64[]{n})", "?"},
      {"exp(float32[]{1.5})", "?"},
      {"sqrt(float32[2]{4.0,0.25})", "float32[2]{2.,0.5}"},
      {"sqrt(float32[]{2.0})", "?"},
      {"round(float32[4]{0.5,1.5,2.5,-0.5})", "float32[4]{0.,2.,2.,-0.}"},
      {"where.self(bool[2]{1,0}, int64[]{n}, int64[2]{1,2})", "int64[2]{n,2}"},
  };
  check(kCases);
}

TEST_CASE("values: the same elements in other sizes and orders", "[values]") {
  constexpr Case kCases[] = {
      {"t(int64[2,3]{0,1,2,3,4,5})", "int64[3,2]{0,3,1,4,2,5}"},
      {"reshape(int64[2,3]{0,1,2,3,4,5}, [-1])", "int64[6]{0,1,2,3,4,5}"},
      {"view.dtype(int64[]{7}, int32)", "?"},
      {"slice.Tensor(int64[2,3]{0,1,2,3,4,5}, 1, 1)", "int64[2,2]{1,2,4,5}"},
      {"slice.Tensor(int64[4]{n,3,m,4}, 0, 1, None, 2)", "int64[2]{3,4}"},
      {"select.int(int64[2]{n,3}, 0, -1)", "int64[]{3}"},
      {"select.int(int64[2]{n,3}, 0, n)", "?"},
      {"flip(int64[2]{n,3}, [0])", "int64[2]{3,n}"},
      {"cat([int64[1]{n},int64[2]{3,4}])", "int64[3]{n,3,4}"},
      {"stack([int64[]{n},int64[]{m}])", "int64[2]{n,m}"},
      {"unbind.int(int64[2]{n,3})", "[int64[]{n},int64[]{3}]"},
      {"expand(int64[1]{n}, [2])", "int64[2]{n,n}"},
      {"to.dtype(int64[]{n}, float64)", "float64[]"},
      {"to.dtype(float32[]{2.5}, int64)", "int64[]{2}"},
      {"gather(int64[3]{n,m,3}, 0, int64[2]{2,0})", "int64[2]{3,n}"},
      {"index_select(int64[3]{n,m,3}, 0, int64[1]{7})", "?"},
  };
  for (const Case& item : kCases) {
    INFO(item.call);
    // For a float that is a size only the rest is shown.
    CHECK(values_of(item.call).starts_with(item.result));
  }
}

TEST_CASE("values: sums of floats are known where nothing is rounded", "[values]") {
  constexpr Case kCases[] = {
      {"sum(float32[3]{0.5,1.5,-4.0})", "float32[]{-2.}"},
      {"sum(float32[3]{0.1,0.2,1e10})", "?"},
      {"sum(float32[2]{16777216.0,1.0})", "?"},
      {"sum(int64[2]{-9223372036854775808,-1})", "int64[]{9223372036854775807}"},
      {"sum(int64[3]{n,3,m})", "int64[]{m+n+3}"},
      {"max(int64[2]{n,3})", "int64[]{max(3,n)}"},
      {"argmax(int64[3]{1,7,7})", "int64[]{1}"},
      {"cumsum(int64[3]{n,3,m}, 0)", "int64[3]{n,n+3,m+n+3}"},
      {"cumprod(int64[2]{n,3}, 0)", "int64[2]{n,n*3}"},
      {"sort(int64[3]{3,1,2})", "int64[3]{1,2,3} int64[3]{1,2,0}"},
      {"matmul(int64[2]{1,2}, int64[2]{3,4})", "int64[]{11}"},
  };
  check(kCases);
}

TEST_CASE("values: tensors of numbers, which stay small whatever the arguments", "[values]") {
  constexpr Case kCases[] = {
      {"_shape_as_tensor(float32[n,3,m])", "int64[3]{n,3,m}"},
      {"tensor([n,3])", "int64[2]{n,3}"},
      {"tensor([n,?])", "?"},
      {"tensor([[1,2],[3,4]])", "int64[2,2]{1,2,3,4}"},
      {"prim::NumToTensor.Scalar(n)", "int64[]{n}"},
      {"full([2], 7)", "int64[2]{7,7}"},
      {"zeros([65])", "?"},
      {"zeros([4611686018427387904,4611686018427387904])", "?"},
      {"zeros([0,4611686018427387904])", "?"},
      {"zeros([-1])", "?"},
      {"arange(3)", "int64[3]{0,1,2}"},
      {"arange(4611686018427387904)", "?"},
      {"repeat(int64[2]{1,2}, [4611686018427387904])", "?"},
      {"expand(int64[1]{1}, [4611686018427387904])", "?"},
      {"zeros_like(float32[2])", "?"},
      {"eye(2)", "float32[2,2]{1.,0.,0.,1.}"},
      {"linspace(0, 1, 3)", "float32[3]{0.,0.5,1.}"},
      {"item(int64[]{n})", "n"},
  };
  check(kCases);
}

TEST_CASE("values: quotients of sizes that are rounded to zero", "[values]") {
  const auto size = [](const std::string& text) {
    const std::size_t open = text.find('{');
    return SymInt::parse(text.substr(open + 1, text.size() - open - 2));
  };
  const auto truncated = size(values_of("div.Tensor_mode(int64[]{n}, int64[]{3}, rounding_mode='trunc')"));
  const auto rest = size(values_of("fmod.Tensor(int64[]{n}, int64[]{3})"));
  REQUIRE((truncated && rest));
  for (std::int64_t n = -7; n < 8; ++n) {
    CHECK(truncated->evaluate({{"n", n}}) == n / 3);
    CHECK(rest->evaluate({{"n", n}}) == n % 3);
  }
}

}  // namespace
}  // namespace fxtrace::internal
