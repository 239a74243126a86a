// The parser of TorchScript code.
#include "torchscript/language/parser.h"

#include "catch.h"
#include "support/error.h"

namespace fxtrace::internal::torchscript {
namespace {

// Returns trees in parentheses.
std::string shape(const Tree& tree) {
  std::string text;
  if (tree.is(Syntax::kBinary) || tree.is(Syntax::kUnary)) text = to_text(tree.token);
  if (!tree.text.empty()) text += tree.text;
  if (tree.count == 0) return text.empty() ? "_" : text;
  text += "(";
  for (const Tree* part : tree.all()) text += (part == tree.parts[0] ? "" : " ") + shape(*part);
  return text + ")";
}

std::string expression(const std::string& text) {
  SyntaxFile file(std::make_unique<SourceText>("code.py", text));
  return shape(parse_expression(file));
}

std::size_t definitions(const std::string& text) {
  SyntaxFile file(std::make_unique<SourceText>("code.py", text));
  return parse_code(file).definitions.size();
}

std::string failure(const std::string& text) {
  try {
    definitions(text);
  } catch (const Error& error) {
    return error.place() + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("script parser: expressions") {
  CHECK(expression("a + b * c - d") == "-(+(a *(b c)) d)");
  CHECK(expression("-1 ** 2") == "-(**(1 2))");
  CHECK(expression("-1.5e3") == "-1.5e3");
  CHECK(expression("not a is not None") == "not(is not(a _))");
  CHECK(expression("f(a, *b, k=1, )[0, 1:, ::2].g") == "g(((f (a (b)) (k(1))) (0 (1 _ _) (_ _ 2))))");
  CHECK(expression("{'a': 1, \"b\\n\\101\": 2}") == "((a b\nA) (1 2))");
  CHECK(expression("(a,)") == "(a)");
  CHECK(expression("x not in y") == "not(in(x y))");
}

TEST_CASE("script parser: files") {
  CHECK(definitions(
            "op_version_set = 1\nimport __torch__.a\n\ndef f(x: int,\n    y) -> int:\n  return x\n") == 1);
  CHECK(
      definitions(
          "class A(Module):\n  __parameters__ = []\n  def f(self):\n    if x:\n      pass\n    else:\n      pass\n"
          "  def g(self):\n    pass\n# end\ndef h():\n  return\n") == 2);
  // As in LibTorch, the last line needs a newline.
  CHECK(failure("def f(x):\n  return x") ==
        "code.py:2: expected newline but found 'eof' here:\n      return x\n              ~ <--- HERE");
  CHECK(failure("def f(x):\n  y = = 3\n") ==
        "code.py:2: expected ident but found '=' here:\n      y = = 3\n          ~ <--- HERE");
  CHECK_FALSE(failure("def f(x):\n    a\n  b\n").empty());
  CHECK_FALSE(failure("x = 3\n").empty());
  CHECK_FALSE(failure("def f():\n  return \"a\n").empty());
}

TEST_CASE("script parser: forms that no version of PyTorch writes are refused") {
  struct Case {
    const char* body;
    const char* form;
  };
  for (const auto& [body, form] : {Case{"y = a and b", "`and`"},
                                   {"y = f(not a or b)", "`or`"},
                                   {"y = [a if b else c]", "`a if b else c`"},
                                   {"y = [i for i in x]", "a comprehension"},
                                   {"y = {i: i for i in x}", "a comprehension"},
                                   {"assert a, b", "`assert`"},
                                   {"raise AssertionError(a)", "`raise`"},
                                   {"while a:\n    break", "`break`"},
                                   {"while a:\n    continue", "`continue`"},
                                   {"for i in x:\n    pass", "a loop over"},
                                   {"for i in range(1, x):\n    pass", "a loop over"},
                                   {"for i, j in zip(x, y):\n    pass", "a loop over"},
                                   {"if a:\n    return a", "a `return`"},
                                   {"return a\n  pass", "a `return`"}}) {
    INFO(body);
    const std::string message = failure("def f(x):\n  " + std::string(body) + "\n  return x\n");
    CHECK(message.find(std::string(": ") + form) != std::string::npos);
    CHECK(message.find("is in no code that torch.jit.save writes") != std::string::npos);
  }
  CHECK(definitions(
            "def f(x):\n  def g():\n    return x\n  for i in range(x):\n    pass\n  return fork(g)\n") == 1);
  CHECK(failure("def f(x):\n  y = a or b\n").find("      y = a or b\n            ~~ <--- HERE") !=
        std::string::npos);
}

TEST_CASE("script parser: levels are limited") {
  const auto nested = [](std::size_t count, const std::string& open, const std::string& close) {
    std::string text = "def f():\n  return ";
    for (std::size_t i = 0; i < count; ++i) text += open;
    text += "x";
    for (std::size_t i = 0; i < count; ++i) text += close;
    return text + "\n";
  };
  CHECK(definitions(nested(100, "(", ")")) == 1);
  for (const auto& [open, close] :
       {std::pair{"(", ")"}, {"[", "]"}, {"-", ""}, {"f(", ")"}, {"", "+1"}, {"", ".a"}, {"", "(1)"}}) {
    CHECK(failure(nested(100'000, open, close)).find("more levels") != std::string::npos);
  }
  std::string text = "def f():\n";
  for (int i = 0; i < 1000; ++i) text += std::string(static_cast<std::size_t>(2 + i), ' ') + "if x:\n";
  CHECK(failure(text + std::string(1002, ' ') + "pass\n").find("more levels") != std::string::npos);
}

}  // namespace fxtrace::internal::torchscript
