// Fuzz target: symbolic sizes as sympy writes them.
#include <string>

#include "exported/program/encoded_texts.h"
#include "symbolic/expression.h"
#include "symbolic/sym_int.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {
namespace {

void read(const std::string& text) {
  const Expression expression = Expression::parse(text);
  require(Expression::parse(expression.text()) == expression, "an expression's text reads back");
  const auto size = SymInt::parse(text);
  if (!size) return;
  const auto again = SymInt::parse(size->text());
  require(again && *again == *size, "a size's text reads back");
  size->evaluate({{"s0", 3}, {"s1", INT64_MAX}, {"s77", INT64_MIN}, {"u0", -1}});
}

}  // namespace

void sympy(std::string_view input) {
  read(std::string(input));
  read(expression_of_sympy(input).text());
}

}  // namespace fxtrace::internal::fuzz
