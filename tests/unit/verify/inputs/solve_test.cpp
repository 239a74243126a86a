// The value of a dimension from a size that is known.
#include "verify/inputs/guard_evaluator.h"

#include <string>

#include "catch.h"
#include "symbolic/expression.h"

using namespace fxtrace::internal;          // NOLINT(google-build-using-namespace)
using namespace fxtrace::internal::verify;  // NOLINT(google-build-using-namespace)

namespace {

// "s=3", or nothing.
std::string solved(const char* size, std::int64_t result,
                   const std::map<std::string, std::int64_t>& sizes = {}) {
  const auto found = solve(*Expression::parse(size).size(), result, sizes);
  return found ? found->first + "=" + std::to_string(found->second) : "nothing";
}

}  // namespace

TEST_CASE("verify: a dimension follows from a size", "[verify]") {
  CHECK(solved("s", 4) == "s=4");
  CHECK(solved("s*2", 6) == "s=3");
  CHECK(solved("s*2+1", 7) == "s=3");
  CHECK(solved("5-s", 3) == "s=2");
  CHECK(solved("s+t", 7, {{"t", 2}}) == "s=5");
  CHECK(solved("s*t", 8, {{"t", 2}}) == "s=4");
}

TEST_CASE("verify: no dimension follows from a size that does not fit, or has several", "[verify]") {
  CHECK(solved("s*2", 7) == "nothing");
  CHECK(solved("s+t", 7) == "nothing");
  CHECK(solved("s*s", 9) == "nothing");
  CHECK(solved("s", 4, {{"s", 4}}) == "nothing");
}
