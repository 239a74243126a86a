// The texts of a program that torch would run: each sort of place with texts that are inert there, and
// others. tests/python/test_inert_texts.py plants such texts into whole programs and has torch read what
// passes.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "catch.h"
#include "exported/format/evaluated_text.h"
#include "exported/format/inert_texts.h"

using namespace fxtrace::internal;

namespace {

std::vector<std::string> places_in(const std::string& json) {
  std::vector<std::string> places;
  const JsonDocument document(json, "program");
  check_texts(document.root(), [&](const TextFault& fault) { places.push_back(fault.place); });
  return places;
}

// Returns JSON in which `value` stands in the place.
std::string placed(const TextPlace& place, const std::string& value) {
  std::string field(place.field.empty() ? "stack_trace" : place.field);
  std::string inner = value;
  std::string within(place.within);
  if (const auto dot = field.find('.');
      dot != std::string::npos) {  // an item of a list that is itself an object
    inner = "[{\"" + field.substr(dot + 1) + "\": " + value + "}]";
    field = field.substr(0, dot);
  } else if (place.is_key) {
    inner = "{" + value + ": {}}";
  }
  std::string object = "{\"" + field + "\": " + inner + "}";
  if (within == "config") object = "{\"weight\": " + object + "}";  // its fields are names of tensors
  return within.empty() ? object : "{\"" + within + "\": " + object + "}";
}

struct Texts {
  InertText inert;
  std::vector<std::string> fine, hostile;  // as JSON
};

const std::vector<Texts>& texts() {
  static const std::vector<Texts> all = {
      {InertText::kSize,
       {R"_("Add(Symbol('s0', integer=True), Integer(1))")_", R"_("s0*2")_"},
       {R"_("__import__('os')")_", R"_("9**9**9")_"}},
      {InertText::kGuard,
       {R"_("L['x'].size()[0] >= 2")_"},
       {R"_("os.system('x')")_", R"_("1 == 1 or L[\"+f()+\"] == 1")_"}},
      {InertText::kArguments,
       {R"_("[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": []}]")_"},
       {R"_("[1, {\"type\": \"builtins.dict\", \"context\": \"[\\\"a'b\\\"]\", \"children_spec\": []}]")_"}},
      {InertText::kResult,
       {R"_("[1, {\"type\": null, \"context\": null, \"children_spec\": []}]")_"},
       {R"_("[1, {\"type\": \"x\", \"context\": \"[{\\\"__enum__\\\": true}]\", \"children_spec\": []}]")_"}},
      {InertText::kTarget,
       {R"_("torch.ops.aten.add.Tensor")_", R"_("_operator.mul")_", R"_("torch.ops.aten.__and__.Tensor")_",
        R"_("torch.ops.mylib.nms.default")_"},
       {R"_("torch.os.system")_", R"_("torch.ops.import_module.x")_",
        R"_("torch.ops.import_module.__func__")_", R"_("torch.ops.load_library.y.z")_",
        R"_("torch.ops.loaded_libraries.add")_", R"_("torch.ops.aten.__func__")_",
        R"_("torch.ops.aten.add.__class__")_", R"_("torch.ops.aten.add.op")_", R"_("torch.ops.aten.name")_",
        R"_("torch.ops.aten")_", R"_("_operator.methodcaller")_"}},
      {InertText::kIdentifier,
       {R"_("x_1")_", R"_("")_", R"_("größe")_"},
       {R"_("x, y")_", R"_("1x")_", R"_("x\n")_"}},
      {InertText::kPlain, {R"_("a.b-0 {c}")_"}, {R"_("a'b")_", R"_("a\"b")_", R"_("a\\")_", R"_("a\nb")_"}},
      {InertText::kModules,
       {R"_("L__self___a,a,torch.nn.Linear;b,L['self'].a.b,X")_"},
       {R"_("k,a\"b,T")_", R"_("k,a,T;k,a\\,T")_"}},
      {InertText::kFunctions, {R"_("a,torch.nn.functional.relu;b,<class>")_"}, {R"_("a,torch.x()")_"}},
      {InertText::kComment,
       {R"_("File \"x.py\", line 3")_"},
       {R"_("a \"\"\" b")_", R"_("[\"\\\"\\\"\\\"\"]")_"}},
      {InertText::kRecord, {R"_("weight_0")_"}, {R"_("../weight_0")_", R"_("a\\b")_"}},
      {InertText::kSymbol, {R"_("s77")_", R"_("u12")_"}, {R"_("u99999999")_", R"_("f(s0)")_"}},
      {InertText::kInteger, {"3", "null"}, {R"_("3")_"}},
      {InertText::kBoolean, {"true", "null"}, {R"_("true")_"}},
      {InertText::kReal, {"1.5", R"_("NaN")_", R"_("-Infinity")_"}, {R"_("1.5")_"}},
  };
  return all;
}

}  // namespace

TEST_CASE("inert texts: every place takes what is inert there, and nothing else", "[inert_texts]") {
  std::set<InertText> seen;
  for (const TextPlace& place : text_places()) {
    CAPTURE(place.within, place.field);
    CHECK_FALSE(place.use.empty());
    const auto found = std::ranges::find(texts(), place.inert, &Texts::inert);
    REQUIRE(found != texts().end());
    seen.insert(place.inert);
    for (const std::string& text : found->fine) {
      if (place.is_key && text == "null") continue;
      CAPTURE(text);
      CHECK(places_in(placed(place, text)).empty());
    }
    for (const std::string& text : found->hostile) {
      CAPTURE(text);
      CHECK(places_in(placed(place, text)).size() == 1);
    }
  }
  CHECK(seen.size() == texts().size());
}

TEST_CASE("inert texts: a fault says where it is", "[inert_texts]") {
  const std::string json = R"({"graph_module": {"graph": {"nodes": [
      {"name": "a", "target": "torch.ops.aten.add.Tensor", "inputs": [{"name": "x, y", "arg": {"as_string": "it's"}}],
       "metadata": {"nn_module_stack": "r,,Net;k,blocks.0,Block"}}]}}})";
  const JsonDocument document(json, "program");
  std::vector<TextFault> faults;
  check_texts(document.root(), [&](const TextFault& fault) { faults.push_back(fault); });
  REQUIRE(faults.size() == 1);  // the text of an argument is written by repr()
  CHECK(faults[0].place == "graph_module.graph.nodes[0].inputs[0].name");
  CHECK(faults[0].module == "blocks.0");
  CHECK(faults[0].node == "a");
  CHECK(places_in(R"({"a": 1, "a": 2})").size() == 1);
  // A name of the model's is not a field of the format.
  CHECK(places_in(R"({"range_constraints": {"s0": {"min_val": 2}}, "config": {"name": {"path_name": "w"}}})")
            .empty());
  // What prints looks nothing up.
  const auto printing = [](const std::string& format) {
    return places_in(
        R"({"nodes": [{"target": "torch.ops.higher_order.print", "inputs": [{"name": "", "arg": {"as_string": ")" +
        format + R"("}}]}]})");
  };
  CHECK(printing("x is {0} {name} {{}}").empty());
  CHECK(printing("{0.__class__}").size() == 1);
  const auto as_argument = [](const std::string& rest) {
    return places_in(
        R"({"nodes": [{"target": "torch.ops.higher_order.with_effects", "inputs": [{"name": "", "arg": {"as_operator":
        "torch.ops.higher_order.print"}})" +
        rest + "]}]}");
  };
  CHECK(as_argument(R"(, {"name": "", "arg": {"as_string": "{x}"}})").empty());
  CHECK(as_argument(R"(, {"name": "", "arg": {"as_string": "{x.y}"}})").size() == 1);
  CHECK(as_argument("").size() == 1);
}

