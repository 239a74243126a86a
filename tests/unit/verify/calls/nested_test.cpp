// Containers from their parts, and the arguments of forward.
#include "verify/calls/engine.h"

#include "catch.h"
#include "verify/fake_engine.h"

using namespace fxtrace::internal;          // NOLINT(google-build-using-namespace)
using namespace fxtrace::internal::verify;  // NOLINT(google-build-using-namespace)

namespace {

using Path = std::vector<Argument>;

std::string built(const std::vector<Path>& paths) {
  const Engine engine(fake_api());
  std::vector<NestedItem> parts;
  for (std::size_t i = 0; i < paths.size(); ++i)
    parts.push_back({&paths[i], engine.integer(static_cast<std::int64_t>(i))});
  return fake_text(*nested(engine, parts, 0).get());
}

const Argument kA = std::string("a"), kB = std::string("b");
const Argument kZero = std::int64_t{0}, kOne = std::int64_t{1}, kThree = std::int64_t{3};

}  // namespace

TEST_CASE("verify: containers are built from the paths of their parts", "[verify]") {
  CHECK(built({{}}) == "0");
  CHECK(built({{kZero}, {kOne}}) == "(0, 1)");
  CHECK(built({{kOne}, {kZero}}) == "(1, 0)");
  CHECK(built({{kThree}}) == "(None, None, None, 0)");  // places without a part
  CHECK(built({{kA}, {kB}}) == "{'a': 0, 'b': 1}");
  CHECK(built({{kA, kZero}, {kB}, {kA, kOne}}) == "{'a': (0, 2), 'b': 1}");
}

TEST_CASE("verify: places that no container has are refused", "[verify]") {
  CHECK_THROWS_AS(built({{Argument(std::int64_t{-1})}}), RunError);
  CHECK_THROWS_AS(built({{Argument(std::int64_t{1} << 40)}}), RunError);
}
