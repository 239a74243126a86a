// The text form of graphs, printed and read.
#include "graph/analysis/text_form.h"
#include "tests/forms/graph_text.h"

#include <string>

#include "catch.h"
#include "graph/lint.h"
#include "support/error.h"

using namespace fxtrace::internal;

TEST_CASE("a graph is printed and read back", "[text_form]") {
  const std::string text =
      "%x = placeholder[x]()\n"
      "%y = placeholder[y](None)\n"
      "%layer_0_weight = get_attr[layer.0.weight]()  # layer: pkg.Block\n"
      "%add_1 = call_function[aten.add.Tensor](%x, 1, alpha=2)  # a.b: pkg.Sub\n"
      "%cat = call_function[aten.cat.default]([%x, [%y, 2]], dim=-1)  # a.b\n"
      "%getitem = call_function[operator.getitem](%cat, (slice(None, %y, 2), None, True, False))\n"
      "%to = call_function[aten.to.dtype_layout](%getitem, dtype=dtype(\"float32\"), "
      "layout=layout(\"strided\"), "
      "device=device(\"cuda:0\"), memory_format=memory_format(\"contiguous_format\"))\n"
      "%f = call_function[pkg.f]({\"k\": %to, 1: ()}, (1,), [], 1.0, -2.5, 1e+20, inf, -inf, complex(0.0, "
      "-1.0))\n"
      "%cond = call_function[higher_order.cond](%f, graph(\"true_graph_0\"), graph(\"false_graph_0\"))\n"
      "%out_dtype = call_function[higher_order.out_dtype](function(\"aten.mm.default\"), %cond)\n"
      "%run = call_method[run](%out_dtype, \"say \\\"hi\\\" \\\\ \\n\\t\\x01\")\n"
      "%l_fc = call_module[l.fc](%run)  # l.fc: torch.nn.modules.linear.Linear\n"
      "%output = output[output]({})\n";
  const Graph graph = parse_graph(text);
  CHECK(print_graph(graph) == text);
  lint(graph);
  CHECK(graph.size() == 13);
  CHECK(print_argument(graph, Argument::List{{NodeId{0}, "a", {}}}) == R"([%x, "a", None])");
}

TEST_CASE("what is known of a value as text", "[text_form]") {
  using Dims = std::vector<Meta::Dim>;
  const std::int64_t two = 2;
  CHECK(value_text({}).empty());
  CHECK(value_text({"Tensor", {}, {}, {}, {}}) == "Tensor");
  CHECK(value_text({"Tensor", Dims{}, ScalarType::kFloat32, {}, {}}) == "float32[]");
  CHECK(value_text({"Tensor", Dims{two, Expression::name("seq")}, ScalarType::kFloat32, {}, {}}) ==
        "float32[2, seq]");
  CHECK(value_text({"int", {}, {}, {}, Expression::parse("2*seq")}) == "int seq*2");
  CHECK(value_text({{}, {}, {}, {}, Meta::Dim{two}}) == "2");
}

TEST_CASE("spaces and blank lines do not matter", "[text_form]") {
  const Graph graph =
      parse_graph("\n  %x=placeholder[x]( )  \r\n\n%relu = call_function[aten.relu.default]( %x , ) # a");
  CHECK(print_graph(graph) == "%x = placeholder[x]()\n%relu = call_function[aten.relu.default](%x)  # a\n");
}

TEST_CASE("wrong graph text is told by its line", "[text_form]") {
  const char* texts[] = {
      "x = placeholder[x]()",          "%x = input[x]()",
      "%x = placeholder[x]",           "%x = placeholder[x](",
      "%x = placeholder[x]() y",       "%x = placeholder[x](%y)",
      "%x = placeholder[x](1 2)",      "%x = placeholder[x](a=1, 2)",
      "%x = placeholder[x]((1))",      "%x = placeholder[x]([1)",
      "%x = placeholder[x]({1})",      "%x = placeholder[x](\"a)",
      "%x = placeholder[x](\"\\q\")",  "%x = placeholder[x](\"\\x0\")",
      "%x = placeholder[x](1.2.3)",    "%x = placeholder[x](99999999999999999999)",
      "%x = placeholder[x](slice(1))", "%x = placeholder[x](dtype(1))",
      "%x = placeholder[x](nothing)",  "%len = placeholder[len]()",
  };
  for (const auto* text : texts) {
    INFO(text);
    try {
      parse_graph(std::string("\n") + text + "\n");
      FAIL_CHECK("no error");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("line 2") != std::string::npos);
    }
  }
}
