#include "symbolic/sym_int.h"

#include "catch.h"
#include "symbolic/dimensions.h"

using fxtrace::Dimensions;
using fxtrace::Relation;
using fxtrace::SymInt;

namespace {

SymInt parsed(const char* text) {
  const auto value = SymInt::parse(text);
  INFO(text);
  REQUIRE(value.has_value());
  return *value;
}
std::string normal(const char* text) { return parsed(text).text(); }

}  // namespace

TEST_CASE("symbolic integers have one normal form", "[symbolic]") {
  CHECK(normal("batch*2 + batch") == "batch*3");
  CHECK(normal("2*(s//2)") == "(s//2)*2");
  CHECK(normal("(seq+1)//2") == "(seq+1)//2");
  CHECK(normal("1 + batch*seq*2") == "batch*seq*2+1");
  CHECK(normal("3 - batch") == "3-batch");
  CHECK(normal("max(batch, 1)") == "max(1,batch)");
  CHECK(normal("batch*seq*768 // (768*batch)") == "seq");
  CHECK(normal("-(-n//8)") == "(n+7)//8");
  CHECK(normal("((n-1)//2+1-1)//2+1") == "(n+3)//4");
  CHECK(normal("(n - n%8)//8") == "n//8");
  CHECK(normal("(8 - n%8)%8") == "(-n)%8");
}

TEST_CASE("dimensions decide comparisons", "[symbolic]") {
  Dimensions dimensions;
  REQUIRE(dimensions.narrow("batch", {1, 64}));
  CHECK(dimensions.decide(Relation::kGreater, parsed("batch"), 0) == true);
  CHECK(dimensions.decide(Relation::kGreater, parsed("batch*2"), 128) == false);
  CHECK(dimensions.decide(Relation::kEqual, parsed("batch"), 3) == std::nullopt);
}
