// The writer of pictures as DOT.
#include "writers/pictures/dot_writer.h"

#include <sstream>
#include <string>

#include "catch.h"
#include "sample_collection.h"
#include "support/text/unicode.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal {
namespace {

std::string dot_text(const GraphCollection& collection, const PictureOptions& options = {}) {
  std::ostringstream out;
  write_dot(collection, out, options);
  return out.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns the text of the cluster with this label, including its own clusters.
std::string cluster(const std::string& dot, const std::string& label) {
  const auto found = dot.find("label=<<B>" + label + "</B>");
  REQUIRE(found != std::string::npos);
  const auto open = dot.rfind("subgraph cluster_", found);
  const auto line = dot.rfind('\n', open) + 1;
  const std::string close = "\n" + std::string(open - line, ' ') + "}\n";
  return dot.substr(open, dot.find(close, open) - open);
}

// Returns the line that defines the node with this name and opcode in its tooltip.
std::string node_line(const std::string& dot, const std::string& start) {
  const auto found = dot.find("tooltip=\"" + start);
  REQUIRE(found != std::string::npos);
  const auto line = dot.rfind('\n', found) + 1;
  return dot.substr(line, dot.find('\n', found) - line);
}

}  // namespace

TEST_CASE("text in HTML-like labels", "[dot_writer]") {
  struct Case {
    std::string text, html;
  };
  const Case cases[] = {
      {"plain_1", "plain_1"},
      {"a<b>&\"c\"'", "a&lt;b&gt;&amp;&quot;c&quot;'"},
      {"a[0] ]]", "a[0] &#93;&#93;"},
      {"\xE2\x83\x92", "\xE2\x83\x92&#160;"},
      {"{x|y}\\N", "{x|y}\\N"},
      {"&lt;", "&amp;lt;"},
      {"a\nb\tc\rd\x01\x7f", "a\\nb\\tc\\rd\\x01\\x7f"},
      {"\xC2\x85", "\\x85&#160;"},
      {"a\xE2\x80\x8B\xE2\x80\xAEz\xC2\xAD", "a\\u200b\\u202ez\\xad"},
      {"\xF3\xA0\x80\x81_", "\\U000e0001_"},
      {"\xEF\xBF\xBE", "\xEF\xBF\xBD&#160;"},
      {"gr\xC3\xBC\xC3\x9F"
       "e \xE5\xB1\x82",
       "gr\xC3\xBC\xC3\x9F"
       "e \xE5\xB1\x82"},
      {"bad\xFF", "bad\xEF\xBF\xBD"},
      {"", "&#160;"},
      {" ", "&#160;"},
      {"  ", "&#160;&#160;"},
      {" a  b ", "&#160;a &#160;b&#160;"},
  };
  for (const auto& [text, html] : cases) CHECK(dot_html(text) == html);
}

TEST_CASE("text in quoted strings", "[dot_writer]") {
  struct Case {
    std::string text, quoted;
  };
  const Case cases[] = {
      {"", "\"\""},
      {"say \"hi\"", "\"say \\\"hi\\\"\""},
      {"a\\N", "\"a\\\\N\""},
      {"a\\", "\"a\\\\\""},
      {"a\nb", "\"a\\\\nb\""},
      {"&amp; <b>", "\"&amp;amp; <b>\""},
      {"\xFF", "\"\xEF\xBF\xBD\""},
  };
  for (const auto& [text, quoted] : cases) CHECK(dot_quoted(text) == quoted);
}

TEST_CASE("long text is cut between characters", "[dot_writer]") {
  struct Case {
    std::string text;
    std::size_t limit;
    std::string result;
  };
  const Case cases[] = {
      {"abcdef", 6, "abcdef"},
      {"abcdef", 5, "abcd\xE2\x80\xA6"},
      {"abcdef", 1, "\xE2\x80\xA6"},
      {"abcdef", 0, "abcdef"},
      {"\xE5\xB1\x82\xE5\xB1\x82\xE5\xB1\x82", 2, "\xE5\xB1\x82\xE2\x80\xA6"},
      {"a\xFF", 2, "a\xEF\xBF\xBD"},
      {"", 1, ""},
  };
  for (const auto& [text, limit, result] : cases) CHECK(cut(text, limit) == result);
  CHECK(cut("abcdef", 3, Keep::kEnd) ==
        "\xE2\x80\xA6"
        "ef");
  CHECK(cut("abcdef", 1, Keep::kEnd) == "\xE2\x80\xA6");
  CHECK(cut("abcdef", 6, Keep::kEnd) == "abcdef");
}

TEST_CASE("open boxes are clusters, closed ones nodes", "[dot_writer]") {
  const auto dot = dot_text(sample_collection());
  const auto root = cluster(dot, "graph of the root");
  const auto a = cluster(root, "a");
  CHECK(contains(a, "Sub"));
  CHECK(contains(a, "mul = call_function[aten.mul.Tensor]"));
  CHECK(contains(a, "a_l = call_module[a.l]"));
  CHECK_FALSE(contains(a, "b = call_module[b]"));
  CHECK(contains(cluster(root, "cond"), "true_graph_0"));
  CHECK(contains(cluster(dot, "graph of b.l"), "b_l = call_module[b.l]"));
  CHECK(dot == dot_text(sample_collection()));

  PictureOptions options;
  options.depth = 1;
  const auto closed = dot_text(sample_collection(), options);
  CHECK(contains(node_line(closed, "a: pkg.Sub"), "peripheries=2"));
  CHECK(contains(node_line(closed, "a: pkg.Sub"), "3 operations"));
}

TEST_CASE("one graph needs no cluster of its own", "[dot_writer]") {
  auto collection = sample_collection();
  collection.graphs.pop_back();
  const auto dot = dot_text(collection);
  CHECK_FALSE(contains(dot, "graph of"));
  CHECK(contains(dot, "<B>pkg.Net</B>"));
}

TEST_CASE("nodes show what they are", "[dot_writer]") {
  const auto dot = dot_text(sample_collection());
  CHECK(contains(node_line(dot, "x = placeholder"), "[1, batch]"));
  CHECK(contains(node_line(dot, "a_l = "), "torch.nn.modules.linear.Linear"));
  CHECK_FALSE(contains(node_line(dot, "a_l = "), "failed"));
  for (const auto* failed : {"b = ", "c = "}) {
    CHECK(contains(node_line(dot, failed), "failed"));
    CHECK(contains(node_line(dot, failed), "an if depends on an input"));
    CHECK(contains(node_line(dot, failed), "#fbdcda"));
  }
  CHECK_FALSE(contains(dot, "record"));
  CHECK(contains(node_line(dot, "add_1 = "), "constant int64[2, 2]"));
}

TEST_CASE("what exported programs add to nodes", "[dot_writer]") {
  const auto dot = dot_text(exported_collection());
  CHECK(contains(node_line(dot, "out_dtype = "), "mm, int32"));
  CHECK(contains(node_line(dot, "n = placeholder"), "int 3"));
  CHECK(contains(node_line(dot, "l = "), "stands for 2 nodes of the program"));
  CHECK(contains(node_line(dot, "copy_ = "), "count int64[&#93;"));
  CHECK_FALSE(contains(dot, "relu"));
}

TEST_CASE("a legend has what is in the picture", "[dot_writer]") {
  const auto dot = dot_text(exported_collection());
  CHECK(contains(dot, "input, output&#160;"));
  CHECK_FALSE(contains(dot, "failed module&#160;"));
  CHECK_FALSE(contains(dot, "closed box&#160;"));
  CHECK(contains(dot_text(sample_collection()), "failed module&#160;"));
}

TEST_CASE("parameters are drawn on demand", "[dot_writer]") {
  const auto without = dot_text(sample_collection());
  CHECK_FALSE(contains(without, "scale = get_attr"));
  CHECK(contains(node_line(without, "mul = "), "scale float64[&#93;"));
  PictureOptions options;
  options.parameters = true;
  CHECK(contains(dot_text(sample_collection(), options), "scale = get_attr"));
}

TEST_CASE("parameters of called modules stand in their boxes", "[dot_writer]") {
  auto collection = sample_collection();
  PictureOptions options;
  CHECK(dot_text(collection, options).find("weight") == std::string::npos);
  options.parameters = true;
  const std::string label = node_line(dot_text(collection, options), "a_l = ");
  CHECK(contains(label, "weight</FONT>"));
  CHECK(contains(label, "[4, 4]"));
  CHECK(label.find("weight") < label.find("bias"));
  CHECK(label.find("scale") == std::string::npos);

  // A shared module is shown under its later name, too; of several modules the first.
  for (int i = 0; i < 20; ++i) {
    ParameterRecord& record = collection.parameters.emplace_back();
    record.name = "b.w" + std::to_string(i);
    record.dtype = "int64";
  }
  const std::string shared = node_line(dot_text(collection, options), "c = ");
  CHECK(contains(shared, "w10"));
  CHECK(contains(shared, "and 9 more"));
  CHECK(shared.find("w11") == std::string::npos);
}

TEST_CASE("many graphs stand below each other", "[dot_writer]") {
  GraphCollection collection;
  collection.graphs.push_back(module_graph("", "N", "%x = placeholder[x]()\n%output = output[output](%x)"));
  for (int i = 0; i < 9; ++i) {
    const std::string name = "m" + std::to_string(i);
    collection.modules.push_back({name, "M" + std::to_string(i), ModuleStatus::kTraced, {}, {}, 1, {}});
    collection.graphs.push_back(
        module_graph(name, "M", "%x = placeholder[x]()\n%output = output[output](%x)"));
  }
  const auto dot = dot_text(collection);
  std::size_t invisible = 0;
  for (std::size_t at = dot.find("[style=invis]"); at != std::string::npos;
       at = dot.find("[style=invis]", at + 1))
    ++invisible;
  CHECK(invisible == 10 - 4);
}

TEST_CASE("a long title has two lines", "[dot_writer]") {
  GraphCollection collection;
  const std::string path = "vision_model.encoder.layers.0.attention.query_projection";
  for (const char* more : {"", "_that_has_a_name_longer_than_any"})
    collection.graphs.push_back(module_graph(path + more, "A", "%x = placeholder[x]()"));
  PictureOptions options;
  options.max_label = 40;
  options.depth = 9;
  const auto dot = dot_text(collection, options);
  CHECK(contains(dot,
                 "<B>graph of vision_model.encoder.layers.0.</B><BR ALIGN=\"LEFT\"/>"
                 "<B>attention.query_projection</B>"));
  CHECK(contains(dot,
                 "<BR ALIGN=\"LEFT\"/><B>\xE2\x80\xA6"
                 "jection_that_has_a_name_longer_than_any</B>"));
}

TEST_CASE("labels are cut, tool tips are not", "[dot_writer]") {
  GraphCollection collection;
  collection.graphs.push_back(module_graph("", "N", "%x = placeholder[a_long_target]()"));
  PictureOptions options;
  options.max_label = 6;
  const auto dot = dot_text(collection, options);
  CHECK(contains(dot,
                 "<B>\xE2\x80\xA6"
                 "arget</B>"));
  CHECK(contains(dot, "tooltip=\"x = placeholder[a_long_target]"));
}

}  // namespace fxtrace::internal
