// Operators of TorchScript on plain values.
#include "torchscript/operators/plain_operators.h"

#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "opinfo/traits.h"
#include "torchscript/operators/plain_call.h"

namespace fxtrace::internal::torchscript {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

const Operator& row(std::string_view name) {
  const std::size_t dot = name.find('.');
  const Operator* found =
      find_operator(name.substr(0, dot), dot == std::string_view::npos ? "" : name.substr(dot + 1));
  INFO(name);
  REQUIRE(found != nullptr);
  return *found;
}

std::optional<Refusal> call(std::string_view name, const std::vector<Value>& arguments,
                            std::vector<Value>& results) {
  const auto op = find_plain_operator(row(name));
  REQUIRE(op.has_value());
  return carry_out(*op, arguments, results);
}

Value result(std::string_view name, const std::vector<Value>& arguments) {
  std::vector<Value> results;
  const auto refusal = call(name, arguments, results);
  INFO(name << ": " << (refusal ? refusal->why : ""));
  REQUIRE_FALSE(refusal.has_value());
  REQUIRE(results.size() == 1);
  return results[0];
}

Refusal refusal(std::string_view name, const std::vector<Value>& arguments) {
  std::vector<Value> results;
  const auto found = call(name, arguments, results);
  INFO(name);
  REQUIRE(found.has_value());
  CHECK(results.empty());
  return *found;
}

TEST_CASE("plain operators: integers wrap around, and what has no quotient is refused") {
  CHECK(result("aten::add.int", {kMost, 1}).to_int() == kLeast);
  CHECK(result("aten::mul.int", {kMost, kMost}).to_int() == 1);
  CHECK(result("aten::neg.int", {kLeast}).to_int() == kLeast);
  CHECK(result("prim::abs.int", {kLeast}).to_int() == kLeast);
  CHECK(result("aten::floordiv.int", {-7, 2}).to_int() == -4);
  CHECK(result("aten::remainder.int", {-7, 2}).to_int() == 1);
  CHECK(result("aten::remainder.int", {kMost, -1}).to_int() == 0);
  CHECK(refusal("aten::floordiv.int", {1, 0}).why == "ZeroDivisionError: division by zero");
  CHECK(refusal("aten::floordiv.int", {kLeast, -1}).kind == RefusalKind::kRaised);
  CHECK(refusal("aten::gcd.int", {kLeast, -1}).kind == RefusalKind::kRaised);
  CHECK(refusal("aten::__lshift__.int", {1, 64}).kind == RefusalKind::kRaised);
  CHECK(refusal("aten::Int.float", {1e30}).kind == RefusalKind::kRaised);
  CHECK(result("aten::pow.int_to_int", {3, 4}).to_int() == 81);
}

TEST_CASE("plain operators: arguments of another type are refused") {
  for (const char* name :
       {"aten::add.int", "aten::append.t", "aten::upper", "aten::keys.str", "aten::sort.int",
        "aten::__range_length", "aten::join", "prim::TupleIndex", "aten::slice.t"}) {
    CHECK(refusal(name, {}).kind == RefusalKind::kUnsupported);
    CHECK(refusal(name, {Value(), Value(), Value(), Value()}).kind == RefusalKind::kUnsupported);
  }
}

TEST_CASE("plain operators: nothing grows without end") {
  const std::string text(1000, 'a');
  CHECK(refusal("aten::mul.left_t", {make_int_list({1, 2}), kMost}).kind == RefusalKind::kLimit);
  CHECK(refusal("prim::rangelist", {kMost}).kind == RefusalKind::kLimit);
  CHECK(refusal("aten::ljust", {"a", kMost, " "}).kind == RefusalKind::kLimit);
  CHECK(refusal("aten::expandtabs", {std::string(100, '\t'), 1 << 20}).kind == RefusalKind::kLimit);
  CHECK(refusal("aten::replace", {std::string(100'000, 'a'), "a", text, -1}).kind == RefusalKind::kLimit);
  CHECK(refusal("aten::replace", {text, "", "b", -1}).kind == RefusalKind::kUnsupported);
  const Value list = make_int_list(std::vector<std::int64_t>(kMaxPlainSize));
  CHECK(refusal("aten::append.t", {list, 1}).kind == RefusalKind::kLimit);
}

TEST_CASE("plain operators: a list that is sorted is whole, whatever it holds") {
  const Value list = make_list(any_type(), {1, "a", 2.0, make_int_list({})});
  CHECK(refusal("aten::sort.any", {list, false}).kind == RefusalKind::kRaised);
  const Value mixed = make_list(int_type(), {3, "a", 1});
  CHECK(refusal("aten::sort.int", {mixed, false}).kind == RefusalKind::kUnsupported);
  CHECK(mixed.items().size() == 3);
  CHECK(mixed.items()[0].to_int() == 3);
}

TEST_CASE("plain operators: a list may be added to itself") {
  const Value list = make_int_list({1, 2});
  std::vector<Value> results;
  CHECK_FALSE(call("aten::extend.t", {list, list}, results).has_value());
  CHECK(list.items().size() == 4);
  CHECK(result("aten::add_.t", {list, list}).is(list));
  CHECK(list.items().size() == 8);
}

TEST_CASE("plain operators: all that the table of operators lists, but those of tensors") {
  const auto is_tensor_only = [](std::string_view signature) {
    return signature.starts_with("(Tensor") || signature.find("Tensor ") != std::string_view::npos ||
           signature.find("Tensor?") != std::string_view::npos ||
           signature.find("Generator") != std::string_view::npos ||
           signature.find("Storage") != std::string_view::npos;
  };
  for (const Operator& op : registered_operators()) {
    if (!has_trait(&op, traits::kPlain) || is_tensor_only(op.signature)) continue;
    INFO(op.name << op.signature);
    CHECK(find_plain_operator(op).has_value());
  }
  CHECK_FALSE(find_plain_operator(row("aten::conv2d")).has_value());
  CHECK_FALSE(find_plain_operator(row("aten::save")).has_value());
}

}  // namespace
}  // namespace fxtrace::internal::torchscript
