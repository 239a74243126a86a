// Values that a picture shows: how they are read, coloured and placed.
#include "writers/pictures/overlay.h"

#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "sample_collection.h"
#include "support/error.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"

namespace fxtrace::internal {
namespace {

using Names = std::vector<std::string>;

Names colours_of(const std::string& text) {
  Names colours;
  for (const Overlay::Value& value : read_overlay(text, "values.json").values)
    colours.push_back(value.colour);
  return colours;
}

GraphCollection two_blocks() {
  GraphCollection collection;
  collection.model = {"net.pt2", "exported_program", "pkg.Net", "forward", ""};
  for (const char* path : {"", "a", "b"})
    collection.modules.push_back(
        {path, *path == '\0' ? "pkg.Net" : "pkg.Block", ModuleStatus::kTraced, {}, {}, 1, {}});
  collection.graphs = {module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)  # a: pkg.Block
      %tanh = call_function[aten.tanh.default](%relu)  # b: pkg.Block
      %output = output[output](%tanh))")};
  return collection;
}

}  // namespace

TEST_CASE("overlay: colours of values", "[writers]") {
  CHECK(colours_of(R"({"results": {"a": {"value": 1}, "b": {"value": 5}, "c": {"value": 9}},
                       "gradient": [{"stop": 1, "bgColor": "#ff0000"}, {"stop": 0, "bgColor": "white"}]})") ==
        Names{"#ffffff", "#ff8080", "#ff0000"});
  CHECK(
      colours_of(R"({"results": {"a": {"value": 1}, "b": {"value": 2}, "c": {"value": 3, "bgColor": "#0f0"}},
                       "thresholds": [{"value": 1, "bgColor": "navy"}]})") ==
      Names{"#000080", "#ffffff", "#00ff00"});
  CHECK(read_overlay(
            R"({"graphsData": {"g": {"name": "ms", "results": {"a": {"value": 0.1}, "b": {"value": "x"}}}}})",
            "")
            .values[0]
            .text == "0.1");
  CHECK(colours_of(R"({"a": 1, "b": 2, "c": "x"})") ==
        colours_of(R"({"g": {"results": {"a": 1, "b": 2, "c": "x"}}})"));
  for (const char* text :
       {"[]", "{}", R"({"a": true})", R"({"results": {"a": {}}})", R"({"results": {"a": {"value": true}}})",
        R"({"results": {"a": {"value": 1, "bgColor": "#12"}}})",
        R"({"results": {"a": {"value": 1, "bgColor": "#12345g"}}})", R"({"g": {}})"}) {
    CHECK_THROWS_AS(read_overlay(text, "values.json"), Error);
  }
}

TEST_CASE("overlay: values stand at their nodes and modules, and names without a place are told",
          "[writers]") {
  const Overlay overlay = read_overlay(
      R"({"model.pt2": {"results": {"relu": {"value": 1}, "tanh": {"value": 2.5}, "b": {"value": 3}, "none": {"value": 4}}}})",
      "");
  const GraphCollection collection = two_blocks();
  Names unknown;
  const Marking marking = mark_values(overlay, collection, unknown);
  CHECK(unknown == Names{"none"});
  std::ostringstream dot, closed, page;
  PictureOptions options;
  options.depth = 5;
  write_dot(collection, dot, options, marking);
  CHECK(dot.str().find("<I>2.5</I>") != std::string::npos);
  CHECK(dot.str().find("<I>1</I>") != std::string::npos);
  options.depth = 1;
  write_dot(collection, closed, options, marking);
  CHECK(closed.str().find("up to 1") != std::string::npos);  // of a, which is closed
  CHECK(closed.str().find("3</I>") != std::string::npos);    // b has a value of its own
  write_html_data(collection, page, {}, marking);
  CHECK(page.str().find(R"(["value","","1","#ffe08a"])") != std::string::npos);
}

}  // namespace fxtrace::internal
