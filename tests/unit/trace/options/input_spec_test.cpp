// Specifications of inputs (--input), dimensions (--dim) and fixed arguments (--concrete).
#include "trace/options/input_spec.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "support/error.h"

using namespace fxtrace::internal;

namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what() + (error.hints().empty() ? "" : "; " + error.hints().front());
  }
  return "no error";
}

std::string normal(const std::string& text) { return read_input_spec(text).text; }

DimensionRange range(const std::string& name, std::optional<std::int64_t> low,
                     std::optional<std::int64_t> high) {
  return {name, low, high};
}

}  // namespace

TEST_CASE("input spec: tensors and integers", "[input_spec]") {
  const InputSpec spec = read_input_spec("past.0.k=float16[1,8,batch*2,(seq+1)//2]@cuda:1");
  CHECK(spec.name == "past.0.k");
  const ParsedInputSpec parsed = parse_input_spec(spec);
  CHECK(parsed.dtype == "float16");
  CHECK(parsed.device == "cuda:1");
  REQUIRE(parsed.shape.size() == 4);
  CHECK(parsed.shape[1] == SymInt(8));
  CHECK(parsed.shape[2] == SymInt::symbol("batch") * 2);
  CHECK(parsed.shape[3] == floordiv(SymInt::symbol("seq") + 1, 2));

  const ParsedInputSpec integer = parse_input_spec(read_input_spec("n=seq"));
  CHECK_FALSE(integer.dtype);
  CHECK(integer.value == SymInt::symbol("seq"));
  CHECK(parse_input_spec(read_input_spec("x=bool[]")).shape.empty());
}

TEST_CASE("input spec: the same in other words", "[input_spec]") {
  const std::pair<const char*, const char*> cases[] = {
      {"x=float[2]", "float32[2]"},
      {"x=half[2]", "float16[2]"},
      {"x=fp16[2]", "float16[2]"},
      {"x=bf16[2]", "bfloat16[2]"},
      {"x=f32[2]", "float32[2]"},
      {"x=i64[u8]", "int64[u8]"},
      {"n=u8", "u8"},
      {"n=f32", "f32"},
      {"x=double[]", "float64[]"},
      {"x=long[n]", "int64[n]"},
      {"x=int[ 1 , n ]", "int32[1,n]"},
      {"x=torch.bfloat16[0]", "bfloat16[0]"},
      {"x=int64[]@cpu", "int64[]"},
      {"x= int64[3] @cuda", "int64[3]@cuda"},
      {"x=uint8[2*n+n]", "uint8[n*3]"},
      {"x=uint8[min(n, 4),2]", "uint8[min(4,n),2]"},
      {"n=1+seq", "seq+1"},
      {"n=8", "8"},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    const std::string name = std::string(text).substr(0, std::string(text).find('='));
    CHECK(normal(text) == expected);
    CHECK(normal(name + "=" + expected) == expected);
  }
}

TEST_CASE("input spec: without a name it is counted", "[input_spec]") {
  CHECK(read_input_spec("float32[1,batch]", 2).name == "2");
  CHECK(read_input_spec("0.k=float32[1]", 2).name == "0.k");
  CHECK(read_input_spec("seq", 1).text == "seq");
}

