#include "writers/dot_writer.h"

#include <sstream>
#include <string>

#include "catch.h"
#include "sample_collection.h"
#include "support/utf8.h"
#include "writers/dot_text.h"

namespace fxtrace {
namespace {

std::string dot_text(const GraphCollection& collection, const DotOptions& options = {}) {
  std::ostringstream out;
  write_dot(collection, out, options);
  return out.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The text of the cluster with this label, its own clusters included.
std::string cluster(const std::string& dot, const std::string& label) {
  const auto found = dot.find("label=<<B>" + label + "</B>");
  REQUIRE(found != std::string::npos);
  const auto open = dot.rfind("subgraph cluster_", found);
  const auto line = dot.rfind('\n', open) + 1;
  const std::string close = "\n" + std::string(open - line, ' ') + "}\n";
  return dot.substr(open, dot.find(close, open) - open);
}

// The line that defines the node whose name and opcode stand in its tool tip.
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

TEST_CASE("nodes stand in the clusters of their scopes", "[dot_writer]") {
  const auto dot = dot_text(sample_collection());
  const auto root = cluster(dot, "graph of the root");
  const auto a = cluster(root, "a");
  CHECK(contains(a, "pkg.Sub"));
  CHECK(contains(a, "mul = call_function[aten.mul.Tensor]"));
  CHECK(contains(a, "a_l = call_module[a.l]"));
  CHECK_FALSE(contains(a, "b = call_module[b]"));
  CHECK_FALSE(contains(dot, "label=<<B>a.l</B><BR ALIGN"));
  CHECK(contains(cluster(root, "true_graph_0"), "g0s0_n0 -> g0s0_n1"));
  CHECK(contains(cluster(dot, "graph of b.l"), "g1_n0 -> g1_n1"));
  CHECK(dot == dot_text(sample_collection()));
}

TEST_CASE("nodes show what they are", "[dot_writer]") {
  const auto dot = dot_text(sample_collection());
  CHECK(contains(node_line(dot, "x = placeholder"), "float32[1, batch]"));
  CHECK(contains(node_line(dot, "a_l = "), "torch.nn.modules.linear.Linear"));
  CHECK_FALSE(contains(node_line(dot, "a_l = "), "failed"));
  for (const auto* failed : {"b = ", "c = "}) {
    CHECK(contains(node_line(dot, failed), "failed: data_dependent_control_flow"));
    CHECK(contains(node_line(dot, failed), "#fbdcda"));
  }
  CHECK_FALSE(contains(dot, "record"));
  CHECK(contains(dot, "g0_n8 -> g0s0_n0 [lhead=cluster_g0s0, style=dashed"));
}

TEST_CASE("bodies stand beside the operators that use them", "[dot_writer]") {
  const auto dot = dot_text(exported_collection());
  CHECK(contains(dot, "compound=true;"));
  const auto a = cluster(dot, "a");
  CHECK(contains(a, "cond = call_function"));
  // One body, two operators, one box.
  const auto when_true = cluster(a, "true_graph_0");
  CHECK(dot.find("<B>true_graph_0</B>") == dot.rfind("<B>true_graph_0</B>"));
  for (const auto* edge :
       {"g0_n6 -> g0s0_n0 [lhead=cluster_g0s0,", "g0_n7 -> g0s0_n0 [lhead=cluster_g0s0,",
        "g0_n6 -> g0s1_n0 [lhead=cluster_g0s1,", "g0_n7 -> g0s1_n0 [lhead=cluster_g0s1,"}) {
    CHECK(contains(dot, edge));
  }
  // A body in a body, each in the module of its operator, which gets no second box inside.
  const auto inner = cluster(when_true, "a.inner");
  const auto innermost = cluster(inner, "body_graph_0");
  CHECK(contains(innermost, "sin = call_function[aten.sin.default]"));
  CHECK_FALSE(contains(innermost, "<B>a.inner</B>"));
  CHECK_FALSE(contains(when_true, "<B>a</B>"));
  CHECK(contains(when_true, "g0s0_n1 -> g0s0s0_n0 [lhead=cluster_g0s0s0,"));
}

TEST_CASE("a body of operators in two modules stands in what both are in", "[dot_writer]") {
  GraphCollection collection;
  for (const auto* path : {"", "a", "a.b", "a.b.c", "a.d", "e"}) {
    collection.modules.push_back({path, "M", {}, {}, {}, 0, {}});
  }
  auto graph = module_graph("", "M", R"(
      %x = placeholder[x]()
      %cond = call_function[higher_order.cond](%x, [{"k": (graph("shared"), graph("shared"))}])  # a.b.c: M
      %cond_1 = call_function[higher_order.cond](%x, graph("shared"), graph("far"), graph("missing"))  # a.d: M
      %cond_2 = call_function[higher_order.cond](%x, body=graph("far"))  # e: M
      %output = output[output](%cond_2))");
  for (const auto* name : {"shared", "far", "unused", "hollow"}) {
    auto body = module_graph("", "M", "%output = output[output](None)");
    if (std::string_view(name) == "hollow") body.graph = Graph();
    graph.subgraphs.emplace_back(name, std::move(body));
  }
  collection.graphs.push_back(std::move(graph));
  const auto dot = dot_text(collection);
  const auto a = cluster(dot, "a");
  CHECK(contains(a, "<B>shared</B>"));
  CHECK_FALSE(contains(cluster(dot, "a.b"), "<B>shared</B>"));
  CHECK_FALSE(contains(a, "<B>far</B>"));
  CHECK_FALSE(contains(cluster(dot, "e"), "<B>far</B>"));
  CHECK(contains(dot, "<B>far</B>"));
  CHECK(contains(dot, "<B>unused</B>"));
  CHECK(contains(dot, "g0_n3 -> g0s1_n0 [lhead=cluster_g0s1,"));
}

TEST_CASE("what exported programs add to nodes", "[dot_writer]") {
  const auto dot = dot_text(exported_collection());
  CHECK(contains(node_line(dot, "out_dtype = "), "of aten.mm.default"));
  CHECK(contains(node_line(dot, "sym_size_int = "), "int batch"));
  CHECK(contains(node_line(dot, "n = placeholder"), "int 3"));
  CHECK(contains(node_line(dot, "l = "), "stands for 2 nodes of the program"));
  CHECK_FALSE(contains(dot, "relu"));
  // A constant of the code is drawn although it is a buffer, and so is a buffer that the program changes.
  CHECK(contains(dot, "lifted_tensor_0 = get_attr"));
  CHECK(contains(dot, "count = get_attr"));
}

TEST_CASE("parameters are drawn on demand", "[dot_writer]") {
  const auto without = dot_text(sample_collection());
  CHECK_FALSE(contains(without, "scale = get_attr"));
  CHECK_FALSE(contains(without, "g0_n1 "));
  CHECK(contains(without, "tensor_constant0 = get_attr"));
  DotOptions options;
  options.parameters = true;
  const auto with = dot_text(sample_collection(), options);
  CHECK(contains(with, "scale = get_attr"));
  CHECK(contains(with, "g0_n1 -> g0_n3;"));
}

TEST_CASE("parameters of called modules stand in their boxes", "[dot_writer]") {
  auto collection = sample_collection();
  DotOptions options;
  CHECK(dot_text(collection, options).find("weight") == std::string::npos);
  options.parameters = true;
  const std::string shown = dot_text(collection, options);
  const auto box = shown.find("<B>a.l</B>");
  REQUIRE(box != std::string::npos);
  const std::string label = shown.substr(box, shown.find(">, tooltip", box) - box);
  CHECK(contains(label, "weight</FONT>"));
  CHECK(contains(label, "float32[4, 4]"));
  CHECK(label.find("weight") < label.find("bias"));
  CHECK(label.find("scale") == std::string::npos);

  // Under a shared module's later name the same; of many the first.
  for (int i = 0; i < 20; ++i) {
    ParameterRecord& record = collection.parameters.emplace_back();
    record.name = "b.w" + std::to_string(i);
    record.dtype = "int64";
  }
  const std::string many = dot_text(collection, options);
  const auto alias = many.find("<B>c</B>");
  REQUIRE(alias != std::string::npos);
  const std::string shared = many.substr(alias, many.find(">, tooltip", alias) - alias);
  CHECK(contains(shared, "w10"));
  CHECK(contains(shared, "and 9 more"));
  CHECK(shared.find("w11") == std::string::npos);
}

TEST_CASE("one graph needs no cluster of its own", "[dot_writer]") {
  auto collection = sample_collection();
  collection.graphs.pop_back();
  const auto dot = dot_text(collection);
  CHECK_FALSE(contains(dot, "graph of"));
  CHECK(contains(dot, "<B>pkg.Net</B>"));
}

TEST_CASE("the graph of a submodule has no cluster around its root", "[dot_writer]") {
  GraphCollection collection;
  collection.modules = {{"", "N", {}, {}, {}, 0, {}},
                        {"a", "A", {}, {}, {}, 0, {}},
                        {"a.b", "B", {}, {}, {}, 0, {}},
                        {"a.b.c", "C", {}, {}, {}, 0, {}},
                        {"z", "Z", {}, {}, {}, 0, {}}};
  collection.graphs.push_back(module_graph("a.b", "B", R"(
      %x = placeholder[x]()  # a.b: B
      %relu = call_function[aten.relu.default](%x)  # a.b.c: C
      %relu_1 = call_function[aten.relu.default](%relu)  # z: Z
      %a_b = call_module[a.b](%relu_1)  # a.b: B
      %output = output[output](%a_b)  # a.b: B)"));
  const auto dot = dot_text(collection);
  CHECK_FALSE(contains(dot, "<B>a</B>"));
  CHECK_FALSE(contains(dot, "label=<<B>a.b</B><BR ALIGN"));
  CHECK(contains(cluster(dot, "a.b.c"), "relu = "));
  CHECK(contains(cluster(dot, "z"), "relu_1 = "));
}

TEST_CASE("labels are cut, tool tips are not", "[dot_writer]") {
  GraphCollection collection;
  collection.graphs.push_back(module_graph("", "N", "%x = placeholder[a_long_target]()"));
  DotOptions options;
  options.max_label = 6;
  const auto dot = dot_text(collection, options);
  CHECK(contains(dot, "<B>a_lon\xE2\x80\xA6</B>"));
  CHECK(contains(dot, "tooltip=\"x = placeholder[a_long_target]"));
}

}  // namespace fxtrace
