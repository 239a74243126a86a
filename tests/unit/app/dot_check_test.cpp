// The check of DOT: attributes and labels that write_dot() does not write are found.
#include <filesystem>
#include <sstream>
#include <string>

#include "app/output/graphviz.h"
#include "catch.h"
#include "golden.h"
#include "readers/collection_reader.h"
#include "writers/pictures/dot_writer.h"

using fxtrace::internal::cli::find_foreign_dot;

TEST_CASE("what write_dot() writes is its own", "[dot_check]") {
  int count = 0;
  for (const auto& golden :
       std::filesystem::recursive_directory_iterator(FXTRACE_SOURCE_DIR "/tests/golden")) {
    const std::string text = fxtrace::internal::golden_stdout(golden.path());
    if (!text.starts_with("{\n  \"format\": \"fxtrace.graph_collection\"")) continue;
    INFO(golden.path());
    std::ostringstream dot;
    fxtrace::internal::write_dot(fxtrace::internal::read_collection(text, "x.json"), dot, {});
    CHECK(find_foreign_dot(dot.str()) == "");
    ++count;
  }
  CHECK(count > 50);
}

TEST_CASE("what reads files, makes links or is unknown is named", "[dot_check]") {
  const auto in_node = [](const std::string& attributes) {
    return find_foreign_dot("digraph g { a [" + attributes + "]; }");
  };
  CHECK(in_node(R"(label="image=\"x\"", tooltip="href=x")") == "");
  CHECK(in_node(R"(image="/etc/passwd.png")") == "the attribute 'image'");
  CHECK(in_node(R"("image"="/x.png")") == "the attribute '\"image\"'");
  CHECK(in_node(R"(shapefile="/x.png")") == "the attribute 'shapefile'");
  CHECK(in_node(R"(label="\\", image="x")") == "the attribute 'image'");
  CHECK(in_node(R"(label="a" URL="file:///x")") == "the attribute 'URL'");
  CHECK(in_node(R"(href=x)") == "the attribute 'href'");
  CHECK(in_node(R"(shape=epsf)") == "the shape 'epsf'");
  CHECK(in_node(R"(fontname="/x.ttf")") == "the font '\"/x.ttf\"'");
  CHECK(in_node(R"(label=<<IMG SRC="/x.png"/>>)") == "the tag '<IMG SRC=\"/x.png\"/>'");
  CHECK(in_node(R"(label=<<B><FONT COLOR="a>" HREF="x">b</FONT></B>>)") == "the tag '<FONT COLOR=\"a>'");
  CHECK(in_node(R"(label=<<FONT HREF="x">b</FONT>>)") == "the tag '<FONT HREF=\"x\">'");
  CHECK(in_node(R"(label=<<TABLE><TR><TD HREF="x">b</TD></TR></TABLE>>)") == "the tag '<TABLE>'");
  CHECK(in_node(R"(label=<<!-- -->>)") == "the tag '<!-- -->'");
  CHECK(find_foreign_dot("digraph g { imagepath=x; }") == "the attribute 'imagepath'");
  CHECK(find_foreign_dot("digraph g { /* \" */ image=x; /* \" */ }") == "the character '/'");
  CHECK(find_foreign_dot("# \"\ndigraph g { image=x }") == "the character '#'");
  CHECK(find_foreign_dot("digraph g { a [\"im\" + \"age\"=x] }") == "the character '+'");
  CHECK(find_foreign_dot("digraph g { a [label=\"x]; }") == "a text that does not end");
  CHECK(find_foreign_dot("digraph g { a [label=<x]; }") == "a text that does not end");
}
