// Symbolic expressions: parsing and printing.
#include "symbolic/expression.h"

#include <cstdlib>
#include <limits>
#include <string>

#include "catch.h"
#include "symbolic/expression_text.h"

using fxtrace::internal::Expression;
using fxtrace::internal::Relation;
using Kind = Expression::Kind;

namespace {

std::string repeated(std::string text, const std::string& part, int times) {
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

}  // namespace

TEST_CASE("an expression has one text", "[expression]") {
  const std::pair<const char*, const char*> cases[] = {
      {"2*s19 + 1", "s19*2+1"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"s19*2+1", "s19*2+1"},
      {"1 + s19 + s19", "s19*2+1"},
      {"(s53 - 3)//4 + 1", "(s53+1)//4"},
      {"Max(1, s0)", "max(1,s0)"},
      {"math.floor(s0/2)", "s0//2"},
      {"s0/2", "s0/2"},
      {"float(s0)*2", "float(s0)*2"},
      {"2 <= s77 and s77 <= 64", "2 <= s77 <= 64"},
      {"2 <= s77 <= 64", "2 <= s77 <= 64"},
      {"u0 >= 1 and u0 <= 2*s77", "u0 >= 1 and u0 <= s77*2"},
      {"a == 1 or b == 2 and not c", "a == 1 or b == 2 and not c"},
      {"(a == 1 or b == 2) and c", "(a == 1 or b == 2) and c"},
      {"not (x != 2)", "x == 2"},
      {"not not x", "x"},
      {"not (x is None)", "x is not None"},
      {"not x < 3", "not x < 3"},
      {"(x < 3) == y", "(x < 3) == y"},
      {"x.size()[0] == (2*words['ids'][0].size()[0])", "x.size()[0] == 2*words['ids'][0].size()[0]"},
      {"f(a, b=1, c=[1, (2,), {'k': None}])", "f(a, b=1, c=[1, (2,), {'k': None}])"},
      {"f(None, True, not a, notes=1)", "f(None, True, not a, notes=1)"},
      {"(a & b) | (c ^ d)", "a & b | c ^ d"},
      {"(a | b) & c", "(a | b) & c"},
      {"-x.item()**2", "-x.item()**2"},
      {"(-x.item())**2", "(-x.item())**2"},
      {"a.b/(c.d/e.f)", "a.b/(c.d/e.f)"},
      {"x.y - (1 - x.z)", "x.y-(1-x.z)"},
      {"x.max() > 1e-7", "x.max() > 1e-07"},
      {"mode == \"mean\"", "mode == 'mean'"},
      {"'it\\'s'", "\"it's\""},
      {"x is not None", "x is not None"},
      {"True", "True"},
      {"()", "()"},
  };
  for (const auto& [given, text] : cases) {
    INFO(given);
    const Expression expression = Expression::parse(given);
    CHECK(expression.kind() != Kind::kVerbatim);
    CHECK(expression.text() == text);
    CHECK(Expression::parse(text).text() == text);
  }
}

TEST_CASE("a text that is no expression stays as it is", "[expression]") {
  for (const std::string& text : {std::string("if x.dim() != 2:"),
                                  std::string("a +"),
                                  std::string(""),
                                  std::string("a b"),
                                  std::string("'x"),
                                  std::string("1 2"),
                                  std::string("f(,)"),
                                  std::string("s + not"),
                                  std::string("f(not=1)"),
                                  std::string("x.in"),
                                  std::string("a\nb\"c"),
                                  std::string(100'000, '('),
                                  std::string("x = 1"),
                                  std::string("1x"),
                                  "x" + std::string(200'000, '+'),
                                  repeated("a", ".b", 40'000),
                                  repeated("a.b", "+a.b", 20'000),
                                  repeated("f", "()", 40'000),
                                  repeated("", "not ", 20'000) + "x",
                                  repeated("x", "[0]", 30'000)}) {
    const Expression expression = Expression::parse(text);
    CHECK(expression.kind() == Kind::kVerbatim);
    CHECK(expression.text() == text);
  }
}

TEST_CASE("sizes and comparisons are known as such", "[expression]") {
  CHECK(Expression(3).number() == 3);
  CHECK(Expression::parse("1+2").number() == 3);
  CHECK_FALSE(Expression::parse("x").number());
  CHECK(Expression::parse("x*2").size()->text() == "x*2");
  CHECK(Expression::parse("x <= 2").relation() == Relation::kLessEqual);
  CHECK_FALSE(Expression::parse("x.dim() <= 2").relation());
  CHECK_FALSE(Expression::parse("x is y").relation());
  CHECK(Expression::parse("2*x+1") == Expression::parse("1 + x*2"));
  // Values that need not be integers are not calculated with.
  const Expression f = Expression::variable("f");
  CHECK(Expression::binary("*", Expression::binary("*", f, 2), 3).text() == "f*2*3");
  CHECK(Expression::parse("s0*s1 <= 8")
            .map_sizes([](const auto& size) { return size.substitute({{"s1", 2}}); })
            .text() == "s0*2 <= 8");
}

TEST_CASE("numbers and texts read back as they were", "[expression]") {
  for (const double number : {1e-7, 0.1, 3e20, 1.0, -2.5, 5e-324, 1.7976931348623157e308}) {
    const std::string text = Expression::floating(number).text();
    CHECK(std::strtod(text.c_str(), nullptr) == number);
    CHECK(Expression::parse(text).text() == text);
  }
  CHECK(Expression::floating(std::numeric_limits<double>::infinity()).text() == "float(\"inf\")");
  CHECK(Expression::text_literal("a'b\"c\\\n\x01").text() == "'a\\'b\"c\\\\\\n\\x01'");
  CHECK(Expression::binding("y", Expression::parse("f(x)")).text() == "(y := f(x))");
  CHECK(Expression::attribute(Expression(1), "real").text() == "(1).real");
}

TEST_CASE("expressions as sympy has them", "[expression]") {
  const std::pair<const char*, const char*> cases[] = {
      {"n*2+1", "Add(Mul(Integer(2), n), Integer(1))"},
      {"n/3", "IntTrueDiv(n, Integer(3))"},
      {"n*0.5", "Mul(ToFloat(n), Float('0.5', precision=53))"},
      {"1/math.sqrt(n)",
       "FloatTrueDiv(Float('1.0', precision=53), FloatPow(ToFloat(n), Float('0.5', precision=53)))"},
      {"float(n)**-0.5", "FloatPow(ToFloat(n), Mul(Integer(-1), Float('0.5', precision=53)))"},
      {"min(n/2, m)", "Min(IntTrueDiv(n, Integer(2)), m)"},
      {"math.trunc(n*0.3)-1",
       "Add(TruncToInt(Mul(ToFloat(n), Float('0.3', precision=53))), "
       "Mul(Integer(-1), Integer(1)))"},
      {"torch.sym_ite(n < 3, 1, 0)",
       "Piecewise(ExprCondPair(Integer(1), StrictLessThan(n, Integer(3))), ExprCondPair(Integer(0), true))"},
      {"math.log(n)", nullptr},
      {"9**9**9**n", nullptr},
      {"float(n)**9.5", nullptr},
      {"0.5**float(n)", nullptr},
      {"x.y", nullptr},
  };
  for (const auto& [text, sympy] : cases) {
    CAPTURE(text);
    const auto written =
        fxtrace::internal::srepr(Expression::parse(text), [](const std::string& name) { return name; });
    CHECK(written.value_or("") == (sympy == nullptr ? "" : sympy));
  }
  CHECK(fxtrace::internal::srepr_symbol("s0", true) == "Symbol('s0', positive=True, integer=True)");
  CHECK(fxtrace::internal::srepr_symbol("zuf12", false) == "Symbol('zuf12')");
  CHECK_FALSE(fxtrace::internal::is_float_of_data("zufall"));
}
