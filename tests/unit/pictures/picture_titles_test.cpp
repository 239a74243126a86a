// Titles of boxes are drawn last, on a background.
#include <string>

#include "app/output/graphviz.h"
#include "catch.h"

using namespace fxtrace::internal::cli;

TEST_CASE("titles of an SVG go to its end", "[picture_titles]") {
  const std::string svg =
      "<svg>\n<g>\n"
      "<text x=\"1\">the model</text>\n"
      "<g id=\"clust1\" class=\"cluster\">\n<polygon/>\n<text x=\"2\">a box</text>\n</g>\n"
      "<g id=\"node1\" class=\"node\">\n<text x=\"3\">a node</text>\n</g>\n"
      "</g>\n</svg>\n";
  CHECK(
      svg_with_titles_last(svg) ==
      "<svg>\n<g>\n"
      "<text x=\"1\">the model</text>\n"
      "<g id=\"clust1\" class=\"cluster\">\n<polygon/>\n</g>\n"
      "<g id=\"node1\" class=\"node\">\n<text x=\"3\">a node</text>\n</g>\n"
      "<text paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" x=\"2\">a "
      "box</text>\n"
      "</g>\n</svg>\n");
  CHECK(svg_with_titles_last("no picture") == "no picture");
}

TEST_CASE("titles of a layout become nodes behind all others", "[picture_titles]") {
  const std::string layout =
      "digraph fxtrace {\n"
      "\tgraph [bb=\"0,0,9,9\",\n\t\tlabel=<<B>the model</B>>,\n\t\tlheight=0.5,\n\t\tlp=\"4,4\",\n\t\tlwidth=1\n\t];\n"
      "\tsubgraph cluster_b1 {\n"
      "\t\tgraph [bb=\"0,0,8,8\",\n\t\t\tfillcolor=\"#f6f8fa\",\n\t\t\tlabel=<<B>a &lt; b</B>>,\n\t\t\tlheight=0.18,\n"
      "\t\t\tlp=\"3,2\",\n\t\t\tlwidth=0.7,\n\t\t\tmargin=10\n\t\t];\n"
      "\t\tsubgraph cluster_b2 {\n"
      "\t\t\tgraph [bb=\"0,0,7,7\",\n\t\t\t\tlabel=<inner>,\n\t\t\t\tlheight=0.2,\n\t\t\t\tlp=\"2,1\",\n\t\t\t\tlwidth=0.4\n"
      "\t\t\t];\n"
      "\t\t\tb3\t[label=<lp=\"9,9\">,\n\t\t\t\tpos=\"1,1\"];\n"
      "\t\t}\n"
      "\t}\n"
      "\tb3 -> b4\t[pos=\"e,1,1\"];\n"
      "}\n";
  CHECK(
      layout_with_titles_last(layout) ==
      "digraph fxtrace {\n"
      "\tgraph [bb=\"0,0,9,9\",\n\t\tlabel=<<B>the model</B>>,\n\t\tlheight=0.5,\n\t\tlp=\"4,4\",\n\t\tlwidth=1\n\t];\n"
      "\tsubgraph cluster_b1 {\n"
      "\t\tgraph [bb=\"0,0,8,8\",\n\t\t\tfillcolor=\"#f6f8fa\",\n\t\t\tlabel=\"\",\n\t\t\tlheight=0.18,\n"
      "\t\t\tlp=\"3,2\",\n\t\t\tlwidth=0.7,\n\t\t\tmargin=10\n\t\t];\n"
      "\t\tsubgraph cluster_b2 {\n"
      "\t\t\tgraph [bb=\"0,0,7,7\",\n\t\t\t\tlabel=\"\",\n\t\t\t\tlheight=0.2,\n\t\t\t\tlp=\"2,1\",\n\t\t\t\tlwidth=0.4\n"
      "\t\t\t];\n"
      "\t\t\tb3\t[label=<lp=\"9,9\">,\n\t\t\t\tpos=\"1,1\"];\n"
      "\t\t}\n"
      "\t}\n"
      "\tb3 -> b4\t[pos=\"e,1,1\"];\n"
      "\tgraph [outputorder=edgesfirst];\n"
      "\tt0 [shape=plaintext, style=filled, margin=0, fixedsize=true, fontsize=12, fillcolor=\"#f6f8fa\", "
      "pos=\"3,2\", width=0.7, height=0.18, label=<<B>a &lt; b</B>>];\n"
      "\tt1 [shape=plaintext, style=filled, margin=0, fixedsize=true, fontsize=12, fillcolor=\"#f6f8fa\", "
      "pos=\"2,1\", width=0.4, height=0.2, label=<inner>];\n"
      "}\n");
}
