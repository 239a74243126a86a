// Values of TorchScript: numbers, lists, dicts, and their equality.
#include "torchscript/values/value.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "catch.h"
#include "support/error.h"
#include "torchscript/ir/constant_value.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/values/tensor_value.h"
#include "torchscript/values/value_extent.h"

namespace fxtrace::internal::torchscript {
namespace {

Value nested_list(int depth) {
  Value value = make_list(any_type());
  for (int i = 0; i < depth; ++i) value = make_list(any_type(), {value});
  return value;
}

TEST_CASE("values: copies share what has an identity") {
  const Value list = make_int_list({1, 2});
  const Value same = list;  // NOLINT(performance-unnecessary-copy-initialization)
  same.to_list().items.emplace_back(3);
  CHECK(list.items().size() == 3);
  CHECK(list.is(same));
  CHECK_FALSE(list.is(make_int_list({1, 2, 3})));
  CHECK(find_equal(list, make_int_list({1, 2, 3})) == true);
  CHECK(find_equal(make_int_list({}), make_list(float_type())) == false);
  CHECK(Value().is(Value()));
  CHECK(Value(std::int64_t{1}).is(Value(1)));
  CHECK_FALSE(Value(1).is(Value(1.0)));
  CHECK_FALSE(Value::uninitialized().is(Value::uninitialized()));
}

TEST_CASE("values: of another kind than asked for") {
  CHECK_THROWS_AS(Value(1).to_string(), Error);
  CHECK_THROWS_AS(Value("a").to_int(), Error);
  CHECK_THROWS_AS(Value().items(), Error);
  CHECK(Value("a").to_string() == "a");
  CHECK(Value(true).is_bool());
  CHECK(Value(std::complex<double>(1, 2)).to_complex() == std::complex<double>(1, 2));
}

TEST_CASE("values: equality is LibTorch's") {
  CHECK(find_equal(Value(1), Value(1.0)) == false);
  CHECK(find_equal(Value(true), Value(1)) == false);
  CHECK(find_equal(Value("a"), Value("a")) == true);
  CHECK(find_equal(make_tuple({1, "a"}), make_tuple({1, "a"})) == true);
  CHECK(find_equal(Value(Device{"cuda", 1}), Value(Device{"cuda", 1})) == true);
  CHECK(find_equal(Value(Device{"cuda", 1}), Value(Device{"cuda", -1})) == false);
}

TEST_CASE("values: deep ones neither overflow the stack nor hang") {
  const Value deep = nested_list(1'000'000);
  const Value other = nested_list(1'000'000);
  CHECK_FALSE(find_equal(deep, other).has_value());
  CHECK_FALSE(find_deep_copy(deep).has_value());
  CHECK_THROWS(printed(deep));
  const Value self = make_list(any_type());
  self.to_list().items.push_back(self);
  const Value twin = make_list(any_type());
  twin.to_list().items.push_back(twin);
  CHECK_FALSE(find_equal(self, twin).has_value());
  const auto copy = find_deep_copy(self);
  REQUIRE(copy.has_value());
  CHECK(copy->items()[0].is(*copy));
  for (const Value& value : {self, twin, *copy}) value.to_list().items.clear();
  Value wide = make_int_list({1});
  for (int i = 0; i < 100; ++i) wide = make_list(any_type(), {wide, wide});
  Value wide_too = make_int_list({1});
  for (int i = 0; i < 100; ++i) wide_too = make_list(any_type(), {wide_too, wide_too});
  CHECK_FALSE(find_equal(wide, wide_too).has_value());
  CHECK(find_deep_copy(wide).has_value());
  CHECK_THROWS(printed(wide));
}

TEST_CASE("values: a copy shares nothing that changes, and what was shared stays so") {
  const Value inner = make_int_list({1});
  const Value outer = make_list(list_type(int_type()), {inner, inner});
  const Value copy = find_deep_copy(outer).value();
  copy.items()[0].to_list().items.emplace_back(2);
  CHECK(inner.items().size() == 1);
  CHECK(copy.items()[1].items().size() == 2);
}

TEST_CASE("values: dicts keep the order of their keys") {
  auto dict = make_counted<DictValue>(int_type(), string_type());
  for (int i = 0; i < 1000; ++i) dict->set(i * 7 % 1000, std::to_string(i));
  CHECK(dict->size() == 1000);
  CHECK(dict->entries()[1].key.to_int() == 7);
  CHECK(dict->find(7)->to_string() == "1");
  dict->set(7, "again");
  CHECK(dict->entries()[1].value.to_string() == "again");
  CHECK(dict->erase(0));
  CHECK_FALSE(dict->erase(0));
  CHECK(dict->size() == 999);
  for (int i = 1; i < 1000; ++i) REQUIRE(dict->find(i) != nullptr);
  CHECK(dict->find(0) == nullptr);
  CHECK(dict->find(1.0) == nullptr);  // a key of another type
  CHECK(dict->find(make_int_list({})) == nullptr);
  CHECK_THROWS_AS(dict->set(make_int_list({}), 1), Error);
  const auto copy = dict->copy();
  dict->clear();
  CHECK(copy->size() == 999);
  CHECK(copy->find(999) != nullptr);
}

TensorRef one_integer() {
  auto tensor = make_counted<TensorValue>();
  tensor->dtype = ScalarType::kInt64;
  return tensor;
}

TEST_CASE("values: keys of dicts") {
  DictValue dict(any_type(), int_type());
  dict.set(0.0, 1);
  dict.set(-0.0, 2);
  CHECK(dict.size() == 1);
  dict.set(0, 3);
  dict.set(false, 4);
  dict.set(std::complex<double>(0, 1), 5);
  dict.set("", 6);
  CHECK(dict.size() == 5);
  const TensorRef a = one_integer();
  const TensorRef b = one_integer();
  dict.set(a, 7);
  dict.set(b, 8);
  CHECK(dict.size() == 7);
  CHECK(dict.find(a)->to_int() == 7);
}

TEST_CASE("values: keys that have low bits in common are found as quickly as others") {
  DictValue dict(int_type(), int_type());
  for (std::int64_t i = 0; i < 100'000; ++i) dict.set(i << 40U, i);
  for (std::int64_t i = 0; i < 100'000; ++i) REQUIRE(dict.find(i << 40U)->to_int() == i);
}

TEST_CASE("values: types") {
  CHECK(dynamic_type(make_tuple({1, "a", make_int_list({})}))->repr_str() == "Tuple[int, str, List[int]]");
  CHECK(dynamic_type(make_counted<DictValue>(string_type(), tensor_type()))->repr_str() ==
        "Dict[str, Tensor]");
  Value tuple = make_tuple({1});
  for (int i = 0; i < 10'000; ++i) tuple = make_tuple({tuple});
  CHECK(dynamic_type(tuple)->kind() == TypeKind::kTuple);
}

TEST_CASE("values: texts are LibTorch's") {
  CHECK(printed(1.0) == "1.");
  CHECK(printed(-0.0) == "0.");
  CHECK(printed(0.1) == "0.10000000000000001");
  CHECK(printed(make_list(string_type(), {"a", "b"})) == "[a, b]");
  CHECK(printed(make_tuple({1})) == "(1,)");
  CHECK(printed(Value(true)) == "True");
}

TEST_CASE("tensors: elements of the bytes of a record") {
  auto tensor = make_counted<TensorValue>();
  tensor->dtype = ScalarType::kInt32;
  tensor->sizes = {2, 2};
  tensor->strides = {1, 2};
  tensor->offset = 1;
  const std::string bytes("\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\xff\xff\xff\xff", 20);
  const TensorRef read = with_elements(*tensor, bytes);
  REQUIRE(read);
  CHECK(read->elements->elements ==
        std::vector<Element>{std::int64_t{1}, std::int64_t{3}, std::int64_t{2}, std::int64_t{-1}});
  CHECK_FALSE(with_elements(*tensor, std::string_view(bytes).substr(0, 19)));
  tensor->offset = std::int64_t{1} << 62;
  CHECK_FALSE(with_elements(*tensor, bytes));
  tensor->sizes = {65};
  tensor->strides = {0};
  CHECK_FALSE(with_elements(*tensor, bytes));
}

TEST_CASE("tensors: elements of every dtype") {
  const auto read = [](ScalarType dtype, const std::string& bytes) {
    TensorValue tensor;
    tensor.dtype = dtype;
    const auto elements = find_elements(tensor, bytes, 1);
    return elements ? elements->at(0) : Value();
  };
  using namespace std::string_literals;
  CHECK(read(ScalarType::kFloat16, "\x00\x3c"s).to_double() == 1);
  CHECK(read(ScalarType::kFloat16, "\x01\x80"s).to_double() == -5.9604644775390625e-08);
  CHECK(read(ScalarType::kFloat16, "\x00\x7c"s).to_double() == std::numeric_limits<double>::infinity());
  CHECK(read(ScalarType::kBfloat16, "\x80\x3f"s).to_double() == 1);
  CHECK(read(ScalarType::kFloat8E4m3fn, "\x7e"s).to_double() == 448);
  CHECK(std::isnan(read(ScalarType::kFloat8E4m3fn, "\x7f"s).to_double()));
  CHECK(read(ScalarType::kFloat8E5m2fnuz, "\x7f"s).to_double() == 57344);
  CHECK(std::isnan(read(ScalarType::kFloat8E4m3fnuz, "\x80"s).to_double()));
  CHECK(read(ScalarType::kUint16, "\xff\xff"s).to_int() == 65535);
  CHECK(read(ScalarType::kInt8, "\xff"s).to_int() == -1);
  CHECK(read(ScalarType::kComplex32, "\x00\x3c\x00\xc0"s).to_complex() == std::complex<double>(1, -2));
  CHECK(read(ScalarType::kFloat32, "\x00\x00\x80"s).is_none());
  CHECK(read(ScalarType::kBits8, "\x00"s).is_none());
}

TEST_CASE("tensors: as lists") {
  constexpr std::int64_t kOne = 1;
  const Array array{ScalarType::kInt64, {2, 2}, {kOne, kOne + 1, kOne + 2, kOne + 3}};
  const auto list = find_list(array, int_type());
  REQUIRE(list.has_value());
  CHECK(printed(*list) == "[[1, 2], [3, 4]]");
  CHECK(dynamic_type(*list)->repr_str() == "List[List[int]]");
  CHECK_FALSE(find_list(array, float_type()).has_value());
  CHECK(printed(find_list({ScalarType::kBool, {}, {kOne}}, bool_type()).value()) == "True");
  CHECK_FALSE(find_list({ScalarType::kInt64, {1 << 20, 1 << 20, 0}, {}}, int_type()).has_value());
}

TEST_CASE("values: extent") {
  CHECK(extent_of(make_int_list({1, 2, 3})).size == 4);
  CHECK(is_plain(make_tuple({1, "a", make_int_list({})})));
  CHECK_FALSE(is_plain(make_list(tensor_type(), {one_integer()})));
  Value wide = make_int_list({1});
  for (int i = 0; i < 200; ++i) wide = make_list(any_type(), {wide, wide});
  CHECK(extent_of(wide).size == Extent::kEndless);
  CHECK(extent_of(wide).looked < 1000);
  const Value self = make_list(any_type());
  self.to_list().items.push_back(self);
  CHECK(extent_of(self).size >= Extent::kEndless);
  self.to_list().items.clear();
  CHECK_FALSE(extent_of(nested_list(1000)).is_plain);
}

TEST_CASE("values: constants of code") {
  const ScriptConstant list(ScriptConstant::Variant(
      ScriptConstant::List{int_type(), {ScriptConstant(std::int64_t{1}), ScriptConstant(std::int64_t{2})}}));
  const Value value = value_of(list);
  CHECK(dynamic_type(value)->repr_str() == "List[int]");
  CHECK(printed(value) == "[1, 2]");
  CHECK_FALSE(value.is(value_of(list)));
  const std::vector<Value> table{make_int_list({7})};
  const ScriptConstant entry(ScriptConstant::Variant(ScriptConstant::TableEntry{0}));
  CHECK(value_of(entry, table).is(table[0]));
  CHECK_THROWS_AS(value_of(entry), Error);
}

}  // namespace
}  // namespace fxtrace::internal::torchscript
