// Qualified names of Python.
#include "support/text/qualified_name.h"

#include <string>
#include <vector>

#include "tests/unit/catch.h"

using fxtrace::internal::QualifiedName;

namespace {

std::vector<std::string> prefixes(std::string_view name) {
  std::vector<std::string> found;
  QualifiedName(name).for_each_prefix([&](std::string_view prefix) { found.emplace_back(prefix); });
  return found;
}

}  // namespace

TEST_CASE("a qualified name has parts, and a dot behind a backslash belongs to one") {
  const QualifiedName name(R"(a.b\.c.d)");
  CHECK(name.parent() == R"(a.b\.c)");
  CHECK(name.last() == "d");
  CHECK(name.parts() == std::vector<std::string_view>{"a", R"(b\.c)", "d"});
  CHECK(prefixes(R"(a.b\.c.d)") == std::vector<std::string>{"a", R"(a.b\.c)", R"(a.b\.c.d)"});
  CHECK(QualifiedName(R"(a.b\.c)").last() == R"(b\.c)");
  CHECK(QualifiedName(R"(b\.c)").parent().empty());
  CHECK(QualifiedName("").parts().empty());
  CHECK(QualifiedName("").last().empty());
  CHECK(QualifiedName("a").parent().empty());
}

TEST_CASE("what is below a qualified name") {
  CHECK(QualifiedName("a.b.c").is_below("a.b"));
  CHECK(QualifiedName("a.b.c").below("a") == "b.c");
  CHECK_FALSE(QualifiedName("a.b").is_below("a.b"));
  CHECK_FALSE(QualifiedName("a.bc").is_below("a.b"));
  CHECK(QualifiedName("a.bc").below("a.b") == "a.bc");
  CHECK(QualifiedName("a").is_below(""));
  CHECK_FALSE(QualifiedName("").is_below(""));
}

TEST_CASE("names and parts") {
  CHECK(fxtrace::internal::part_of_name("b.c") == R"(b\.c)");
  CHECK(fxtrace::internal::name_of_part(R"(b\.c)") == "b.c");
  CHECK(fxtrace::internal::name_of_part(R"(b\c)") == R"(b\c)");
}
