// The writer of pictures as Mermaid flowcharts.
#include "writers/pictures/mermaid_writer.h"

#include <algorithm>
#include <cstddef>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "sample_collection.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal {
namespace {

std::string mermaid_of(const GraphCollection& collection, const PictureOptions& options = {}) {
  std::ostringstream out;
  write_mermaid(collection, out, options);
  return out.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Graph::NodeSpec call_of_method(const std::string& name, NodeId object) {
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallMethod;
  spec.target = name;
  spec.args = {object};
  return spec;
}

// Every line of the flowchart has one of these forms, whatever the names are.  Labels contain no quote.
const std::vector<std::regex>& line_forms() {
  static const std::vector<std::regex> forms = [] {
    std::vector<std::regex> list;
    for (const char* form : {
             R"re(flowchart TB)re",
             R"re( *subgraph b\d+\["[^"`%]*"\])re",
             R"re( *direction TB)re",
             R"re( *end)re",
             R"re( *(b\d+|legend)(\[\[|\[/|\[|\(\[|\(|\{\{)"<div>[^"`%]*</div>"(\]\]|/\]|\]|\]\)|\)|\}\}))re",
             R"re(  (b\d+|legend) (-->|-\.->|~~~) b\d+)re",
             R"re(  classDef [a-z]+ [a-z0-9#:, -]+)re",
             R"re(  class (legend|b\d+(,b\d+)*) [a-z]+)re",
         }) {
      list.emplace_back(form);
    }
    return list;
  }();
  return forms;
}

