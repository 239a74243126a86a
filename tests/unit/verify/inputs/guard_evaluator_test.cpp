// Guards over given inputs.
#include "verify/inputs/guard_evaluator.h"

#include "catch.h"
#include "verify/fake_engine.h"

using namespace fxtrace::internal;          // NOLINT(google-build-using-namespace)
using namespace fxtrace::internal::verify;  // NOLINT(google-build-using-namespace)

TEST_CASE("verify: guards hold, do not, or cannot be told", "[verify]") {
  const Engine engine(fake_api());
  const GuardEvaluator guards(engine, {{"n", 3}},
                              {{"x", fake_tensor({3, 8})},
                               {"k", engine.integer(5)},
                               {"xs", engine.tuple({fake_tensor({1}), engine.none()})},
                               {"d", engine.dict({engine.text("a")}, {engine.integer(1)})}});
  const auto holds = [&](const char* guard) { return guards.holds(Expression::parse(guard)); };

  CHECK(holds("x.dim() == 2") == true);
  CHECK(holds("x.dim() == 3") == false);
  CHECK(holds("x.size(0) == n") == true);
  CHECK(holds("x.size(1) >= 9") == false);
  CHECK(holds("n*2+2 <= x.size(1)") == true);
  CHECK(holds("k == 5") == true);  // an integer input is a size of its name
  CHECK(holds("k + n == 8") == true);
  CHECK(holds("len(xs) == 2") == true);
  CHECK(holds("len(d) == 2") == false);
  CHECK(holds("n > 5 or k > 4") == true);
  CHECK(holds("n > 2 and k > 5") == false);
  CHECK(holds("not n > 5") == true);

  CHECK(holds("m > 1") == std::nullopt);           // a size that has no value
  CHECK(holds("self.flag == 1") == std::nullopt);  // a module
  CHECK(holds("x.is_foreign()") == std::nullopt);  // no such operator
  CHECK(holds("n > 5 and m > 1") == false);        // decided by the first
}
