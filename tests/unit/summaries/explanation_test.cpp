// Explanations of fxtrace why: failures, modules, dimensions, and suggested options.
#include "summaries/explanation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "fake_program.h"
#include "support/error.h"
#include "trace/search/suggestions.h"
#include "trace/search/trace.h"

using namespace fxtrace::internal;

namespace {

using Strings = std::vector<std::string>;

ModuleRecord failed(const std::string& path, const std::string& message = "an `if`") {
  ModuleRecord module;
  module.path = path;
  module.type = "Block";
  module.status = ModuleStatus::kFailed;
  module.failure = Failure{FailureKind::kOther, message, path, "prim::If", std::nullopt};
  return module;
}

void nothing(const FakeProgram&, GraphTracer&) {}

// A forward that fails unless the options are as it requires.
FakeProgram::Forward needs(bool (*wanted)(const TraceOptions&)) {
  return [=](const FakeProgram& program, GraphTracer&) {
    if (!wanted(*program.bound)) throw TraceFailure(Failure{});
  };
}
bool subgraphs(const TraceOptions& options) { return options.control_flow == ControlFlow::kSubgraph; }
bool no_hooks(const TraceOptions& options) { return options.hooks == Hooks::kSkip; }
bool shapes(const TraceOptions& options) { return options.param_shapes_constant; }
bool never(const TraceOptions&) { return false; }

// A program whose root calls all other modules.
FakeProgram program_of(const std::vector<std::pair<std::string, FakeProgram::Forward>>& modules) {
  FakeProgram program;
  program.add("", "Net", [modules](const FakeProgram& p, GraphTracer& t) {
    for (const auto& [path, forward] : modules) p.call(path, t);
  });
  program.parameter("", "weight", {2});
  for (const auto& [path, forward] : modules) program.add(path, "Block", forward);
  return program;
}

Suggestions suggestions(const FakeProgram& program, const TraceOptions& options = {}) {
  return find_suggestions({program, options, trace(program, options).collection});
}

Strings options_of(const std::optional<Trial>& trial) { return trial ? trial->options : Strings{"none"}; }

}  // namespace

TEST_CASE("failures are a tree, in which equal causes in equal blocks are one", "[explanation]") {
  GraphCollection collection;
  for (const char* path : {"h.0", "h.0.attn", "between", "h.1", "h.1.attn", "h.1.mlp"})
    collection.modules.push_back(failed(path));
  collection.modules.push_back(failed("h.2", "a loop"));
  ModuleRecord alias = failed("again");
  alias.alias_of = "h.0";
  collection.modules.push_back(alias);
  std::string tree;
  for (const FailureGroup& modules : fold_failures(collection)) {
    tree += std::string(modules.depth, ' ');
    for (const std::string& path : modules.paths) tree += path + " ";
    tree += "\n";
  }
  CHECK(tree == "h.0 h.1 \n h.0.attn h.1.attn \n h.1.mlp \nbetween \nh.2 \n");
}

TEST_CASE("paths that differ in numbers are one range", "[explanation]") {
  const auto ranges = fold_paths({"h.0.a", "h.0.b", "h.1.a", "h.1.b", "tail"});
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0].first == "h.0.a");
  CHECK(ranges[0].last == "h.1.a");
  CHECK(ranges[1].count == 2);
  CHECK(ranges[2].count == 1);
}

TEST_CASE("modules are found by path, later name and glob", "[explanation]") {
  GraphCollection collection;
  for (const char* path : {"", "a", "a.x", "b", "h.0", "h.1"}) {
    collection.modules.emplace_back();
    collection.modules.back().path = path;
  }
  collection.modules[3].alias_of = "a";
  std::optional<std::string> asked;
  CHECK(find_modules(collection, "", asked) == Strings{""});
  CHECK(find_modules(collection, "h.*", asked) == Strings{"h.0", "h.1"});
  CHECK(!asked);
  CHECK(find_modules(collection, "b.x", asked) == Strings{"a.x"});
  CHECK(asked == "b.x");
  CHECK_THROWS_AS(find_modules(collection, "h.3", asked), Error);
  CHECK_THROWS_AS(find_modules(collection, "x.*", asked), Error);
  collection.modules[1].alias_of = "b";  // hostile: a cycle
  CHECK_THROWS_AS(find_modules(collection, "a.y", asked), Error);
}

TEST_CASE("a guard is found by either order of its sides", "[explanation]") {
  GraphCollection collection;
  ModuleGraph& graph = collection.graphs.emplace_back();
  for (const char* text : {"s0 == 8", "s0 <= s1", "s0 > 2", "x.training", "2 <= s63 <= 32"})
    graph.guards.push_back({Expression::parse(text), std::nullopt, GuardReason::kExported});
  const auto number = [&](const std::string& asked) { return find_guards(collection, asked).at(0).number; };
  CHECK(number("8 == s0") == 1);
  CHECK(number("s0 == 8") == 1);
  CHECK(number("s1 >= s0") == 2);
  CHECK(number("2 < s0") == 3);
  CHECK(number("x.training") == 4);
  CHECK(number("32 >= s63 >= 2") == 5);
  CHECK(number("s63 <= 32") == 5);  // one side of it
  CHECK_THROWS_AS(number("s0 >= s1"), Error);
}

