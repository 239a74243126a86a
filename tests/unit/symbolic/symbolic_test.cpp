// Symbolic sizes: normal forms, ranges, assumptions, and comparison with plain integers.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "support/text/numbers.h"
#include "symbolic/affine.h"
#include "symbolic/shape_env.h"
#include "symbolic/size_text.h"
#include "symbolic/sym_int.h"

using fxtrace::internal::Range;
using fxtrace::internal::Relation;
using fxtrace::internal::ShapeEnv;
using fxtrace::internal::SymbolicError;
using fxtrace::internal::SymInt;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

SymInt parsed(const std::string& text) {
  const auto value = SymInt::parse(text);
  INFO(text);
  REQUIRE(value.has_value());
  return *value;
}

std::string normal(const std::string& text) {
  const SymInt value = parsed(text);
  const auto again = SymInt::parse(value.text());
  INFO(text << " is " << value.text());
  REQUIRE(again.has_value());
  CHECK(*again == value);
  return value.text();
}

// Returns a ShapeEnv with ranges such as "batch=1..64".
ShapeEnv with(const std::vector<std::pair<std::string, Range>>& ranges) {
  ShapeEnv dimensions;
  for (const auto& [name, range] : ranges) REQUIRE(dimensions.narrow(name, range));
  return dimensions;
}

struct Question {
  SymInt left, right;
  Relation relation;
};

// Returns a condition from text: "n//2 >= 3".
Question question(const std::string& text) {
  static const std::vector<std::pair<std::string, Relation>> kRelations{
      {" == ", Relation::kEqual},        {" != ", Relation::kNotEqual}, {" <= ", Relation::kLessEqual},
      {" >= ", Relation::kGreaterEqual}, {" < ", Relation::kLess},      {" > ", Relation::kGreater}};
  for (const auto& [sign, relation] : kRelations) {
    const auto at = text.find(sign);
    if (at == std::string::npos) continue;
    return {parsed(text.substr(0, at)), parsed(text.substr(at + sign.size())), relation};
  }
  FAIL("not a comparison: " << text);
  return {};
}

// Returns the answer to a question: "yes", "no" or "unknown".
std::string decided(const ShapeEnv& dimensions, const std::string& text) {
  const Question asked = question(text);
  const auto answer = dimensions.decide(asked.relation, asked.left, asked.right);
  return answer ? (*answer ? "yes" : "no") : "unknown";
}

bool assume(ShapeEnv& dimensions, const std::string& text) {
  const Question told = question(text);
  return dimensions.assume(told.relation, told.left, told.right);
}

std::string bounds(const ShapeEnv& dimensions, const std::string& text) {
  return to_string(dimensions.bounds(parsed(text)));
}

std::string simple(const ShapeEnv& dimensions, const std::string& text) {
  return dimensions.simplify(parsed(text)).text();
}

}  // namespace