TEST_CASE("inert texts: what sympy would do is bounded", "[inert_texts]") {
  const auto symbol = [](const std::string& name) { return "Symbol('" + name + "', integer=True)"; };
  const auto joined = [&](const std::string& between, int count, const auto& part) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : between) + part(i);
    return text;
  };
  const auto squares = [&](int i) {
    return symbol("s") + "*" + symbol("a" + std::to_string(i)) + "-" + symbol("b" + std::to_string(i));
  };
  const auto sum = [&](int count) {
    return "(" + joined("+", count, [&](int i) { return symbol("a" + std::to_string(i)); }) + ")";
  };
  CHECK_FALSE(problem_of_size_text("Max(" + joined(", ", 3, squares) + ")"));
  CHECK(problem_of_size_text("Max(" + joined(", ", 40, squares) + ")"));
  CHECK(problem_of_size_text("Max(Max(" + joined(", ", 12, squares) + "), Max(" + joined(", ", 12, squares) +
                             "))"));
  CHECK_FALSE(problem_of_size_text("Abs(" + sum(5) + "**2)"));
  CHECK(problem_of_size_text("Abs(" + sum(30) + "**8 * (1+" + symbol("s") + ")**8)"));
  CHECK_FALSE(problem_of_size_text("PythonMod(" + sum(5) + "**2, " + sum(3) + ")"));
  CHECK(problem_of_size_text("PythonMod(" + sum(20) + "**2, " + sum(20) + ")"));
  CHECK(problem_of_size_text("Float('0.1', precision=2000000000)"));
  CHECK(problem_of_size_text("exp(exp(" + symbol("s") + "))"));
  CHECK(problem_of_size_text("exp(exp(exp(Integer(9))))"));
  CHECK(problem_of_size_text("2**(2**" + symbol("s") + ")"));
  // The size after five layers with strides, as torch.export writes it.
  std::string nested = symbol("s");
  for (int i = 0; i < 5; ++i)
    nested = "Add(FloorDiv(Add(" + nested + ", Integer(-3)), Integer(2)), Integer(1))";
  CHECK(problem_of_size_text(nested).value_or("") == "");
  CHECK_FALSE(problem_of_size_text("Mul(Integer(3), Max(Integer(1), " + nested + "))"));
  CHECK_FALSE(problem_of_size_text("FloatPow(ToFloat(" + symbol("s") +
                                   "), Mul(Integer(-1), Float('0.25', precision=53)))"));
}

TEST_CASE("inert texts: keys of example inputs", "[inert_texts]") {
  const auto dict = [](const std::string& key) {
    return "\x80\x02}X" + std::string(1, static_cast<char>(key.size())) + std::string(3, '\0') + key +
           "K\x01s.";
  };
  CHECK_FALSE(problem_of_example_inputs(dict("a b")));
  CHECK(problem_of_example_inputs(dict("a'b")));
  CHECK(problem_of_example_inputs(dict("\"+f()+\"")));
  CHECK(problem_of_example_inputs("\x80\x02}K\x01X\x01" + std::string(3, '\0') +
                                  "'\x86K\x01s."));  // {(1, "'"): 1}
  CHECK_FALSE(problem_of_example_inputs("\x80\x02}K\x01K\x02s."));
  CHECK_FALSE(problem_of_example_inputs(dict("a\\b\n")));
  CHECK(problem_of_example_inputs("\x80\x02}Va\\u0027b\nK\x01s."));
  CHECK(
      problem_of_example_inputs("\x80\x02"
                                "ccollections\nOrderedDict\n]X\x01" +
                                std::string(3, '\0') +
                                "'K\x01\x86"
                                "a\x85R."));  // OrderedDict([("'", 1)])
}
