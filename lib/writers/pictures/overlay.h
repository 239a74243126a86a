// Values of nodes and modules that a picture shows and colours: the node data of Model Explorer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_collection.h"
#include "writers/pictures/marks.h"

namespace fxtrace::internal {

struct Overlay {
  struct Value {
    std::string
        graph;  // as in Model Explorer's form of a collection: "(root)", "layer1", "(root)/true_graph_0"
    std::string name;              // of a node, or the path of a module
    std::string title;             // "latency: "; empty where the file has none
    std::string text;              // "12.5"
    std::optional<double> number;  // absent: the value is a text
    std::string colour;            // "#rrggbb"
  };
  std::vector<Value> values;
  bool is_of_one_graph = false;  // whose id need not be that of the root's graph
};

// Reads {"graphsData": {GRAPH: DATA}}, the object in it, or DATA alone, for the root's graph.  DATA is
// {"results": {NAME: {"value": 12.5, "bgColor": "#ff0000"}}, "name", "thresholds", "gradient"}, all but
// "results" and "value" optional; other fields are ignored.  A colour is "#rgb", "#rrggbb" or a usual name.
// Throws Error(kUsage) with line and column.
Overlay read_overlay(std::string_view text, const std::string& file);

// Marks nodes and modules with their values; a closed box without a value of its own has the largest number
// in it.  `unknown` gets the names that are neither.  `overlay` must outlive the result.
Marking mark_values(const Overlay& overlay, const GraphCollection& collection,
                    std::vector<std::string>& unknown);

}  // namespace fxtrace::internal