TEST_CASE("symbolic integers have one normal form", "[symbolic]") {
  CHECK(parsed("batch*2 + batch") == parsed("3*batch"));
  CHECK(normal("batch*2 + batch") == "batch*3");
  CHECK(normal("1 + batch*seq*2") == "batch*seq*2+1");
  CHECK(normal("seq*batch - batch*seq") == "0");
  CHECK(normal("(a+b)*(a-b)") == "a**2-b**2");
  CHECK(normal("(a+1)**3") == "a**3+a**2*3+a*3+1");
  CHECK(normal("c + b*b + a*b*c + 4") == "a*b*c+b**2+c+4");
  CHECK(normal("3 - batch") == "3-batch");
  CHECK(normal("-batch") == "-batch");
  CHECK(normal("-batch*2 - 1") == "-batch*2-1");
  CHECK(normal("2*(s//2)") == "(s//2)*2");
  CHECK(normal("-(s//2)") == "-(s//2)");
  CHECK(normal("a*(s//2)") == "a*(s//2)");
  CHECK(normal("(s//2)**2") == "(s//2)**2");
  CHECK(normal("n - s//2") == "n-s//2");
  CHECK(normal("n - s%2*3") == "n-(s%2)*3");
  CHECK(parsed("u10").symbol_name() == "u10");
  CHECK_FALSE(parsed("u10*2").symbol_name());
  CHECK(parsed("b*a + max(c, d//a)").symbols() == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(SymInt(7).number() == 7);
  CHECK_FALSE(parsed("n").number());
}

TEST_CASE("symbolic quotients are simplified where that always holds", "[symbolic]") {
  CHECK(normal("(seq+1)//2") == "(seq+1)//2");
  CHECK(normal("batch*seq*768 // (768*batch)") == "seq");
  CHECK(normal("(batch*seq + batch) // batch") == "seq+1");
  CHECK(normal("(a*a - b*b) // (a + b)") == "a-b");
  CHECK(normal("(batch*4 + 6) // 4") == "batch+1");
  CHECK(normal("(8*n + r) // 8") == "n+r//8");
  CHECK(normal("(n//2)//3") == "n//6");
  CHECK(normal("(n//m)//3") == "n//(m*3)");
  CHECK(normal("((n-1)//2+1-1)//2+1") == "(n+3)//4");
  CHECK(normal("n//1") == "n");
  CHECK(normal("n//-2") == "-((n+1)//2)");
  CHECK(normal("(6*n)//(4*m)") == "n*3//(m*2)");
  CHECK(normal("(a*b)//(a*c)") == "b//c");
  CHECK(normal("(4*n + 2)//8") == "n//2");
  CHECK(normal("0//n") == "0");
  CHECK(normal("n//n") == "1");
  CHECK(normal("n//(-n)") == "-1");
  CHECK(normal("7//2") == "3");
  CHECK(normal("-7//2") == "-4");
  CHECK(normal("(n-n%8)//8") == "n//8");
  CHECK(normal("(n%8)//8") == "0");
  CHECK(normal("(-9223372036854775807-1)//3") == "-3074457345618258603");
  // The two spellings of rounding up.
  CHECK(normal("-(-n//8)") == "(n+7)//8");
  CHECK(ceildiv(parsed("n"), 8) == parsed("(n+7)//8"));
  CHECK(ceildiv(parsed("n*m"), parsed("m")) == parsed("n"));
  CHECK(fxtrace::internal::ceildiv(9, 4) == SymInt(3));
}

TEST_CASE("symbolic remainders are simplified where that always holds", "[symbolic]") {
  CHECK(normal("(8*n + 9) % 8") == "1");
  CHECK(normal("(-9223372036854775807-1) % 3") == "1");
  CHECK(normal("(9*n) % 8") == "n%8");
  CHECK(normal("(8 - n%8) % 8") == "(-n)%8");
  CHECK(normal("(n%16) % 8") == "n%8");
  CHECK(normal("(n%4) % 8") == "n%4");
  CHECK(normal("(2*n + 1) % 4") == "(n%2)*2+1");
  CHECK(normal("(batch*seq) % batch") == "0");
  CHECK(normal("(a*a - b*b) % (a + b)") == "0");
  CHECK(normal("(a*n) % (a*m)") == "a*(n%m)");
  CHECK(normal("n % -8") == "-((-n)%8)");
  CHECK(normal("n % 1") == "0");
  CHECK(normal("-7 % 2") == "1");
  CHECK(normal("7 % -2") == "-1");
}

TEST_CASE("symbolic minimum and maximum", "[symbolic]") {
  CHECK(normal("max(batch, 1)") == "max(1,batch)");
  CHECK(normal("max(1, max(n, 3), n)") == "max(3,n)");
  CHECK(normal("min(n + 1, n, m)") == "min(m,n)");
  CHECK(normal("max(n, n)") == "n");
  CHECK(normal("min(4, 2)") == "2");
  CHECK(normal("max(-9223372036854775808, n)") == "max(-9223372036854775808,n)");
}

TEST_CASE("texts of sizes that others write are read", "[symbolic]") {
  CHECK(normal("((s0 - 1)//2) + 1") == "(s0+1)//2");
  CHECK(normal("2*s77 + 1") == "s77*2+1");
  CHECK(normal("Max(1, s0) + Min(s1, 4)") == "max(1,s0)+min(4,s1)");
  CHECK(normal("FloorDiv(s0, 2) + Mod(s0, 2) + CeilDiv(s0, 4)") == "(s0+3)//4+s0%2+s0//2");
  CHECK(normal("PythonMod(s0, 8) + CleanDiv(s1, 2)") == "s0%8+s1//2");
  CHECK(normal("ModularIndexing(s0, 4, 8)") == "(s0//4)%8");
  CHECK(normal("PowByNatural(s0, 2)") == "s0**2");
  CHECK(normal("abs(n)") == "max(-n,n)");
  // Quotients that are not integers, as long as they are rounded in the end.
  CHECK(normal("math.floor(1/2*n)") == "n//2");
  CHECK(normal("math.ceil((n - 1)/2)") == "n//2");
  CHECK(normal("math.trunc(n/2)") == "max(0,n//2)+min(0,(n+1)//2)");
  CHECK(normal("floor(s0/2 + 1/2)") == "(s0+1)//2");
  CHECK(normal("math.floor(IntTrueDiv(n, 2))") == "n//2");
  CHECK(normal("n << 3") == "n*8");
  CHECK(normal("(n >> 3) + 1") == "n//8+1");
  // Texts as Python reads them.
  CHECK(normal("-n//2") == "-((n+1)//2)");
  CHECK(normal("-n**2") == "-n**2");
  CHECK(normal("2**3**2") == "512");
  CHECK(normal("a*b//c*d") == "d*(a*b//c)");
  CHECK(normal("- - 3") == "3");
  CHECK(parsed("-9223372036854775808") == SymInt(kLeast));
  for (const char* text : {"",
                           " ",
                           "n +",
                           "(n",
                           "n)",
                           "n n",
                           "1.5",
                           "n/2",
                           "9223372036854775808",
                           "-(9223372036854775808)",
                           "f(n)",
                           "n == 2",
                           "n and m",
                           "max()",
                           "Mod(n)",
                           "n//0",
                           "n%0",
                           "n**m",
                           "n**-2",
                           "round(n/2)",
                           "2n",
                           "math.pi",
                           "max(n/2, 1)",
                           "n,m",
                           "\"n\"",
                           "not n"}) {
    INFO(text);
    CHECK_FALSE(SymInt::parse(text));
  }
}

TEST_CASE("symbolic integers are evaluated as Python does it", "[symbolic]") {
  CHECK(parsed("(n+1)//2*3 - n%5").evaluate({{"n", -8}}) == -14);
  CHECK(parsed("max(n, 3)*min(n, 3)").evaluate({{"n", 5}}) == 15);
  CHECK_FALSE(parsed("n + m").evaluate({{"n", 5}}));
  CHECK_FALSE(parsed("7//n").evaluate({{"n", 0}}));
  CHECK_FALSE(parsed("n*n").evaluate({{"n", kMost}}));
  CHECK(parsed("n*m").substitute({{"n", parsed("m+1")}}).text() == "m**2+m");
  CHECK(parsed("max(n, 4)//2").substitute({{"n", 9}}).number() == 4);
  CHECK(parsed("n + m").substitute({{"n", parsed("m")}, {"m", parsed("n")}}) == parsed("n + m"));
  CHECK_THROWS_AS(parsed("7//n").substitute({{"n", 0}}), SymbolicError);
}

TEST_CASE("symbolic integers do not grow without limit", "[symbolic]") {
  const SymInt n = SymInt::symbol("n");
  CHECK_THROWS_AS(SymInt(kMost) + 1, SymbolicError);
  CHECK_THROWS_AS(n * SymInt(kMost) * 2, SymbolicError);
  CHECK_THROWS_AS(n * SymInt(kLeast), SymbolicError);
  CHECK_THROWS_AS(-SymInt(kLeast), SymbolicError);
  CHECK_THROWS_AS(floordiv(SymInt(kLeast), -1), SymbolicError);
  CHECK(mod(SymInt(kLeast), -1) == SymInt(0));
  CHECK_THROWS_AS(floordiv(n, 0), SymbolicError);
  CHECK_THROWS_AS(mod(n, n - n), SymbolicError);
  CHECK_THROWS_AS(SymInt::symbol("n+1"), SymbolicError);
  CHECK_THROWS_AS(SymInt::symbol(""), SymbolicError);
  CHECK_THROWS_AS(SymInt::symbol(std::string(10000, 'n')), SymbolicError);

  const auto grow = [](const std::function<SymInt(const SymInt&, int)>& step) {
    SymInt value = SymInt::symbol("x");
    for (int i = 0; i < 100000; ++i) value = step(value, i);
  };
  CHECK_THROWS_AS(grow([](const SymInt& x, int) { return x * x; }), SymbolicError);
  CHECK_THROWS_AS(grow([](const SymInt& x, int i) { return x + SymInt::symbol("y" + std::to_string(i)); }),
                  SymbolicError);
  CHECK_THROWS_AS(grow([](const SymInt& x, int i) { return floordiv(x, 3) + x * x + SymInt(i); }),
                  SymbolicError);
  CHECK_THROWS_AS(grow([&](const SymInt& x, int i) { return floordiv(x + SymInt(i), n); }), SymbolicError);
  CHECK_THROWS_AS(
      grow([](const SymInt& x, int i) { return max(x, SymInt::symbol("y" + std::to_string(i))); }),
      SymbolicError);
  CHECK_THROWS_AS(grow([](const SymInt& x, int i) { return (max(x, 3) + min(x, 5)) * SymInt(i % 7 + 1); }),
                  SymbolicError);
  CHECK_FALSE(SymInt::parse(std::string(100000, '(') + "n" + std::string(100000, ')')));
  CHECK_FALSE(SymInt::parse(std::string(15000, '(') + "n" + std::string(4000, ')')));
  CHECK_FALSE(SymInt::parse(std::string(15000, '-') + "n"));
  CHECK_FALSE(SymInt::parse("n**64**64"));
  CHECK(SymInt::parse(std::string(200, '-') + "n") == n);
  CHECK(SymInt::parse(std::string(90, '(') + "n" + std::string(90, ')')) == n);
}

TEST_CASE("ranges of dimensions", "[symbolic]") {
  ShapeEnv dimensions;
  CHECK(to_string(dimensions.range("n")) == "0..");
  REQUIRE(dimensions.narrow("n", {1, 64}));
  CHECK(to_string(dimensions.range("n")) == "1..64");
  CHECK(to_string(Range{std::nullopt, 8}) == "..8");
  CHECK(dimensions.narrow("n", {std::nullopt, 8}));
  CHECK_FALSE(dimensions.narrow("n", {9, std::nullopt}));
  CHECK(to_string(dimensions.range("n")) == "1..8");
  CHECK(dimensions.narrow("delta", {-5, 5}));
  CHECK(to_string(dimensions.range("delta")) == "-5..5");
  CHECK_FALSE(dimensions.narrow("other", {3, 2}));

  REQUIRE(dimensions.narrow("u1", {2, 2}));
  CHECK(dimensions.fresh().text() == "u0");
  CHECK(dimensions.fresh({1, 4}).text() == "u2");
  ShapeEnv copy = dimensions;
  CHECK(copy.fresh().text() == "u3");
  CHECK(copy.narrow("n", {3, 3}));
  CHECK(dimensions.fresh().text() == "u3");  // copies are independent
  CHECK(to_string(dimensions.range("n")) == "1..8");

  std::string text;
  for (const auto& [name, range] : dimensions.ranges()) text += name + "=" + to_string(range) + " ";
  CHECK(text == "delta=-5..5 n=1..8 u0=0.. u1=2..2 u2=1..4 u3=0.. ");
  CHECK(simple(dimensions, "u1*n") == "n*2");
}

TEST_CASE("relations", "[symbolic]") {
  for (const Relation relation : {Relation::kEqual, Relation::kNotEqual, Relation::kLess,
                                  Relation::kLessEqual, Relation::kGreater, Relation::kGreaterEqual}) {
    CHECK(negated(negated(relation)) == relation);
    CHECK(negated(relation) != relation);
    for (const int left : {1, 2, 3}) {
      CHECK(ShapeEnv().decide(relation, left, 2) != ShapeEnv().decide(negated(relation), left, 2));
    }
  }
  CHECK(std::string(to_string(Relation::kLessEqual)) == "<=");
  CHECK(decided({}, "2 < 3") == "yes");
  CHECK(decided({}, "3 <= 2") == "no");
}

TEST_CASE("bounds of expressions", "[symbolic]") {
  const ShapeEnv dimensions =
      with({{"batch", {1, 64}}, {"x", {0, {}}}, {"m", {2, 9}}, {"k", {1, {}}}, {"d", {-3, 5}}});
  CHECK(bounds(dimensions, "batch*2 + 1") == "3..129");
  CHECK(bounds(dimensions, "3 - batch") == "-61..2");
  CHECK(bounds(dimensions, "batch*x") == "0..");
  CHECK(bounds(dimensions, "d*d") == "0..25");
  CHECK(bounds(dimensions, "d*m") == "-27..45");
  CHECK(bounds(dimensions, "x - x//2") == "0..");
  CHECK(bounds(dimensions, "x - 8*(x//8)") == "0..7");
  CHECK(bounds(dimensions, "x//2 + (x+1)//2 - x") == "0..0");
  CHECK(bounds(dimensions, "(x+1)//2*2 - x") == "0..1");
  CHECK(bounds(dimensions, "batch//10") == "0..6");
  CHECK(bounds(dimensions, "x%8") == "0..7");
  CHECK(bounds(dimensions, "m%16") == "2..9");
  CHECK(bounds(dimensions, "x - x%8") == "0..");
  CHECK(bounds(dimensions, "x%m") == "0..8");
  CHECK(bounds(dimensions, "m - x%m") == "1..9");
  CHECK(bounds(dimensions, "x - x//k") == "0..");
  CHECK(bounds(dimensions, "x - x%k") == "0..");
  CHECK(bounds(dimensions, "max(1, x)") == "1..");
  CHECK(bounds(dimensions, "min(m, x)") == "0..9");
  CHECK(bounds(dimensions, "max(1, x) - x") == "0..1");
  CHECK(bounds(dimensions, "max(x - z, z - x + 3)") == "2..");
  CHECK(bounds(dimensions, "min(x - z, z - x + 3)") == "..1");
  CHECK(bounds(dimensions, "min(batch, x) - x") == "..0");
  CHECK(bounds(dimensions, "min(batch, x) - batch") == "-64..0");
  CHECK(bounds(dimensions, "k*batch - k") == "0..");
  CHECK(bounds(dimensions, "k*batch - batch") == "0..");
  CHECK(bounds(dimensions, "k*k - k") == "0..");
  // Beyond 64 bits there is no bound, but never a wrong one.
  const ShapeEnv far = with({{"a", {1, kMost}}, {"b", {2, kMost}}, {"c", {kLeast, {}}}});
  CHECK(bounds(far, "a*b") == "2..");
  CHECK(bounds(far, "a*b*a*b*a*b") == "8..");
  CHECK(bounds(far, "c*c") == "0..");
  CHECK(bounds(far, "a + b") == "3..");
  CHECK(bounds(far, "a - b") == "-9223372036854775806..9223372036854775805");
  CHECK(bounds(far, "-c") == "..");
}

TEST_CASE("comparisons that ranges decide", "[symbolic]") {
  const ShapeEnv dimensions = with({{"batch", {1, 64}}, {"n", {0, {}}}, {"k", {1, {}}}});
  CHECK(decided(dimensions, "batch > 0") == "yes");
  CHECK(decided(dimensions, "batch*2 > 128") == "no");
  CHECK(decided(dimensions, "batch == 3") == "unknown");
  CHECK(decided(dimensions, "batch != 0") == "yes");
  CHECK(decided(dimensions, "batch*2 == batch + batch") == "yes");
  CHECK(decided(dimensions, "n*2 == 3") == "no");
  CHECK(decided(dimensions, "n*4 + 2*k == 7") == "no");
  CHECK(decided(dimensions, "n//2*2 <= n") == "yes");
  CHECK(decided(dimensions, "n//2*2 > n") == "no");
  CHECK(decided(dimensions, "n + 1 > n") == "yes");
  CHECK(decided(dimensions, "n - n%8 == n//8*8") == "yes");
  CHECK(decided(dimensions, "n*k >= n") == "yes");
  CHECK(decided(dimensions, "max(n, 1)*k > 0") == "yes");
  CHECK(decided(dimensions, "n > k") == "unknown");
  CHECK(decided(dimensions, "(n+1)//2 == n//2") == "unknown");
}

TEST_CASE("sizes as models compute them", "[symbolic]") {
  ShapeEnv dimensions = with({{"w", {1, {}}}, {"h", {1, {}}}, {"b", {1, {}}}});
  // Convolutions and pools in sequence.
  CHECK(simple(dimensions, "(w + 2*1 - 1*(3 - 1) - 1)//2 + 1") == "(w+1)//2");
  CHECK(simple(dimensions, "((((w+1)//2+1)//2+1)//2+1)//2") == "(w+15)//16");
  // Windows: padded to a multiple, cut, and joined again.
  CHECK(simple(dimensions, "w + (7 - w%7)%7") == "w+(-w)%7");
  CHECK(simple(dimensions, "(w + (7 - w%7)%7)//7") == "(w+6)//7");
  CHECK(simple(dimensions, "(w + (7 - w%7)%7)%7") == "0");
  CHECK(decided(dimensions, "(w + (7 - w%7)%7)//7*7 == w + (7 - w%7)%7") == "yes");
  CHECK(decided(dimensions, "((w+6)//7)*((h+6)//7) >= 1") == "yes");
  CHECK(decided(dimensions, "(w+6)//7*7 >= w") == "yes");
  // view(-1, ...), chunk(2), x[:, 1:], x[:, :-1], pairs.
  CHECK(simple(dimensions, "w*h*b*768//(w*12*64*b)") == "h");
  CHECK(decided(dimensions, "w//2 + (w+1)//2 == w") == "yes");
  CHECK(simple(dimensions, "max(0, min(w - 1, w))") == "w-1");
  CHECK(simple(dimensions, "min(w, w - 1)") == "w-1");
  CHECK(decided(dimensions, "w*(w-1)//2 >= 0") == "yes");
  CHECK(decided(dimensions, "w//h*h + w%h == w") == "yes");
  CHECK(decided(dimensions, "w*h >= w + h - 1") == "yes");
  CHECK(decided(dimensions, "min(w, h) <= max(w, h)") == "yes");
}

TEST_CASE("what is assumed is known from then on", "[symbolic]") {
  ShapeEnv dimensions;
  REQUIRE(assume(dimensions, "x - 1 > 0"));
  CHECK(to_string(dimensions.range("x")) == "2..");
  REQUIRE(assume(dimensions, "2*x <= 31"));
  CHECK(to_string(dimensions.range("x")) == "2..15");
  CHECK_FALSE(assume(dimensions, "x > 15"));
  CHECK(to_string(dimensions.range("x")) == "2..15");
  REQUIRE(assume(dimensions, "x != 2"));
  CHECK(to_string(dimensions.range("x")) == "3..15");
  REQUIRE(assume(dimensions, "x != 4"));
  CHECK(decided(dimensions, "x == 4") == "no");
  CHECK(decided(dimensions, "2*x != 8") == "yes");
  REQUIRE(assume(dimensions, "x > 3"));
  CHECK(to_string(dimensions.range("x")) == "5..15");  // since it is not 4 either
  REQUIRE(assume(dimensions, "x//4 >= 2"));
  CHECK(to_string(dimensions.range("x")) == "8..15");
  REQUIRE(assume(dimensions, "x//4 < 3"));
  CHECK(to_string(dimensions.range("x")) == "8..11");
  REQUIRE(assume(dimensions, "x*4 == 40"));
  CHECK(simple(dimensions, "x + y") == "y+10");
  CHECK(decided(dimensions, "x == 10") == "yes");
}

TEST_CASE("facts about several dimensions", "[symbolic]") {
  ShapeEnv dimensions = with({{"n", {0, {}}}, {"m", {0, 20}}, {"k", {0, {}}}});
  REQUIRE(assume(dimensions, "2*n <= m"));
  CHECK(to_string(dimensions.range("n")) == "0..10");
  CHECK(decided(dimensions, "n <= m") == "yes");
  CHECK(decided(dimensions, "2*n > m") == "no");
  CHECK(decided(dimensions, "4*n <= 2*m + 1") == "yes");
  CHECK(bounds(dimensions, "m - 2*n") == "0..20");
  REQUIRE(assume(dimensions, "m <= k"));
  CHECK(decided(dimensions, "2*n <= k") == "yes");
  CHECK(simple(dimensions, "max(k, n)") == "k");
  CHECK(simple(dimensions, "min(m + 1, k + 2)") == "m+1");
  CHECK_FALSE(assume(dimensions, "k < m"));
  REQUIRE(assume(dimensions, "m >= 12"));
  CHECK(to_string(dimensions.range("k")) == "12..");

  ShapeEnv sizes;
  REQUIRE(assume(sizes, "batch*seq != 0"));
  CHECK(to_string(sizes.range("batch")) == "1..");
  CHECK(to_string(sizes.range("seq")) == "1..");
  REQUIRE(assume(sizes, "max(a, b) <= 5"));
  CHECK(to_string(sizes.range("b")) == "0..5");
  REQUIRE(assume(sizes, "c//2 >= seq"));
  CHECK(decided(sizes, "c//2 >= seq") == "yes");
  CHECK(decided(sizes, "c >= 2*seq") == "yes");
  CHECK(decided(sizes, "c >= 2") == "yes");
}

TEST_CASE("dimensions that are equal to expressions", "[symbolic]") {
  ShapeEnv dimensions = with({{"h", {4, 10}}, {"w", {1, 7}}, {"n", {1, 9}}});
  REQUIRE(assume(dimensions, "w == h"));
  CHECK(simple(dimensions, "h*w") == "h**2");
  CHECK(decided(dimensions, "w == h") == "yes");
  CHECK(decided(dimensions, "w != h") == "no");
  CHECK(to_string(dimensions.range("h")) == "4..7");
  CHECK(to_string(dimensions.range("w")) == "4..7");
  const SymInt u0 = dimensions.fresh();
  REQUIRE(dimensions.assume(Relation::kEqual, u0, parsed("n*2 + 1")));
  CHECK(simple(dimensions, "u0 - 1") == "n*2");
  CHECK(to_string(dimensions.range("u0")) == "3..19");
  REQUIRE(dimensions.narrow("u0", {6, 14}));
  CHECK(to_string(dimensions.range("n")) == "3..6");
  CHECK(decided(dimensions, "u0 == 4") == "no");
  REQUIRE(assume(dimensions, "n == w"));  // chains of equalities
  CHECK(simple(dimensions, "u0") == "h*2+1");
  CHECK(to_string(dimensions.range("h")) == "4..6");
  REQUIRE(assume(dimensions, "u0 > 12"));
  CHECK(simple(dimensions, "w + u0") == "19");
  CHECK_FALSE(assume(dimensions, "h == 5"));
  // An unnamed dimension is replaced by a named one, whichever comes first.
  ShapeEnv others;
  const SymInt size = others.fresh();
  REQUIRE(others.assume(Relation::kEqual, parsed("zeta"), size));
  CHECK(others.simplify(size).text() == "zeta");
  // It is not replaced by itself.
  ShapeEnv self;
  REQUIRE(assume(self, "n == m*(n//2)"));
  CHECK(decided(self, "n == m*(n//2)") == "yes");
  CHECK_FALSE(assume(self, "a*2 == b*2 + 1"));
}

TEST_CASE("known remainders", "[symbolic]") {
  ShapeEnv dimensions;
  REQUIRE(assume(dimensions, "n % 8 == 0"));
  CHECK(simple(dimensions, "n//8*8") == "n");
  CHECK(simple(dimensions, "batch*(n//8)*16") == "batch*n*2");
  CHECK(simple(dimensions, "n%8") == "0");
  CHECK(simple(dimensions, "n%4 + m") == "m");
  CHECK(simple(dimensions, "n//4*4") == "n");
  CHECK(simple(dimensions, "(n+5)%8") == "5");
  CHECK(simple(dimensions, "(n*m)%8") == "0");
  CHECK(simple(dimensions, "n%16") == "n%16");
  CHECK(decided(dimensions, "n//8*8 == n") == "yes");
  CHECK(decided(dimensions, "n % 2 == 1") == "no");
  CHECK(decided(dimensions, "n == 12") == "no");
  CHECK_FALSE(assume(dimensions, "n % 8 == 3"));
  REQUIRE(assume(dimensions, "n > 0"));
  CHECK(to_string(dimensions.range("n")) == "8..");
  REQUIRE(assume(dimensions, "n < 30"));
  CHECK(to_string(dimensions.range("n")) == "8..24");

  ShapeEnv others;
  REQUIRE(assume(others, "(h*w) % 49 == 0"));
  CHECK(simple(others, "h*w//49*49") == "h*w");
  REQUIRE(assume(others, "n % m == 0"));
  CHECK(simple(others, "m*(n//m)") == "n");
  REQUIRE(assume(others, "k % 3 == 2"));
  CHECK(simple(others, "k//3*3 + 2") == "k");
  REQUIRE(assume(others, "p % 2 != 0"));
  CHECK(simple(others, "p%2") == "1");
  REQUIRE(assume(others, "(r + s) % 4 == 1"));
  CHECK(simple(others, "(r + s + 2)%4") == "3");
  CHECK(simple(others, "(r + s)%2") == "1");
  REQUIRE(assume(others, "q//4*4 == q"));
  CHECK(simple(others, "q%4") == "0");
}

TEST_CASE("expressions are simplified by what is known", "[symbolic]") {
  const ShapeEnv dimensions = with({{"n", {1, 7}}, {"m", {0, 2}}, {"one", {1, 1}}, {"k", {9, {}}}});
  CHECK(simple(dimensions, "max(1, n)") == "n");
  CHECK(simple(dimensions, "min(n, 7, k)") == "n");
  CHECK(simple(dimensions, "n%8") == "n");
  CHECK(simple(dimensions, "n//8") == "0");
  CHECK(simple(dimensions, "(n+8)//8") == "1");
  CHECK(simple(dimensions, "n%k") == "n");
  CHECK(simple(dimensions, "n//k") == "0");
  CHECK(simple(dimensions, "one*n") == "n");
  CHECK(simple(dimensions, "max(max(1, n)*2, m)//2") == "n");
  CHECK(simple(dimensions, "max(m, n)") == "max(m,n)");
  CHECK(simple(dimensions, "(k-1)//k") == "0");
  CHECK(simple(dimensions, "min(n, max(0, n - 3))") == "max(0,n-3)");
  CHECK(dimensions.simplify(5).number() == 5);
}

// ---- Random expressions, compared with the same in plain integers.

namespace {

using Values = std::map<std::string, std::int64_t>;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

struct Expression {
  char operation;  // '#' a number, 'n' a name; + - * / (rounded down) % m (minimum) M (maximum)
  std::int64_t number = 0;
  std::string name = {};
  std::shared_ptr<Expression> left = nullptr, right = nullptr;

  std::optional<std::int64_t> value(const Values& values) const {
    if (operation == '#') return number;
    if (operation == 'n') return values.at(name);
    const auto a = left->value(values);
    const auto b = right->value(values);
    if (!a || !b) return std::nullopt;
    switch (operation) {
      case '+':
        return *a + *b;
      case '-':
        return *a - *b;
      case '*':
        return *a * *b;
      case '/':
        return *b == 0 ? std::nullopt : std::optional(floor_divide(*a, *b));
      case '%':
        return *b == 0 ? std::nullopt : std::optional(*a - *b * floor_divide(*a, *b));
      case 'm':
        return std::min(*a, *b);
      default:
        return std::max(*a, *b);
    }
  }

  // Throws SymbolicError.
  SymInt symbolic() const {
    if (operation == '#') return number;
    if (operation == 'n') return SymInt::symbol(name);
    const SymInt a = left->symbolic();
    const SymInt b = right->symbolic();
    switch (operation) {
      case '+':
        return a + b;
      case '-':
        return a - b;
      case '*':
        return a * b;
      case '/':
        return floordiv(a, b);
      case '%':
        return mod(a, b);
      case 'm':
        return min(a, b);
      default:
        return max(a, b);
    }
  }

  std::string python() const {
    if (operation == '#') return std::to_string(number);
    if (operation == 'n') return name;
    const std::string a = left->python();
    const std::string b = right->python();
    if (operation == 'm') return "min(" + a + ", " + b + ")";
    if (operation == 'M') return "Max(" + a + ", " + b + ")";
    const std::string sign = operation == '/' ? "//" : std::string(1, operation);
    return "(" + a + ") " + sign + " (" + b + ")";
  }
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <typename T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

  std::shared_ptr<Expression> expression(const std::vector<std::string>& names, int depth) {
    auto made = std::make_shared<Expression>();
    if (depth == 0 || number(0, 5) == 0) {
      if (number(0, 2) == 0) {
        *made = {'#', number(-4, 9)};
      } else {
        *made = {'n', 0, one_of(names)};
      }
      return made;
    }
    static const std::string kOperations = "++-**//%%mM";
    made->operation = kOperations[static_cast<std::size_t>(number(0, 10))];
    made->left = expression(names, depth - 1);
    // Divisors are mostly numbers, as in real models.
    const bool divides = made->operation == '/' || made->operation == '%';
    made->right = divides && number(0, 2) != 0 ? std::make_shared<Expression>(Expression{'#', number(1, 8)})
                                               : expression(names, depth - 1);
    return made;
  }

 private:
  std::mt19937 random_;
};

struct Case {
  std::shared_ptr<Expression> expression;
  SymInt value;
};
// Conditions that can be evaluated: not 1//0.
Case random_case(Generator& generator, const std::vector<std::string>& names, int depth) {
  for (;;) {
    Case made{generator.expression(names, depth), 0};
    try {
      made.value = made.expression->symbolic();
      return made;
    } catch (const SymbolicError&) {
    }
  }
}

bool holds(Relation relation, std::int64_t a, std::int64_t b) {
  return ShapeEnv().decide(relation, a, b).value();
}

const std::vector<Relation> kRelations{Relation::kEqual,     Relation::kNotEqual, Relation::kLess,
                                       Relation::kLessEqual, Relation::kGreater,  Relation::kGreaterEqual};

bool inside(const Range& range, std::int64_t value) {
  return (!range.low || *range.low <= value) && (!range.high || value <= *range.high);
}

// All values of the dimensions, as far as their ranges are finite, and some of the others.
std::vector<Values> samples(const std::map<std::string, Range>& ranges) {
  std::vector<Values> result{{}};
  for (const auto& [name, range] : ranges) {
    const std::int64_t low = range.low.value_or(range.high.value_or(4) - 8);
    const std::int64_t high = range.high.value_or(low + 8);
    std::vector<Values> longer;
    for (const Values& values : result) {
      for (std::int64_t value = low; value <= high; ++value) {
        longer.push_back(values);
        longer.back()[name] = value;
      }
    }
    result = std::move(longer);
  }
  return result;
}

}  // namespace

TEST_CASE("random expressions have the values of plain integers", "[symbolic]") {
  Generator generator(1);
  const std::vector<std::string> names{"a", "b", "c"};
  for (int i = 0; i < 10000; ++i) {
    const Case made = random_case(generator, names, static_cast<int>(generator.number(1, 4)));
    const std::string text = made.value.text();
    INFO(made.expression->python() << " is " << text);
    const auto again = SymInt::parse(text);
    REQUIRE(again.has_value());
    REQUIRE(*again == made.value);
    REQUIRE(again->text() == text);
    const auto read = SymInt::parse(made.expression->python());
    REQUIRE(read.has_value());
    REQUIRE(*read == made.value);
    for (int sample = 0; sample < 8; ++sample) {
      const Values values{
          {"a", generator.number(-9, 20)}, {"b", generator.number(0, 40)}, {"c", generator.number(1, 9)}};
      const auto expected = made.expression->value(values);
      if (!expected) continue;  // a division by zero
      INFO("a=" << values.at("a") << " b=" << values.at("b") << " c=" << values.at("c"));
      REQUIRE(made.value.evaluate(values) == expected);
      std::map<std::string, SymInt> numbers;
      for (const auto& [name, number] : values) numbers.emplace(name, number);
      REQUIRE(made.value.substitute(numbers).number() == expected);
    }
  }
}

TEST_CASE("what is said of random expressions holds for all values", "[symbolic]") {
  Generator generator(2);
  const std::vector<std::string> names{"a", "b", "c"};
  const std::vector<Range> choices{{0, {}}, {1, 6}, {-3, 4}, {2, {}}, {{}, 3}, {5, 5}, {0, 9}, {-6, -1}};
  int decisions = 0, simpler = 0;
  for (int i = 0; i < 800; ++i) {
    ShapeEnv dimensions;
    std::map<std::string, Range> ranges;
    for (const std::string& name : names) {
      ranges[name] = generator.one_of(choices);
      REQUIRE(dimensions.narrow(name, ranges[name]));
    }
    std::vector<Values> all = samples(ranges);
    // The assumption holds for at least one of the values, so it must be accepted.
    const Values witness = generator.one_of(all);
    std::string told;
    for (std::int64_t count = generator.number(0, 3); count > 0; --count) {
      const Case left = random_case(generator, names, 2);
      const Case right = random_case(generator, names, 1);
      const auto a = left.expression->value(witness);
      const auto b = right.expression->value(witness);
      if (!a || !b) continue;
      Relation relation = generator.one_of(kRelations);
      if (!holds(relation, *a, *b)) relation = negated(relation);
      if (*a == *b && generator.number(0, 1) == 0) relation = Relation::kEqual;
      told += left.value.text() + " " + to_string(relation) + " " + right.value.text() + "; ";
      INFO(told);
      REQUIRE(dimensions.assume(relation, left.value, right.value));
      REQUIRE(dimensions.decide(relation, left.value, right.value) != false);
      std::erase_if(all, [&](const Values& values) {
        const auto x = left.expression->value(values);
        const auto y = right.expression->value(values);
        return !x || !y || !holds(relation, *x, *y);
      });
    }
    for (const std::string& name : names) {
      const Range range = dimensions.range(name);
      INFO(told << name << " is in " << to_string(range));
      REQUIRE(std::all_of(all.begin(), all.end(),
                          [&](const Values& values) { return inside(range, values.at(name)); }));
    }
    for (int asked = 0; asked < 4; ++asked) {
      const Case left = random_case(generator, names, 3);
      const Case right = random_case(generator, names, 2);
      const Relation relation = generator.one_of(kRelations);
      const Range found = dimensions.bounds(left.value);
      const SymInt simplified = dimensions.simplify(left.value);
      const auto answer = dimensions.decide(relation, left.value, right.value);
      decisions += answer ? 1 : 0;
      simpler += simplified == left.value ? 0 : 1;
      INFO("known: " << told);
      INFO(left.value.text() << " in " << to_string(found) << " is " << simplified.text());
      INFO(to_string(relation) << " " << right.value.text() << ": "
                               << (answer ? *answer ? "yes" : "no" : "?"));
      for (const Values& values : all) {
        const auto x = left.expression->value(values);
        if (!x) continue;
        const auto y = right.expression->value(values);
        const bool fine = inside(found, *x) && simplified.evaluate(values) == x &&
                          (!answer || !y || holds(relation, *x, *y) == *answer);
        if (fine) continue;
        CAPTURE(values, *x, simplified.evaluate(values), y);
        REQUIRE(fine);
      }
    }
  }
  // The questions are chosen so that a good part of them can be answered.
  CHECK(decisions > 1000);
  CHECK(simpler > 500);
}

TEST_CASE("a size follows from another, or from several", "[symbolic]") {
  struct Case {
    const char* size;
    std::vector<const char*> known;
    std::vector<std::int64_t> actual;
    std::optional<std::int64_t> value;
  };
  const Case cases[] = {
      {"7", {}, {}, 7},
      {"s", {"s"}, {5}, 5},
      {"8*s", {"s"}, {5}, 40},
      {"s", {"3*s"}, {15}, 5},
      {"12*s", {"3*s"}, {15}, 60},
      {"s", {"2*s+1"}, {11}, 5},
      {"10-s", {"s"}, {4}, 6},
      {"4*s*t", {"s*t"}, {6}, 24},
      {"s*t", {"s", "t+1"}, {2, 4}, 6},
      {"s//2", {"s"}, {7}, 3},
      {"s//2+1", {"s//2"}, {3}, 4},
      {"max(1,s)", {"2*s"}, {0}, 1},
      {"s", {"s*t"}, {6}, std::nullopt},
      {"s", {"s//2"}, {3}, std::nullopt},
      {"s*s", {"s*s*s"}, {8}, std::nullopt},
      {"s", {"3*s"}, {16}, std::nullopt},  // no program gives this
      {"s", {"t"}, {3}, std::nullopt},
  };
  for (const auto& [size, known, actual, value] : cases) {
    INFO(size);
    std::vector<SymInt> sizes;
    for (const char* text : known) sizes.push_back(parsed(text));
    const auto source = fxtrace::internal::find_source(parsed(size), sizes);
    CHECK((source ? source->value(actual) : std::nullopt) == value);
  }
}

TEST_CASE("sizes as people read them", "[symbolic]") {
  using fxtrace::internal::readable_size;
  using fxtrace::internal::with_separators;
  CHECK(readable_size(parsed("s*221264"), with_separators) == "s·221,264");
  CHECK(readable_size(parsed("s*221264"), fxtrace::internal::rounded) == "s·221 K");
  CHECK(readable_size(parsed("s*s*t*2048-t+7"), fxtrace::internal::bytes_text) ==
        "s²·t·2.00 KiB - t·1 B + 7 B");
  CHECK(readable_size(parsed("s*t+1"), with_separators) == "s·t + 1");
  CHECK(readable_size(parsed("s//2*3"), with_separators) == "(s//2)·3");
}
