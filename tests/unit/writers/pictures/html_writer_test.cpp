// The data of the HTML page.
#include "writers/pictures/html_writer.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "sample_collection.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal {
namespace {

using Json = nlohmann::json;

std::string html_page_of(const GraphCollection& collection, const PictureOptions& options = {}) {
  std::ostringstream out;
  write_html(collection, out, options);
  return out.str();
}

Json data_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const auto start = page.find(open);
  REQUIRE(start != std::string::npos);
  const auto end = page.find("</script>", start);
  return Json::parse(page.substr(start + open.size(), end - start - open.size()));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Returns the item's text in a column of texts.
std::string text_of(const Json& data, const char* column, std::size_t item) {
  return data["texts"][data[column][item].get<std::size_t>()];
}

// Returns the first item with that title.
std::size_t item_of(const Json& data, const std::string& title) {
  for (std::size_t i = 0; i < data["title"].size(); ++i) {
    if (text_of(data, "title", i) == title) return i;
  }
  FAIL("no item " << title);
  return 0;
}

constexpr const char* kColumns[] = {"kind", "depth",  "op",     "title",  "type",    "details",  "value",
                                    "note", "order",  "path",   "name",   "target",  "call",     "like",
                                    "cost", "module", "source", "inputs", "weights", "arguments"};

}  // namespace

TEST_CASE("text in an HTML page", "[html_writer]") {
  struct Case {
    std::string text, html, json;
  };
  const Case cases[] = {
      {"plain_1", "plain_1", R"("plain_1")"},
      {"</script>", "&lt;/script&gt;", R"("\u003c/script>")"},
      {"<!-- & -->", "&lt;!-- &amp; --&gt;", R"("\u003c!-- & -->")"},
      {"\"\\'", "\"\\'", R"("\"\\'")"},
      {"a\nb\tc\x01", R"(a\nb\tc\x01)", R"("a\\nb\\tc\\x01")"},
      {"\xE2\x80\xAE\xE2\x80\xA8\xE2\x81\xA6", R"(\u202e\u2028\u2066)", R"("\\u202e\\u2028\\u2066")"},
      {"\xFF\xC3(", "\xEF\xBF\xBD\xEF\xBF\xBD(", "\"\xEF\xBF\xBD\xEF\xBF\xBD(\""},
      {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F", "\"gr\xC3\xBC\xC3\x9F\""},
      {std::string("a\0b", 3), R"(a\x00b)", R"("a\\x00b")"},
  };
  for (const Case& each : cases) {
    INFO(each.text);
    CHECK(html_text(each.text) == each.html);
    CHECK(html_json(each.text) == each.json);
    CHECK(Json::accept(html_json(each.text)));
  }
}

TEST_CASE("an HTML page holds what pictures show", "[html_writer]") {
  const std::string page = html_page_of(sample_collection());
  const Json data = data_of(page);
  CHECK(data["version"] == 1);
  CHECK(data["model"]["file"] == "model.pt");
  const std::size_t items = data["kind"].size();
  for (const char* column : kColumns) {
    INFO(column);
    CHECK(data[column].size() == items);
  }
  // A box comes before its content.
  CHECK(data["depth"][0] == 0);
  for (std::size_t i = 1; i < items; ++i)
    CHECK(data["depth"][i].get<int>() <= data["depth"][i - 1].get<int>() + 1);

  const std::size_t mul = item_of(data, "mul");
  CHECK(text_of(data, "target", mul) == "aten.mul.Tensor");
  CHECK(text_of(data, "name", mul) == "mul");
  const std::size_t x = item_of(data, "x");
  CHECK(data["inputs"][mul] == Json::array({mul - x}));
  // Arguments have the names of the schema, and are links and texts.
  const Json& arguments = data["arguments"][mul];
  REQUIRE(arguments.size() == 2);
  CHECK(data["texts"][arguments[0][0].get<std::size_t>()] == "self");
  CHECK(arguments[0][1] == x);
  CHECK(arguments[1][1] == "scale");

  const std::size_t gate = item_of(data, "b");
  const Json& module = data["modules"][data["module"][gate].get<std::size_t>() - 1];
  CHECK(data["texts"][module[5][0].get<std::size_t>()] == "an if depends on an input");
  REQUIRE_FALSE(data["failures"].empty());
  CHECK(data["failures"][0][0] == gate);
}

TEST_CASE("an HTML page is one file with a policy", "[html_writer]") {
  const std::string page = html_page_of(sample_collection());
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("default-src 'none'; script-src 'sha256-") != std::string::npos);
  CHECK(page.find("{{") == page.npos);
  CHECK(page.find("Eclipse Public License") != page.npos);
  CHECK(page.find(" src=") == page.npos);
  CHECK(page.find("<link") == page.npos);
  CHECK(html_page_of(sample_collection()) == page);
}

TEST_CASE("names that try to be markup stay text in an HTML page", "[html_writer]") {
  const std::string plain = html_page_of(sample_collection());
  for (const std::string hostile :
       {"</script><script>alert(1)</script>", "<!--<script>", "</title><img src=x>"}) {
    INFO(hostile);
    GraphCollection collection = sample_collection();
    collection.model.file = hostile;
    collection.model.type = hostile;
    for (ModuleRecord& module : collection.modules) {
      module.type = hostile;
      if (module.failure) module.failure->message = hostile;
    }
    for (ModuleGraph& graph : collection.graphs) {
      graph.type = hostile;
      graph.graph.set_source(graph.graph.first(),
                             std::optional(SourceLocation{hostile, 1, hostile, hostile}));
    }
    const std::string page = html_page_of(collection);
    CHECK(data_of(page)["model"]["file"] == hostile);
    for (const char* mark : {"<script", "</script", "<!--", "</title", "<img"}) {
      INFO(mark);
      CHECK(count(page, mark) == count(plain, mark));
    }
  }
}

TEST_CASE("an HTML page keeps long texts short", "[html_writer]") {
  GraphCollection collection = sample_collection();
  for (ModuleGraph& graph : collection.graphs) {
    graph.graph.set_source(graph.graph.first(),
                           std::optional(SourceLocation{"f.py", 1, "f", std::string(1'000'000, 'x')}));
  }
  CHECK(html_page_of(collection).size() < html_page_of(sample_collection()).size() + 5000);
}

TEST_CASE("html: the page knows every kind of box and node", "[html_writer]") {
  std::ifstream file(FXTRACE_SOURCE_DIR "/web/src/data.js");
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  // Checks "export const Kind = { graph: 0, ... };": all kinds, in the order of the enumeration.
  const auto numbers = [&](const std::string& name, const std::vector<std::string>& names) {
    std::string line = "export const " + name + " = {";
    for (std::size_t i = 0; i < names.size(); ++i)
      line += (i == 0 ? " " : ", ") + names[i] + ": " + std::to_string(i);
    return line + " };\n";
  };
  CHECK_THAT(script, ContainsSubstring(numbers("Kind", {"graph", "module", "operator", "body", "repeats",
                                                        "period", "part", "node"})));
  CHECK(static_cast<int>(Outline::Kind::kNode) == 7);
  CHECK(static_cast<int>(Outline::Kind::kPeriod) == 5);
  CHECK_THAT(script, ContainsSubstring(numbers("Op", {"none", "placeholder", "getAttr", "callFunction",
                                                      "callMethod", "callModule", "output"})));
  CHECK(static_cast<int>(Opcode::kOutput) == 5);
}

}  // namespace fxtrace::internal
