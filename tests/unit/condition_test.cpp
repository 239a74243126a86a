#include "trace/condition.h"

#include <string>

#include "catch.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace;

namespace {

NodeId named(const Graph& graph, const std::string& name) {
  NodeId id = graph.first();
  while (graph.node(id).name != name) id = graph.next(id);
  return id;
}

}  // namespace

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
  const std::string key = condition_key(graph, named(graph, "more"), opposite);
  CHECK(key.size() < 20'000);
  CHECK(condition_key(graph, named(graph, "less"), opposite) == key);
  CHECK(condition_key(graph, named(graph, "other"), opposite) != key);
  CHECK_FALSE(opposite);
  ShapeEnv dimensions;
  CHECK(comparison_of({graph, 0}, named(graph, "more"), dimensions).has_value());
}
