// The guards that named sizes of inputs give.
#include "graph/analysis/input_sizes.h"

#include <string>

#include "catch.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

// The conditions of all places, one a line.
std::string conditions(const char* text) {
  const Graph graph = parse_graph(std::string(text) + "%output = output[output](%x)");
  const DimensionPlaces places(graph);
  std::string found;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Opcode::kPlaceholder) continue;
    const auto add = [&](std::int64_t index) {
      for (const Expression& condition : places.conditions(id, index)) found += condition.text() + "\n";
    };
    if (!node.meta->shape) add(DimensionPlaces::kInteger);
    for (std::size_t i = 0; node.meta->shape && i < node.meta->shape->size(); ++i)
      add(static_cast<std::int64_t>(i));
  }
  return found;
}

}  // namespace

TEST_CASE("dimension places: a place that defines a dimension says when its value is none", "[guards]") {
  CHECK(conditions("%x = placeholder[x]() -> float32[n, m]\n").empty());
  CHECK(conditions("%x = placeholder[x]() -> float32[n + 1]\n") == "x.size(0) >= 1\n");
  CHECK(conditions("%x = placeholder[x]() -> float32[5 - n]\n") == "x.size(0) <= 5\n");
  CHECK(conditions("%x = placeholder[x]() -> float32[7 - 2*n]\n") ==
        "(1-x.size(0))%2 == 0\nx.size(0) <= 7\n");
  CHECK(conditions("%x = placeholder[x]() -> float32[2*n]\n") == "x.size(0)%2 == 0\n");
}

TEST_CASE("dimension places: any other place is what the defining one tells", "[guards]") {
  CHECK(conditions("%x = placeholder[x]() -> float32[n]\n%y = placeholder[y]() -> float32[n, 2*n]\n") ==
        "y.size(0) == x.size(0)\ny.size(1) == x.size(0)*2\n");
}