void check_lines(const std::string& diagram) {
  std::istringstream lines(diagram);
  std::string line;
  REQUIRE(std::getline(lines, line));
  REQUIRE(line == "---");
  REQUIRE(std::getline(lines, line));
  CHECK(std::regex_match(line, std::regex(R"re(title: "([^"\\]|\\.)*")re")));
  while (std::getline(lines, line) && line != "---") CHECK(line.find_first_of("\"%`<>") == std::string::npos);
  while (std::getline(lines, line)) {
    INFO(line);
    const bool fits = std::ranges::any_of(
        line_forms(), [&](const std::regex& form) { return std::regex_match(line, form); });
    CHECK(fits);
  }
}

}  // namespace

TEST_CASE("text in labels of Mermaid", "[mermaid_writer]") {
  struct Case {
    std::string text, html;
  };
  const Case cases[] = {
      {"plain_1.x, (a-b)", "plain_1.x, (a-b)"},
      {"[1, 64]", "#91;1, 64#93;"},
      {"a<b>&\"c\"'", "a#60;b#62;#38;#34;c#34;#39;"},
      {"#quot; &lt;", "#35;quot#59; #38;lt#59;"},
      {"`*_~`", "#96;#42;_#126;#96;"},
      {"%%{init}%%", "#37;#37;#123;init#125;#37;#37;"},
      {"click b1 \"javascript:x\"", "click b1 #34;javascript#58;<b></b>x#34;"},
      {"end", "end"},
      {"\\n", "#92;<b></b>n"},
      {"$$x$$", "#36;<b></b>#36;<b></b>x#36;<b></b>#36;<b></b>"},
      {"fa:fa-home", "fa#58;<b></b>fa-home"},
      {"a\nb\x01", "a#92;<b></b>nb#92;<b></b>x01"},
      {"a\xE2\x80\xAEz", "a#92;<b></b>u202ez"},
      {"  a  b", "#160; a #160;b"},
      {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F"},
      {"\xEF\xAC\x82\xC2\xB0 \xC2\xB6", "#64258;<b></b>\xC2\xB0 #182;<b></b>"},
      {"\xFFz", "\xEF\xBF\xBDz"},
      {"", ""},
  };
  for (const auto& [text, html] : cases) CHECK(mermaid_html(text) == html);
}

TEST_CASE("text in the title and in comments of Mermaid", "[mermaid_writer]") {
  CHECK(mermaid_title("Net, model.pt") == "\"Net, model.pt\"");
  CHECK(mermaid_title("a\"\\\n---\n%%{x}`<") == R"("a\x22\x5c\\n---\\n\x25\x25\x7bx\x7d\x60\x3c")");
  CHECK(mermaid_title("\xE2\x80\xAE\xFF\xC3\xBC") == "\"\\\\u202e\xEF\xBF\xBD\xC3\xBC\"");
}

TEST_CASE("a collection as Mermaid", "[mermaid_writer]") {
  const std::string diagram = mermaid_of(sample_collection());
  check_lines(diagram);
  CHECK(contains(diagram, "title: \"Net, model.pt\"\n"));
  CHECK(contains(diagram, "<b>graph of the root</b>"));
  CHECK(contains(diagram, "<b>graph of b.l</b>"));
  // The box of a module, with its calls and without a plain attribute.
  CHECK(std::regex_search(diagram,
                          std::regex(R"re(subgraph b\d+\["<div><b>a</b>#160;#160;<small>Sub</small>)re")));
  CHECK(contains(diagram, "<b>l</b>#160;#160;<small>Linear #160;4 \u2192 4</small>"));
  CHECK(contains(diagram, "<small>alpha#61;2</small>"));
  CHECK(contains(diagram, "#91;1, batch#93;"));
  CHECK(contains(diagram, "an if depends on an input"));
  CHECK(contains(diagram, "</font> failed module"));
  CHECK(contains(diagram, "classDef failed fill:"));
  CHECK(contains(diagram, "stroke-dasharray"));  // control flow
  CHECK(mermaid_of(sample_collection()) == diagram);
}

TEST_CASE("a long title has two lines in Mermaid", "[mermaid_writer]") {
  GraphCollection collection;
  collection.model = {"a_file_with_a_long_name.pt", "torchscript", "pkg.Net", "forward", ""};
  collection.modules = {{"", "pkg.Net", ModuleStatus::kTraced, {}, {}, 1, {}}};
  collection.graphs = {module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %l = call_module[first.second.third.fourth](%x)  # first.second.third.fourth: L
      %output = output[output](%l))")};
  PictureOptions options;
  options.max_label = 14;
  const std::string diagram = mermaid_of(collection, options);
  check_lines(diagram);
  CHECK(contains(diagram, "<div><b>first.second.</b></div><div><b>third.fourth</b>"));
  CHECK(contains(diagram, "title: \"Net, a_file_with_a_long_na"));
}

TEST_CASE("options of pictures in Mermaid", "[mermaid_writer]") {
  PictureOptions options;
  options.parameters = true;
  const std::string with = mermaid_of(sample_collection(), options);
  check_lines(with);
  CHECK(contains(with, "<small>weight</small> <small>#91;4, 4#93;</small>"));
  CHECK(contains(with, "[/\"<div><b>scale</b>"));
  options = {};
  options.max_label = 3;
  check_lines(mermaid_of(sample_collection(), options));
  options = {};
  options.focus = "a";
  const std::string focused = mermaid_of(sample_collection(), options);
  check_lines(focused);
  CHECK(contains(focused, " -.-> "));
  CHECK(contains(focused, "classDef outside stroke-dasharray"));
  CHECK_FALSE(contains(focused, "b.l"));
  check_lines(mermaid_of(exported_collection()));
}

TEST_CASE("nodes within slices and dicts in Mermaid", "[mermaid_writer]") {
  GraphCollection collection = sample_collection();
  collection.graphs.resize(1);
  Graph& graph = collection.graphs[0].graph;
  const NodeId x = graph.first();
  Graph::NodeSpec spec = call_of_method("part", x);
  spec.args.emplace_back(Argument::Slice{{x, Argument(), 2}});
  spec.args.emplace_back(Argument::Dict{{{"key", x}}});
  graph.insert_before(graph.last(), spec);
  const std::string diagram = mermaid_of(collection);
  check_lines(diagram);
  CHECK(contains(diagram, "slice(x, None, 2), #123;#34;key#34;#58;<b></b> x#125;"));
}

TEST_CASE("hostile names in Mermaid", "[mermaid_writer]") {
  const std::string names[] = {"\"]\n  click b1 \"javascript:alert(1)\"",
                               "<script>alert(1)</script>",
                               "`**x**`\n```\n---",
                               "%%{init: {\"theme\": \"dark\"}}%%",
                               "end\nsubgraph x",
                               "\xE2\x80\xAE\xFF\x1B[31m",
                               "#35; &#60; \\n $$x$$ :::port"};
  for (const std::string& name : names) {
    GraphCollection collection = sample_collection();
    collection.model.file = name;
    collection.model.type = name;
    collection.modules[3].failure->message = name;
    for (ModuleRecord& module : collection.modules) module.type = name;
    ModuleGraph& root = collection.graphs[0];
    root.type = name;
    root.subgraphs[0].name = name;
    const NodeId first = root.graph.order().front();
    root.graph.meta(first).type = name;
    root.graph.meta(first).set_dtype(name);
    root.graph.insert_before(root.graph.last(), call_of_method(name, first));
    collection.graphs[1].module = name;
    INFO(name);
    check_lines(mermaid_of(collection));
  }
}

TEST_CASE("a diagram says when GitHub will not draw it", "[mermaid_writer]") {
  CHECK_FALSE(contains(mermaid_of(sample_collection()), "%%"));
  GraphCollection collection = sample_collection();
  collection.graphs.resize(1);
  Graph& graph = collection.graphs[0].graph;
  for (std::size_t i = 0; i < kMermaidEdges; ++i) {
    graph.insert_before(graph.last(), call_of_method("m", graph.first()));
  }
  PictureOptions options;
  CHECK_FALSE(contains(mermaid_of(collection, options), "%%"));  // folded
  options.fold = false;
  options.depth = 9;
  CHECK(contains(mermaid_of(collection, options), "\n%% This is more than GitHub draws: "));
}

}  // namespace fxtrace::internal
