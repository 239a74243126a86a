// Conditions of a graph: equivalent ones are recognised, and values are found that code may have written.
#include "trace/options/condition.h"

#include <string>

#include "catch.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;

TEST_CASE("A condition over integers that are doubled again and again is told apart in few steps") {
  std::string text = "  %n0 = placeholder[n0]() -> int\n";
  for (int i = 0; i < 40; ++i) {
    const std::string before = "%n" + std::to_string(i);
    text += "  %n" + std::to_string(i + 1) + " = call_function[operator.add](" + before + ", " + before +
            ") -> int\n";
  }
  text += "  %more = call_function[operator.gt](%n40, 3) -> bool\n";
  text += "  %less = call_function[operator.lt](3, %n40) -> bool\n";
  text += "  %other = call_function[operator.gt](%n40, 4) -> bool\n";
  text += "  %output = output[output](%more) -> bool\n";
  const Graph graph = parse_graph(text);
  bool opposite = false;
  const std::string key = condition_key({graph}, node_named(graph, "more"), opposite);
  CHECK(key.size() < 20'000);
  CHECK(condition_key({graph}, node_named(graph, "less"), opposite) == key);
  CHECK(condition_key({graph}, node_named(graph, "other"), opposite) != key);
  CHECK_FALSE(opposite);
  ShapeEnv dimensions;
  CHECK(comparison_of({graph, 0}, node_named(graph, "more"), dimensions).has_value());
}

TEST_CASE("A value is as it was made where nothing writes what it is made of") {
  const auto is_kept = [](const std::string& between) {
    const std::string text =
        "  %x = placeholder[x]() -> Tensor\n"
        "  %t = call_function[torch.tensor](3) -> Tensor\n"
        "  %v = call_function[aten.view.default](%t, [1]) -> Tensor\n" +
        between +
        "  %gt = call_function[aten.gt.Scalar](%t, 2) -> Tensor\n"
        "  %asked = call_function[builtins.bool](%gt) -> bool\n"
        "  %output = output[output](%x) -> Tensor\n";
    const Graph graph = parse_graph(text);
    return is_unwritten({graph}, node_named(graph, "asked"));
  };
  CHECK(is_kept(""));
  CHECK(is_kept("  %y = call_function[aten.add.Tensor](%x, %t) -> Tensor\n"));
  CHECK(is_kept("  %y = call_function[aten.add_.Tensor](%x, 1) -> Tensor\n"));
  CHECK(is_kept("  %y = call_function[builtins.int](%v) -> int\n"));
  // By any of its names.
  CHECK_FALSE(is_kept("  %y = call_function[aten.add_.Tensor](%t, 1) -> Tensor\n"));
  CHECK_FALSE(is_kept("  %y = call_function[aten.add_.Tensor](%v, 1) -> Tensor\n"));
  CHECK_FALSE(
      is_kept("  %w = call_function[aten.expand_as.default](%v, %x) -> Tensor\n"
              "  %y = call_function[aten.mul_.Tensor](%w, %x) -> Tensor\n"));
  // Code that may write it.
  CHECK_FALSE(is_kept("  %y = call_module[layer](%t) -> Tensor\n"));
  CHECK_FALSE(is_kept("  %y = call_function[pkg.own.default](%t) -> Tensor\n"));
  CHECK_FALSE(is_kept("  %y = call_function[builtins.list]([%t]) -> List[Tensor]\n"));
}

TEST_CASE("What an input is made of, nobody knows") {
  const Graph graph = parse_graph(
      "  %x = placeholder[x]() -> Tensor\n"
      "  %asked = call_function[builtins.bool](%x) -> bool\n"
      "  %output = output[output](%x) -> Tensor\n");
  CHECK_FALSE(is_unwritten({graph}, node_named(graph, "asked")));
}