TEST_CASE("nothing is suggested when nothing failed", "[explanation]") {
  const Suggestions found = suggestions(program_of({{"a", nothing}}));
  CHECK(!found.is_tried);
  CHECK(!found.best);
}

TEST_CASE("options are tried alone, then the fewest together", "[explanation]") {
  const Suggestions found =
      suggestions(program_of({{"a", needs(subgraphs)}, {"b", needs(no_hooks)}, {"c", nothing}}));
  REQUIRE(found.helpful.size() == 2);
  CHECK(found.helpful[0].options == Strings{"--control-flow subgraph"});
  CHECK(found.helpful[0].failed == Strings{"b"});
  CHECK(found.helpful[1].options == Strings{"--hooks skip"});
  CHECK(found.helpful[1].failed == Strings{"a"});
  CHECK(found.others == std::vector<Strings>{{"--param-shapes-constant"}, {"--flat"}});
  CHECK(options_of(found.best) == Strings{"--control-flow subgraph", "--hooks skip"});
  CHECK(found.best->failed.empty());
  CHECK(!found.with_leaves);
}

TEST_CASE("one option that does the same is preferred to two", "[explanation]") {
  const auto either = [](const TraceOptions& options) {
    return no_hooks(options) || (shapes(options) && subgraphs(options));
  };
  const Suggestions found = suggestions(program_of({{"a", needs(either)}}));
  CHECK(options_of(found.best) == Strings{"--hooks skip"});
}

TEST_CASE("options that only help together are found", "[explanation]") {
  const auto both = [](const TraceOptions& options) { return shapes(options) && subgraphs(options); };
  const Suggestions found = suggestions(program_of({{"a", needs(both)}}));
  CHECK(found.helpful.empty());
  CHECK(options_of(found.best) == Strings{"--param-shapes-constant", "--control-flow subgraph"});
}

TEST_CASE("what is left is a leaf on purpose, by rules that match nothing else", "[explanation]") {
  const Suggestions found = suggestions(program_of({{"h0", needs(subgraphs)},
                                                    {"m", nothing},
                                                    {"m.0", needs(never)},
                                                    {"m.1", nothing},
                                                    {"n", nothing},
                                                    {"n.0", needs(never)},
                                                    {"n.1", needs(never)},
                                                    {"odd*", needs(never)}}));
  CHECK(options_of(found.best) == Strings{"--control-flow subgraph"});
  CHECK(found.best->failed == Strings{"m.0", "n.0", "n.1", "odd*"});
  CHECK(options_of(found.with_leaves) ==
        Strings{"--control-flow subgraph", "--leaf @m.0", "--leaf '@n.*'", "--leaf '@odd[*]'"});
  CHECK(found.with_leaves->failed.empty());
}

TEST_CASE("a root that fails has no leaf on purpose", "[explanation]") {
  FakeProgram program;
  program.add("", "Net", needs(never));
  const Suggestions found = suggestions(program);
  CHECK(found.is_tried);
  CHECK(!found.best);
  CHECK(!found.with_leaves);
}

TEST_CASE("a limit that was reached is tried ten times as large", "[explanation]") {
  FakeProgram program;
  program.add("", "Net", [](const FakeProgram& p, GraphTracer& t) {
    for (int i = 0; i < 30; ++i) p.call("a", t);
  });
  program.add("a", "Block", nothing);
  TraceOptions options;
  options.limits.nodes = 20;
  const Suggestions found = suggestions(program, options);
  CHECK(options_of(found.best) == Strings{"--max-nodes 200"});
}

TEST_CASE("the work of trials is bounded", "[explanation]") {
  std::vector<std::pair<std::string, FakeProgram::Forward>> modules;
  for (int i = 0; i < 1000; ++i) modules.emplace_back("m" + std::to_string(i), needs(never));
  const FakeProgram program = program_of(modules);
  const GraphCollection collection = trace(program, {}).collection;
  program.runs.clear();
  const TraceOptions options;
  const Suggestions found = find_suggestions({program, options, collection});
  CHECK(!found.best);
  CHECK(std::ranges::count(program.runs, "") < 200);  // 83 traces at most
}

TEST_CASE("what a bound of the trials decides is not told", "[explanation]") {
  FakeProgram program;
  program.add("", "Net", [](const FakeProgram& p, GraphTracer& t) {
    if (!subgraphs(*p.bound)) throw TraceFailure(Failure{});
    for (int i = 0; i < 50'000; ++i) p.call("a", t);  // more than a trial may trace, less than a full trace
  });
  program.add("a", "Block", nothing);
  const Suggestions found = suggestions(program);
  CHECK(found.is_tried);
  CHECK(!found.best);
  CHECK(found.helpful.empty());
  CHECK(found.others == std::vector<Strings>{{"--hooks skip"}, {"--flat"}});
}
