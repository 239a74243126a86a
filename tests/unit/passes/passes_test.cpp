// The graph passes: one file of tests/passes for each, many cases in it.  FXTRACE_UPDATE=1 writes the lower
// parts of the cases anew.
//
//   ==== what the case shows
//   attribute act.inplace = True      of a module; modules are those that scopes name
//   parameter w float32[4]            or buffer; `parameter b = a` is the same tensor under another name
//   guard u0 >= 1
//   constant c = constants/0          of the graph, in that record of the archive
//   %x = placeholder[x]() -> float32[2, 4]
//   ...
//   subgraph true_graph_0             its lines, and those of its own subgraphs, stand two spaces further in
//     %a = ...
//   ----
//   the graph afterwards; "same" where the pass did nothing
//   guard x.is_contiguous()           that the pass added
//   left NODE: why
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.h"
#include "graph/lint.h"
#include "passes/pass.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;

namespace {

struct Line {
  std::size_t indent;
  std::string text;
};

class Case {
 public:
  explicit Case(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
      const auto start = line.find_first_not_of(' ');
      if (start != std::string::npos && !line.substr(start).starts_with("//")) {
        lines_.push_back({start, line.substr(start)});
      }
    }
    ModuleGraph graph;
    std::size_t at = 0;
    read(graph, 0, at);
    graph.execution.emplace();
    add_modules(graph);
    for (const std::string& path : modules_seen_) {
      if (path.empty()) continue;
      collection_.modules.push_back(
          {path, types_[path], ModuleStatus::kLeaf, {}, {}, 0, {}, attributes_[path]});
    }
    collection_.modules.insert(collection_.modules.begin(),
                               ModuleRecord{"", "Net", ModuleStatus::kTraced, {}, {}, 0, {}, {}});
    graph.type = "Net";
    collection_.graphs.push_back(std::move(graph));
  }

  std::string run(const std::string& pass) {
    lint(collection_);
    const std::string before = print(collection_.graphs.front(), "");
    const std::size_t given_guards = collection_.graphs.front().guards.size();
    REQUIRE(find_pass(pass) != nullptr);
    const auto reports = run_pass(*find_pass(pass), collection_);
    lint(collection_);
    std::string text = print(collection_.graphs.front(), "");
    if (text == before) text = "same\n";
    const std::vector<Guard>& guards = collection_.graphs.front().guards;
    for (std::size_t i = given_guards; i < guards.size(); ++i)
      text += "guard " + guards[i].expr.text() + "\n";
    for (const PassReport& report : reports) {
      for (const Declined& left : report.declined) {
        text += "left " + (left.graph.empty() ? "" : left.graph.substr(1) + "/") + left.node + ": " +
                left.reason + "\n";
      }
    }
    return text;
  }

 private:
  void read(ModuleGraph& graph, std::size_t indent, std::size_t& at) {
    std::string nodes;
    while (at < lines_.size() && lines_[at].indent == indent) {
      const std::string& text = lines_[at++].text;
      if (text[0] == '%' || text.starts_with("assign[")) {
        nodes += text + "\n";
      } else if (text.starts_with("subgraph ")) {
        graph.subgraphs.add({text.substr(9), {}});
        read(*graph.subgraphs.find_graph(text.substr(9)), indent + 2, at);
      } else if (text.starts_with("guard ")) {
        graph.guards.push_back({Expression::parse(text.substr(6)), {}});
      } else if (text.starts_with("constant ")) {
        std::istringstream words(text.substr(9));
        std::string name, equal, record;
        words >> name >> equal >> record;
        Constant constant{"float32", {}, std::nullopt, record};
        graph.constants.emplace_back(std::move(name), std::move(constant));
      } else {
        read_fact(text);
      }
    }
    graph.graph = parse_graph(nodes);
  }

  void read_fact(const std::string& text) {
    std::istringstream words(text);
    std::string kind, name, equal, value;
    words >> kind >> name >> equal >> value;
    if (kind == "attribute") {
      const auto dot = name.rfind('.');
      Argument held = value == "True" ? Argument(true) : value == "False" ? Argument(false) : Argument();
      attributes_[name.substr(0, dot)].emplace_back(name.substr(dot + 1), std::move(held));
    } else if (kind == "parameter" || kind == "buffer") {
      ParameterRecord parameter{
          name, kind == "buffer" ? ParameterKind::kBuffer : ParameterKind::kParameter, {}, "float32", "", {}};
      if (equal == "=") parameter.alias_of = value;
      collection_.parameters.push_back(std::move(parameter));
    } else {
      FAIL("no line of a case: " + text);
    }
  }

  void add_modules(const ModuleGraph& graph) {
    for (const NodeId id : graph.graph.order()) {
      const Scope& scope = graph.graph.node(id).scope;
      modules_seen_.insert(scope.module_path);
      types_[scope.module_path] = scope.module_type.value_or("");
    }
    for (const Subgraph& subgraph : graph.subgraphs) add_modules(subgraph.graph);
  }

  static std::string print(const ModuleGraph& graph, const std::string& indent) {
    std::istringstream lines(print_graph_with_values(graph.graph));
    std::string text;
    std::string line;
    while (std::getline(lines, line)) text += indent + line + "\n";
    for (const auto& [name, constant] : graph.constants) {
      text += indent + "constant " + name + " = " + constant.record + "\n";
    }
    for (const auto& [name, inner] : graph.subgraphs) {
      text += indent + "subgraph " + name + "\n" + print(inner, indent + "  ");
    }
    return text;
  }

  std::vector<Line> lines_;
  std::set<std::string> modules_seen_;
  std::map<std::string, std::string> types_;
  std::map<std::string, std::vector<std::pair<std::string, Argument>>> attributes_;
  GraphCollection collection_;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::string_view kCase = "==== ", kAfter = "----\n";

}  // namespace

TEST_CASE("passes: cases", "[passes]") {
  const bool update = std::getenv("FXTRACE_UPDATE") != nullptr;
  for (const Pass& pass : passes()) {
    DYNAMIC_SECTION(pass.name) {
      const auto path =
          std::filesystem::path(FXTRACE_SOURCE_DIR "/tests/passes") / (std::string(pass.name) + ".txt");
      const std::string text = read(path);
      std::size_t at = text.find(kCase);
      REQUIRE(at != std::string::npos);
      std::string written = text.substr(0, at);
      while (at < text.size()) {
        const std::size_t next = std::min(text.find("\n" + std::string(kCase), at), text.size() - 1) + 1;
        const std::string all = text.substr(at, next - at);
        const std::size_t end_of_name = all.find('\n') + 1;
        const std::size_t line = std::min(all.find(kAfter), all.size());
        const std::string expected = line < all.size() ? all.substr(line + kAfter.size()) : "";
        INFO(all.substr(0, end_of_name));
        std::string given;
        CHECK_NOTHROW(given = Case(all.substr(end_of_name, line - end_of_name)).run(std::string(pass.name)) +
                              "\n");
        if (next >= text.size() && given.ends_with("\n\n")) given.pop_back();
        if (!update) CHECK(given == expected);
        written += all.substr(0, line) + (line < all.size() ? "" : "\n") + std::string(kAfter) + given;
        at = next;
      }
      if (update && written != text) std::ofstream(path, std::ios::binary) << written;
    }
  }
}
