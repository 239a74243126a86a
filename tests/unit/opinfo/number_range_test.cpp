#include "opinfo/python_spelling.h"

#include <string>
#include <vector>

#include "catch.h"
#include "operators/operators.h"

namespace fxtrace::internal {
namespace {

bool differs(const std::string& base, const std::string& overload, const std::vector<NumberRange>& ranges) {
  const Operator* op = find_operator(base, overload);
  REQUIRE(op != nullptr);
  return differs_in_python(base, op->schema(), ranges);
}

const NumberRange kAnyInt = range_of_type("int"), kAnyFloat = range_of_type("float"), kSize = range_of_size();

TEST_CASE("number ranges: Python's integers have no end", "[opinfo]") {
  CHECK(differs("aten::add", "int", {kAnyInt, range_of_number(1)}));
  CHECK_FALSE(differs("aten::add", "int", {kSize, range_of_number(1)}));
  CHECK_FALSE(differs("aten::mul", "int", {kSize, kSize}));
  CHECK_FALSE(differs("aten::add", "int", {{0, 100}, {0, 100}}));
  CHECK(differs("aten::mul", "int", {{0, 1e12}, {0, 1e12}}));
  CHECK(differs("aten::neg", "int", {kAnyInt}));
  CHECK_FALSE(differs("aten::floordiv", "int", {kAnyInt, range_of_number(2)}));
  CHECK(differs("aten::__lshift__", "int", {range_of_number(1), kAnyInt}));
  CHECK_FALSE(differs("aten::__lshift__", "int", {range_of_number(1), {0, 40}}));
  CHECK_FALSE(differs("aten::__and__", "int", {kAnyInt, kAnyInt}));
}

TEST_CASE("number ranges: Python raises where TorchScript has inf and nan", "[opinfo]") {
  CHECK(differs("aten::div", "float", {kAnyFloat, kAnyFloat}));
  CHECK(differs("aten::div", "int", {kSize, kSize}));
  CHECK_FALSE(differs("aten::div", "int", {kSize, range_of_number(2)}));
  CHECK_FALSE(differs("aten::add", "float", {kAnyFloat, kAnyFloat}));
  CHECK(differs("aten::sqrt", "float", {kAnyFloat}));
  CHECK_FALSE(differs("aten::sqrt", "int", {kSize}));
  CHECK(differs("aten::exp", "float", {kAnyFloat}));
  CHECK(differs("aten::floor", "float", {kAnyFloat}));
  CHECK_FALSE(
      differs("aten::floor", "float",
              {range_of_result("operator.truediv", "float", std::vector{kSize, range_of_number(3)})}));
  CHECK(differs("aten::floor", "int", {kAnyInt}));
  CHECK_FALSE(differs("aten::isnan", "float", {kAnyFloat}));
}

TEST_CASE("number ranges: Python compares and chooses otherwise", "[opinfo]") {
  CHECK(differs("prim::min", "float", {kAnyFloat, kAnyFloat}));
  CHECK(differs("prim::max", "int_float", {kSize, kAnyFloat}));
  CHECK_FALSE(differs("prim::max", "int", {kAnyInt, kAnyInt}));
  CHECK(differs("aten::lt", "int_float", {kAnyInt, kAnyFloat}));
  CHECK_FALSE(differs("aten::lt", "int_float", {kSize, kAnyFloat}));
  CHECK(differs("aten::count", "float", {{}, kAnyFloat}));
  CHECK_FALSE(differs("aten::count", "int", {{}, kAnyInt}));
  CHECK(differs("aten::len", "str", {{}}));
}

TEST_CASE("number ranges: operators have Python's names", "[opinfo]") {
  CHECK(python_function("aten.add.int") == "operator.add");
  CHECK(python_function("prim.min.float") == "builtins.min");
  CHECK(python_function("aten.exp.float") == "math.exp");
  CHECK(python_function("aten.add.Tensor") == "aten.add.Tensor");
  CHECK(python_function("aten.upper.default") == "aten.upper.default");
}

}  // namespace
}  // namespace fxtrace::internal