TEST_CASE("input spec: errors say what is wrong and show a right one", "[input_spec]") {
  const std::pair<const char*, const char*> cases[] = {
      {"x=", "--input x: the spec is empty"},
      {"x=float31[1]",
       "--input x: 'float31' is not a dtype, did you mean 'float32'?; a tensor is written --input"},
      {"x=qqq[1]", "'qqq' is not a dtype;"},
      {"x=[1,2]", "the dtype in front of the sizes is missing: expected float32[1,2], or int64[1,2]"},
      {"1,3,224,224", "--input 0: the dtype in front of the sizes is missing: expected float32[1,3,224,224]"},
      {"x=(1, 3, H, W)", "float32[1,3,H,W]"},
      {"x=1x3x224x224", "float32[1,3,224,224]"},
      {"x=float32", "'float32' is a dtype; a tensor also needs its sizes"},
      {"x=float32[1,,2]", "size 1 is empty"},
      {"x=float32[1,2,]", "size 2 is empty"},
      {"x=float32[-1,2]", "size 0 is negative: -1"},
      {"x=float32[2,1-3]", "size 1 is negative: 1-3"},
      {"x=float32[a b]", "size 0 is 'a b'; expected a number"},
      {"x=float32[1.5]", "size 0 is '1.5'"},
      {"x=float32[?]", "size 0 is '?'"},
      {"x=float32[1", "missing ']'"},
      {"x=float32[1]cuda", "unexpected 'cuda' after the sizes"},
      {"x=float32[1]@", "'' is not a device"},
      {"x=float32[1]@gpu:0", "'gpu:0' is not a device"},
      {"x=float32[1]@cuda:a", "'cuda:a' is not a device"},
      {"x=float32[1]@cuda:", "'cuda:' is not a device"},
      {"n=1.5", "'1.5' is neither a tensor nor an integer expression"},
      {"=float32[1]", "'' is not the name of an input; inputs are named by path or position"},
      {"a..b=float32[1]", "'a..b' is not the name of an input"},
      {".a=float32[1]", "'.a' is not the name of an input"},
      {"a[0]=float32[1]", "'a[0]' is not the name of an input"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK_THAT(error_of([&, &spec = text] { read_input_spec(spec); }), ContainsSubstring(message));
  }
}

TEST_CASE("dimension range: there and back", "[input_spec]") {
  const std::pair<const char*, std::pair<DimensionRange, const char*>> cases[] = {
      {"batch=1..64", {range("batch", 1, 64), "1..64"}},
      {"b=4..", {range("b", 4, std::nullopt), "4.."}},
      {"b=..8", {range("b", std::nullopt, 8), "..8"}},
      {"b=8", {range("b", 8, 8), "8"}},
      {"b=8..8", {range("b", 8, 8), "8"}},
      {"b= 0 .. 1 ", {range("b", 0, 1), "0..1"}},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    const DimensionRange read = read_dimension_range(text);
    CHECK(read.name == expected.first.name);
    CHECK(read.low == expected.first.low);
    CHECK(read.high == expected.first.high);
    CHECK(range_text(read) == expected.second);
  }
}

TEST_CASE("dimension range: errors", "[input_spec]") {
  const std::pair<const char*, const char*> cases[] = {
      {"batch", "--dim: expected NAME=LO..HI, got 'batch'; a range is written --dim batch=1..64"},
      {"=1", "'' is not a valid name for a dimension"},
      {"a-b=1", "'a-b' is not a valid name for a dimension"},
      {"b=", "expected at least one bound"},
      {"b=..", "expected at least one bound"},
      {"b=x", "'x' is not a non-negative integer"},
      {"b=-1..2", "'-1' is not a non-negative integer"},
      {"b=1..2..3", "'2..3' is not a non-negative"},
      {"b=1-2", "'1-2' is not a non-negative"},
      {"b=3..2", "from 3 to 2 is an empty range"},
      {"b=99999999999999999999", "is not a non-negative integer"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK_THAT(error_of([&, &dim = text] { read_dimension_range(dim); }), ContainsSubstring(message));
  }
}

TEST_CASE("dimensions: of the specs, with their ranges", "[input_spec]") {
  TraceOptions options;
  options.inputs = {read_input_spec("x=float32[batch,seq*2]"), read_input_spec("n=seq+u0")};
  options.dimensions = {range("batch", 1, 64), range("batch", std::nullopt, 8)};
  CHECK(named_dimensions(options.inputs) == std::vector<std::string>{"batch", "seq", "u0"});
  ShapeEnv dimensions = make_dimensions(options);
  CHECK(dimensions.range("batch") == Range{1, 8});
  CHECK(dimensions.range("seq") == Range{0, std::nullopt});
  CHECK_FALSE(dimensions.fresh().text() == "u0");  // the user has a dimension of that name

  options.dimensions.push_back(range("batch", 9, std::nullopt));
  CHECK(error_of([&] { make_dimensions(options); }) ==
        "--dim: the ranges of 'batch' do not overlap: 1..8 and 9..");

  CHECK(error_of([&] { check_dimensions(options.dimensions, {"batch"}); }) == "no error");
  CHECK(error_of([&] { check_dimensions({range("bath", 1, 2)}, {"batch", "seq"}); }) ==
        "--dim: no dimension named 'bath'; named dimensions: batch, seq");
  CHECK_THAT(error_of([&] { check_dimensions({range("b", 1, 2)}, {}); }),
             ContainsSubstring("a size in --input NAME=SPEC gives it one"));
}

TEST_CASE("input choice: fixed, remaining or default", "[input_choice]") {
  using Kind = InputChoice::Decision::Kind;
  const auto fail = [](const std::string& what) { throw usage_error(what); };
  TraceOptions options;
  const std::vector<std::string> names{"x", "flag", "mask", "state"};
  {
    const InputChoice choice(options, names, fail);
    CHECK(choice.decide("x").kind == Kind::kRemains);
    CHECK_FALSE(choice.decide("x").named);
  }
  options.concrete = {{"flag", false}, {"flag", true}, {"mask", kConcretePlaceholder}};
  {
    const InputChoice choice(options, names, fail);
    const auto flag = choice.decide("flag");
    CHECK(flag.kind == Kind::kFixed);
    CHECK(*flag.value == Argument(true));  // the last one counts
    CHECK(choice.decide("mask").kind == Kind::kRemains);
    CHECK(choice.decide("mask").named);
    CHECK(choice.decide("state").kind == Kind::kRemains);
  }
  options.input_names = {"x"};
  {
    const InputChoice choice(options, names, fail);
    CHECK(choice.decide("x").kind == Kind::kRemains);
    CHECK(choice.decide("x").named);
    CHECK(choice.decide("mask").kind == Kind::kRemains);
    CHECK(choice.decide("flag").kind == Kind::kFixed);
    CHECK(choice.decide("state").kind == Kind::kDefault);
  }
  options.input_names = {"stat"};
  CHECK(error_of([&] { InputChoice(options, names, fail); }) ==
        "no input named 'stat', did you mean 'state'?");
}
