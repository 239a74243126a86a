// Rewrites as texts: what fits a pattern, and what a replacement makes.
#include "graph/text_rewrite.h"

#include <stdexcept>

#include "catch.h"
#include "graph/analysis/text_form.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;

namespace {

// Returns the calls that stand for the last node, one a line, and the result; empty if the row does not fit.
std::string rewritten(const TextRewrite& row, std::string_view text) {
  const Graph graph = parse_graph(text);
  const Node& node = graph.node(graph.last());
  const TextLookup lookup{[&](NodeId id) -> const Node& { return graph.node(id); },
                          [](const Argument& given, const std::string& type) {
                            return type == (given.is<std::int64_t>() ? "int" : "other");
                          }};
  const auto found = row.before.match(*node.target, node.args, node.kwargs, lookup);
  std::string calls;
  if (!found) return calls;
  const auto result = row.after.make(
      *found, [&](const std::string& target, std::vector<Argument> args, const Kwargs& kwargs, bool is_last) {
        calls += (is_last ? "last " : "") + target + print_argument(graph, Argument::Tuple{std::move(args)});
        for (const auto& [name, value] : kwargs) calls += " " + name + "=" + print_argument(graph, value);
        calls += "\n";
        return Argument("made");
      });
  return calls + print_argument(graph, *result);
}

const std::string kInput = "%x = placeholder[x]()\n";
const std::string kNegative = kInput + "%neg = call_function[aten.neg.default](%x)\n";

}  // namespace

TEST_CASE("a call fits by its target, its arguments and what makes them", "[text_rewrite]") {
  const TextRewrite row("aten: add.Tensor add.Scalar(aten.neg(x), n=int, alpha=1)", "aten.sub.Tensor(n, x)");
  const auto of = [&](const std::string& last) { return rewritten(row, kNegative + "%y = " + last); };
  const std::string made = "last aten.sub.Tensor(2, %x)\n\"made\"";
  CHECK(of("call_function[aten.add.Tensor](%neg, 2)") == made);
  CHECK(of("call_function[aten.add.Scalar](%neg, 2, alpha=1)") == made);
  CHECK(of("call_function[aten.add.Tensor](%neg, n=2)") == made);
  CHECK(of("call_function[aten.add.Tensor](%neg, 2, alpha=3)").empty());
  CHECK(of("call_function[aten.add.Tensor](%neg, 2, 1, 1)").empty());
  CHECK(of("call_function[aten.add.Tensor](%neg, 2.0)").empty());
  CHECK(of("call_function[aten.add.Tensor](%neg)").empty());
  CHECK(of("call_function[aten.add.Tensor](%x, 2)").empty());
  CHECK(of("call_function[aten.add_.Tensor](%neg, 2)").empty());
}

TEST_CASE("the same name stands for equal arguments, _ for all others", "[text_rewrite]") {
  const TextRewrite row("aten.f(x, x, from_, _)", "aten.g([x, (x, -1.5)], None, from_)");
  const auto of = [&](const std::string& args) {
    return rewritten(row, kInput + "%y = call_function[aten.f.default](" + args + ")");
  };
  CHECK(of("%x, %x, 1, 2, 3") == "last aten.g.default([%x, (%x, -1.5)], None, 1)\n\"made\"");
  CHECK(of("%x, %x, from=1") == "last aten.g.default([%x, (%x, -1.5)], None, 1)\n\"made\"");
  CHECK(of("%x, %x") == "last aten.g.default([%x, (%x, -1.5)], None)\n\"made\"");
  CHECK(of("%x, 2").empty());
}

TEST_CASE("steps run in order, and a result may be no call", "[text_rewrite]") {
  const std::string call = kInput + "%y = call_function[math.f](%x)";
  CHECK(
      rewritten({"math.f(x)", "y = g(x); operator.mul(y, aten.to(y, dtype=dtype('int64')))"}, call) ==
      "g(%x,)\naten.to.default(\"made\",) dtype=dtype(\"int64\")\nlast operator.mul(\"made\", \"made\")\n\"made\"");
  CHECK(rewritten({"math.f(x)", "(x, True, 'a')"}, call) == "(%x, True, \"a\")");
}

TEST_CASE("a text that is no expression of Python is a mistake", "[text_rewrite]") {
  CHECK_THROWS_AS(TextPattern("math.f(x"), std::logic_error);
  CHECK_THROWS_AS(TextReplacement("math.f(x) y"), std::logic_error);
}
