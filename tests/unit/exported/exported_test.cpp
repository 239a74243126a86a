// The parts of lib/exported, one by one.  Whole programs are in tests/python.
#include <cmath>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "catch.h"
#include "exported/modules/bound_exported_program.h"
#include "exported/modules/call_graph.h"
#include "exported/modules/gathered_calls.h"
#include "exported/program/encoded_texts.h"
#include "exported/program/exported_program.h"
#include "exported/program/hierarchy.h"
#include "exported/program/program_dimensions.h"
#include "exported/program/stack_trace.h"
#include "graph/analysis/fold_numbers.h"
#include "graph/analysis/text_form.h"
#include "graph/rewrite.h"
#include "operators/operators.h"
#include "support/error.h"
#include "trace/search/trace.h"
#include "writers/graphs/collection_writers.h"

using namespace fxtrace::internal;

TEST_CASE("sympy: sizes as Python expressions", "[exported]") {
  const std::string s = "Symbol('s77', positive=True, integer=True)";
  const std::string t = "Symbol('s0', integer=True)";
  struct Case {
    std::string sympy, python;
  };
  const Case cases[] = {
      {s, "s77"},
      {"Integer(4)", "4"},
      {"Add(" + s + ", Integer(1))", "s77+1"},
      {"Add(" + s + ", Integer(-1))", "s77-1"},
      {"Add(Mul(Integer(-1), " + t + "), " + s + ")", "s77-s0"},
      {"Add(" + s + ", Mul(Integer(-2), " + t + "))", "s77-s0*2"},
      {"Mul(Integer(2), " + s + ")", "s77*2"},
      {"Mul(Integer(2), Add(" + s + ", Integer(1)))", "s77*2+2"},
      {"FloorDiv(Add(" + s + ", Integer(1)), Integer(2))", "(s77+1)//2"},
      {"Mul(Integer(-1), FloorDiv(" + s + ", Integer(2)))", "-(s77//2)"},
      {"Mul(Integer(-1), FloorDiv(Mul(Integer(-1), " + s + "), Integer(2)))", "(s77+1)//2"},
      {"Add(" + t + ", FloorDiv(Mul(Integer(-1), " + s + "), Integer(2)))", "s0-(s77+1)//2"},
      {"Add(ToFloat(" + s + "), Float('-0.5', precision=53))", "float(s77)-0.5"},
      {"Mul(Integer(-1), ToFloat(" + s + "), Float('0.5', precision=53))", "-float(s77)*0.5"},
      {"Add(ToFloat(" + s + "), Mul(Integer(-1), ToFloat(" + t + "), Float('0.5')))",
       "float(s77)-float(s0)*0.5"},
      {"FloorDiv(Integer(8), FloorDiv(" + s + ", Integer(2)))", "8//(s77//2)"},
      {"Mul(Integer(3), FloorDiv(" + s + ", Integer(2)))", "(s77//2)*3"},
      {"Mod(" + s + ", Integer(8))", "s77%8"},
      {"Pow(" + s + ", Integer(2))", "s77**2"},
      {"Pow(Add(" + s + ", Integer(1)), Integer(2))", "s77**2+s77*2+1"},
      {"Max(Integer(1), " + s + ")", "max(1,s77)"},
      {"Equality(" + s + ", Integer(3))", "s77 == 3"},
      {"And(StrictGreaterThan(" + s + ", Integer(3)), LessThan(" + s + ", Integer(9)))",
       "s77 > 3 and s77 <= 9"},
      {"Not(Equality(" + s + ", Integer(3)))", "s77 != 3"},
      {"ModularIndexing(" + s + ", Integer(2), Integer(3))", "(s77//2)%3"},
      {"Piecewise(ExprCondPair(Integer(1), StrictLessThan(" + s +
           ", Integer(3))), ExprCondPair(Integer(0), true))",
       "Piecewise(ExprCondPair(1, s77 < 3), ExprCondPair(0, True))"},
      {"FloatTrueDiv(ToFloat(" + s + "), Mul(Integer(-1), oo))", "float(s77)/-float('inf')"},
      // A text that is not a srepr is read as Python.
      {"2*s0 + 1", "s0*2+1"},
      {"Add(" + s + ", ", "Add(" + s + ", "},
      {"", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.sympy);
    CHECK(expression_of_sympy(c.sympy).text() == c.python);
  }
  std::string deep = s;
  for (int i = 0; i < 100'000; ++i) deep = "f(" + deep;
  CHECK(expression_of_sympy(deep).text() == deep);
}

TEST_CASE("fold: as Python computes", "[exported]") {
  using Args = std::vector<Argument>;
  CHECK(fold("operator.add", {2, 3}) == Argument(5));
  CHECK(fold("operator.floordiv", {-7, 2}) == Argument(-4));
  CHECK(fold("operator.floordiv", {7, -2}) == Argument(-4));
  CHECK(fold("operator.mod", {-7, 2}) == Argument(1));
  CHECK(fold("operator.mod", {7, -2}) == Argument(-1));
  CHECK(fold("operator.neg", {7}) == Argument(-7));
  CHECK(fold("operator.lt", {1, 2}) == Argument(true));
  CHECK(fold("operator.mul", {true, 4}) == Argument(4));
  CHECK_FALSE(fold("operator.floordiv", {7, 0}));
  CHECK_FALSE(fold("operator.mul", Args{INT64_MAX, 2}));
  CHECK_FALSE(fold("operator.floordiv", Args{INT64_MIN, -1}));
  CHECK(fold("operator.pow", {-3, 3}) == Argument(-27));
  CHECK_FALSE(fold("operator.pow", {10, 20}));
  CHECK(fold("operator.pow", {2, -1}) == Argument(0.5));
  CHECK(fold("operator.pow", {4, -0.5}) == Argument(0.5));
  CHECK_FALSE(fold("operator.pow", {-4, 0.5}));
  CHECK_FALSE(fold("operator.pow", {1e200, 2.0}));
  CHECK(fold("operator.mod", Args{INT64_MIN, -1}) == Argument(0));
  CHECK(fold("operator.add", {1.5, 2}) == Argument(3.5));
  CHECK(fold("operator.truediv", {7, 2}) == Argument(3.5));
  CHECK(fold("operator.truediv", {4, 2}) == Argument(2.0));
  CHECK_FALSE(fold("operator.truediv", {7, 0}));
  // Python rounds once; a quotient of doubles is rounded twice.
  CHECK(fold("operator.truediv", Args{(INT64_C(1) << 53) + 1, 3}) == Argument(3002399751580331.0));
  CHECK(fold("math.trunc", {-3.5}) == Argument(-3));
  CHECK(fold("math.floor", {-3.5}) == Argument(-4));
  CHECK(fold("math.ceil", {-3.5}) == Argument(-3));
  CHECK(fold("math.floor", Args{INT64_MAX}) == Argument(INT64_MAX));
  CHECK_FALSE(fold("math.trunc", {1e300}));
  CHECK_FALSE(fold("math.floor", {HUGE_VAL}));
  CHECK(fold("torch.sym_max", {3, 5}) == Argument(5));
  CHECK(fold("torch.sym_float", {3}) == Argument(3.0));
  CHECK(fold("torch.sym_not", {true}) == Argument(false));
  CHECK(fold("torch.sym_not", {1}) == Argument(false));
  CHECK(fold("operator.and_", {true, false}) == Argument(false));
  CHECK(fold("operator.and_", {6, 3}) == Argument(2));
  CHECK(fold("operator.eq", Args{(INT64_C(1) << 53) + 1, 0x1p53}) == Argument(false));
  CHECK(fold("operator.rshift", {-5, 64}) == Argument(-1));
  CHECK_FALSE(fold("operator.add", {1}));
  CHECK_FALSE(fold("operator.add", {1, 2, 3}));
  CHECK_FALSE(fold("operator.add", {}));
  CHECK_FALSE(fold("operator.getitem", {1, 2}));
  CHECK_FALSE(fold("aten.add.Tensor", {1, 2}));
  CHECK_FALSE(fold("operator.add", {1, NodeId{0}}));
}

TEST_CASE("tree spec: structures and paths", "[exported]") {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  const auto spec = TreeSpec::parse(
      R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)" + leaf +
          R"(, {"type": "builtins.dict", "context": "[\"a\", 3]", "children_spec": [)" + leaf +
          R"(, {"type": "builtins.list", "context": "null", "children_spec": [)" + leaf + "]}]}]}]",
      "it");
  CHECK(spec.leaves == 3);
  const auto paths = spec.paths();
  REQUIRE(paths.size() == 3);
  CHECK(paths[0] == std::vector<Argument>{0});
  CHECK(paths[1] == std::vector<Argument>{1, "a"});
  CHECK(paths[2] == std::vector<Argument>{1, 3, 0});
  Argument::Dict dict;
  dict.items.push_back({"a", 11});
  dict.items.push_back({3, Argument::List{{12}}});
  CHECK(spec.unflatten(std::vector<Argument>{10, 11, 12}) == Argument(Argument::Tuple{{10, dict}}));

  // Types that name their fields are dicts, others are tuples.
  const auto type_of = [&](const std::string& type, const std::string& context) {
    return TreeSpec::parse(R"([1, {"type": ")" + type + R"(", "context": )" + context +
                               R"(, "children_spec": [)" + leaf + "]}]",
                           "it")
        .kind;
  };
  CHECK(type_of("transformers.ModelOutput", R"("[\"logits\"]")") == TreeSpec::Kind::kDict);
  CHECK(type_of("my.Dataclass", R"("[[\"u\"], [\"none\"]]")") == TreeSpec::Kind::kDict);
  CHECK(type_of("collections.defaultdict", R"({"dict_context": ["q"]})") == TreeSpec::Kind::kDict);
  CHECK(type_of("collections.namedtuple", R"("P")") == TreeSpec::Kind::kTuple);
  const auto named = TreeSpec::parse(
      R"([1, {"type": "collections.namedtuple", "context": "p.P", "children_spec": [)" + leaf + "]}]", "it",
      {{"p.P", {"a"}}, {"p.Q", {"a", "b"}}});
  REQUIRE(named.names != nullptr);
  CHECK(print_argument(named.unflatten(std::vector<Argument>{1})) == R"(namedtuple("p.P", a=1))");
  CHECK(named.paths()[0] == std::vector<Argument>{0});
  CHECK(type_of("my.Unknown", R"("[1, 2, 3]")") == TreeSpec::Kind::kTuple);
  CHECK(type_of("collections.deque", R"("null")") == TreeSpec::Kind::kList);
  CHECK_THROWS_AS(TreeSpec::parse("[1]", "it"), Error);
  CHECK_THROWS_AS(TreeSpec::parse("no", "it"), Error);
}

TEST_CASE("stack trace: frames", "[exported]") {
  const std::string trace =
      "File \"net.py\", line 20, in forward\n    y = self.a(x)\n"
      "  File \"net.py\", line 11, in forward\n    return helper(x)\n"
      "  File \"net.py\", line 5, in helper\n    return x + 1\n";
  const auto inner = innermost_frame(trace);
  REQUIRE(inner);
  CHECK(*inner == SourceLocation{"net.py", 5, "helper", "return x + 1"});
  const auto caller = calling_frame(trace, 1, 2);
  REQUIRE(caller);
  CHECK(*caller == SourceLocation{"net.py", 20, "forward", "y = self.a(x)"});
  CHECK_FALSE(calling_frame(trace, 1, 3));
  CHECK_FALSE(innermost_frame("no frames"));
  CHECK_FALSE(innermost_frame("File \"x"));

  const auto user =
      innermost_frame(trace + "  File \"<eval_with_key>.6\", line 6, in forward\n    sin = f(x)\n");
  REQUIRE(user);
  CHECK(user->line == 5);
  // Without the text of the line, as if the source was not available.
  const auto bare = innermost_frame("  File \"a.py\", line 3, in f\n  File \"b.py\", line 4, in g");
  REQUIRE(bare);
  CHECK(*bare == SourceLocation{"b.py", 4, "g", ""});
}

TEST_CASE("hierarchy: calls and shared modules", "[exported]") {
  Hierarchy hierarchy;
  for (const char* path : {"", "a", "a.l", "list", "list.0", "again", "again.l"}) hierarchy.declare(path);
  const auto root = hierarchy.call_of("L__self__,,pkg.Net");
  CHECK(root == std::optional<CallId>(kRootCall));
  const auto first = hierarchy.call_of("L__self__,,pkg.Net;11,a,pkg.Sub;12,a.l,pkg.Linear");
  const auto same = hierarchy.call_of("L__self__,,pkg.Net;11,a,pkg.Sub");
  const auto second = hierarchy.call_of("L__self__,,pkg.Net;11@1,a,pkg.Sub");
  const auto third = hierarchy.call_of("L__self__,,pkg.Net;11@2,again,pkg.Sub");
  REQUIRE((first && same && second && third));
  CHECK(hierarchy.calls()[*first].parent == *same);
  CHECK(*second != *same);
  CHECK(hierarchy.common_call(*first, *second) == kRootCall);
  CHECK(hierarchy.common_call(*first, *same) == *same);
  const std::string empty = "_empty_nn_module_stack_from_metadata_hook";
  CHECK_FALSE(hierarchy.call_of(empty + "," + empty + "," + empty));
  CHECK_THROWS_AS(hierarchy.call_of("nonsense"), Error);
  hierarchy.call_of("L__self__,,pkg.Net;13,getattr(L['s'].list, '0'),pkg.Made[int, (str, float)]");
  hierarchy.finish({{"a.l.weight", 0}, {"again.l.weight", 0}, {"other.buffer", 2}}, {});

  std::vector<std::string> paths;
  for (const auto& module : hierarchy.modules()) paths.push_back(module.path);
  CHECK(paths == std::vector<std::string>{"", "a", "a.l", "list", "list.0", "again", "other"});
  const auto& modules = hierarchy.modules();
  CHECK(modules[0].type == "pkg.Net");
  CHECK(modules[1].type == "pkg.Sub");
  CHECK_FALSE(modules[3].has_forward);
  CHECK(modules[4].type == "pkg.Made[int, (str, float)]");
  REQUIRE(modules[5].alias_of);
  CHECK(modules[5].alias_of->index == 1);
  CHECK(hierarchy.first_name("again.l.weight") == "a.l.weight");
  CHECK(hierarchy.first_name("againx") == "againx");
  CHECK(hierarchy.calls()[*third].module.index == 1);
}

TEST_CASE("hierarchy: a program that is exported again has the model's type", "[exported]") {
  Hierarchy hierarchy;  // after convert_pt2e(): what it added has the exporter's own module as its root
  hierarchy.declare("");
  hierarchy.call_of("L__self__,,torch.export._trace._non_strict_export.<locals>.Wrapper");
  hierarchy.call_of("L__self__L__self__,,pkg.Net;a,a,pkg.Linear");
  hierarchy.call_of("L__self__,,torch.export._trace._non_strict_export.<locals>.Wrapper");
  hierarchy.finish({}, {});
  CHECK(hierarchy.modules()[0].type == "pkg.Net");
}

TEST_CASE("hierarchy: names of one module in non-strict mode", "[exported]") {
  Hierarchy hierarchy;
  for (const char* path : {"", "a", "a.l", "same", "same.l", "other", "other.l"}) hierarchy.declare(path);
  for (const char* stack :
       {"k,,pkg.Net;a,a,pkg.Sub;a.l,a.l,pkg.Linear", "k,,pkg.Net;same,same,pkg.Sub;same.l,same.l,pkg.Linear",
        "k,,pkg.Net;other,other,pkg.Sub;other.l,other.l,pkg.Linear"})
    hierarchy.call_of(stack);
  // The root, then each module and its `l`: `other` does something else with the same weight.
  const auto may_be_one = [](CallId a, CallId b) {
    const std::vector<int> does{0, 1, 2, 1, 2, 3, 2};
    return does[a] == does[b];
  };
  hierarchy.finish({{"a.l.weight", 0}, {"same.l.weight", 0}, {"other.l.weight", 0}}, may_be_one);
  CHECK(hierarchy.first_name("same.l.weight") == "a.l.weight");
  CHECK(hierarchy.first_name("other.gain") == "other.gain");
  CHECK(hierarchy.first_name("other.l.weight") == "a.l.weight");
}

TEST_CASE("hierarchy: names that strict mode never calls", "[exported]") {
  Hierarchy hierarchy;
  for (const char* path :
       {"", "first", "first.l", "called", "called.l", "copy", "copy.l", "tied", "tied.l", "head"})
    hierarchy.declare(path);
  hierarchy.call_of("L__self__,,pkg.Net;11,called,pkg.Sub;12,called.l,pkg.Linear");
  hierarchy.call_of("L__self__,,pkg.Net;13,copy,pkg.Sub;14,copy.l,pkg.Linear");
  // `head` and `tied.l` share the weight of two modules that are called, so each may be either of them or
  // none.
  hierarchy.finish({{"first.l.weight", 0},
                    {"first.gain", 1},
                    {"called.l.weight", 0},
                    {"called.gain", 1},
                    {"copy.l.weight", 0},
                    {"tied.l.weight", 0},
                    {"tied.gain", 2},
                    {"head.weight", 0}},
                   {});
  std::vector<std::string> rows;
  for (const auto& module : hierarchy.modules()) {
    rows.push_back(module.path + ": " + module.type);
    if (module.alias_of) rows.back() += " = " + hierarchy.modules()[module.alias_of->index].path;
  }
  CHECK(rows == std::vector<std::string>{": pkg.Net", "first: pkg.Sub", "first.l: pkg.Linear",
                                         "called: pkg.Sub = first", "copy: pkg.Sub", "copy.l: pkg.Linear",
                                         "tied: ", "tied.l: ", "head: "});
  CHECK(hierarchy.first_name("called.l.weight") == "first.l.weight");
}

namespace {

struct ProgramMaker : ExportedGraph {
  Graph& graph() { return module_graph.graph; }
  NodeId input(const std::string& name, Meta meta) {
    Graph::NodeSpec spec = spec_of(Opcode::kPlaceholder, {});
    spec.name = name;
    spec.meta = std::move(meta);
    return graph().append(std::move(spec));
  }
  NodeId operation(const char* target, std::vector<Argument> args, Meta meta = {}, const char* name = "") {
    Graph::NodeSpec spec = spec_of(Opcode::kCallFunction, target, std::move(args));
    spec.name = name;
    spec.meta = std::move(meta);
    const NodeId made = graph().append(std::move(spec));
    table.at(made).op = find_operator(parse_target(target));
    return made;
  }
  void output(std::vector<Argument> outputs) {
    graph().append(spec_of(Opcode::kOutput, "output", {Argument::Tuple{std::move(outputs)}}));
  }
};

// Returns the metadata of a tensor [size, 4], or of a number or condition of that value.
Meta meta_of(const char* type, const char* size) {
  Meta meta;
  meta.type = type;
  if (std::string(type) == "Tensor")
    meta.shape = {Expression::parse(size), 4};
  else
    meta.value = Expression::parse(size);
  return meta;
}

// Operations as "target uses -> makes @ call", in a few letters each; call 0 is not a leaf, "-" is no module
// at all.
struct Line {
  const char* target;
  std::vector<std::uint32_t> uses;
  std::uint32_t makes;
  std::optional<CallId> leaf;
  bool has_stack = true;
};

std::vector<std::vector<std::uint32_t>> scheduled(const std::vector<Line>& lines) {
  ProgramMaker program;
  std::map<std::uint32_t, NodeId> values;
  for (const std::uint32_t input : {0U, 5U}) values[input] = program.input("", {});
  std::map<NodeId, std::uint32_t> places;
  for (const Line& line : lines) {
    std::vector<Argument> args;
    for (const auto value : line.uses) args.emplace_back(values.at(value));
    const NodeId made = program.operation(line.target, std::move(args));
    program.table.at(made).has_stack = line.has_stack;
    values[line.makes] = made;
    places.emplace(made, places.size());
  }
  const auto steps =
      schedule(program.view(), [&](NodeId operation) { return lines[places.at(operation)].leaf; });
  std::vector<std::vector<std::uint32_t>> result;
  for (const Step& step : steps) {
    result.emplace_back();
    for (const NodeId operation : step.operations) result.back().push_back(places.at(operation));
  }
  return result;
}

using Steps = std::vector<std::vector<std::uint32_t>>;
constexpr const char* kAdd = "aten.add.Tensor";

}  // namespace

TEST_CASE("schedule: what stands together is one step", "[exported]") {
  CHECK(scheduled({{kAdd, {0}, 1, {}}, {kAdd, {1}, 2, 1}, {kAdd, {2}, 3, 1}, {kAdd, {3}, 4, 2}}) ==
        Steps{{0}, {1, 2}, {3}});
}

TEST_CASE("schedule: what stands between goes before or behind", "[exported]") {
  // 1 goes before the call, unless it needs the call.
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {kAdd, {0}, 2, {}}, {kAdd, {1, 2}, 3, 1}}) == Steps{{1}, {0, 2}});
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {kAdd, {1}, 2, {}}, {kAdd, {1}, 3, 1}}) == Steps{{0, 2}, {1}});
  // An operation behind the call holds back the operations that need it.
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {kAdd, {1}, 2, {}}, {kAdd, {2}, 4, {}}, {kAdd, {1}, 3, 1}}) ==
        Steps{{0, 3}, {1}, {2}});
  // Two calls whose operations alternate.
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {kAdd, {0}, 2, 2}, {kAdd, {1}, 3, 1}, {kAdd, {2}, 4, 2}}) ==
        Steps{{0, 2}, {1, 3}});
}

TEST_CASE("schedule: a call that would need itself is split", "[exported]") {
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {kAdd, {1}, 2, {}}, {kAdd, {2}, 3, 1}}) == Steps{{0}, {1}, {2}});
  // They depend on each other through another call.
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {kAdd, {1}, 2, 2}, {kAdd, {2}, 3, 1}, {kAdd, {3}, 4, 2}}) ==
        Steps{{0}, {1}, {2}, {3}});
}

TEST_CASE("schedule: what belongs to no module joins a call that it needs", "[exported]") {
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {"aten.sym_size.int", {1}, 2, {}, false}, {kAdd, {2}, 3, 1}}) ==
        Steps{{0, 1, 2}});
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {"aten.sym_size.int", {0}, 2, {}, false}, {kAdd, {2}, 3, 1}}) ==
        Steps{{1}, {0, 2}});
}

TEST_CASE("schedule: effects keep their order", "[exported]") {
  const char* change = "aten.add_.Tensor";
  const char* random = "aten.dropout.default";
  const char* custom = "my.op.default";
  // The foreign operation reads or changes a value that the call changes.
  CHECK(scheduled({{change, {0}, 1, 1}, {kAdd, {0}, 2, {}}, {kAdd, {1}, 3, 1}}) == Steps{{0, 2}, {1}});
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {change, {5}, 2, {}}, {kAdd, {1}, 3, 1}}) == Steps{{0}, {1}, {2}});
  CHECK(scheduled({{random, {0}, 1, 1}, {random, {5}, 2, {}}, {random, {1}, 3, 1}}) == Steps{{0}, {1}, {2}});
  CHECK(scheduled({{random, {0}, 1, 1}, {kAdd, {5}, 2, {}}, {random, {1}, 3, 1}}) == Steps{{1}, {0, 2}});
  CHECK(scheduled({{kAdd, {0}, 1, 1}, {custom, {5}, 2, {}}, {kAdd, {1}, 3, 1}}) == Steps{{0}, {1}, {2}});
}

namespace {

// f(x: [s0, 4], n: s1) with count = item(x): u0, asserts over it, and a subgraph that has these sizes too.
ProgramMaker sized_program() {
  ProgramMaker program;
  program.input("x", meta_of("Tensor", "s0"));                                  // 0
  program.input("n", meta_of("int", "s1"));                                     // 1
  program.operation("aten.item.default", {}, meta_of("int", "u0"));             // 2
  program.operation("operator.add", {}, meta_of("int", "2*s0 + 1"));            // 3
  program.operation("operator.ge", {}, meta_of("bool", "u0 >= 1"));             // 4
  program.operation("operator.le", {}, meta_of("bool", "u0 <= s0"));            // 5
  program.operation("aten.relu.default", {}, meta_of("Tensor", "Max(1, s0)"));  // 6
  program.operation("operator.truediv", {}, meta_of("float", "s0/2"));          // 7
  for (const std::uint32_t condition : {4U, 5U})
    program.operation("aten._assert_scalar.default", {NodeId{condition}, "no"});
  program.operation("aten.sym_constrain_range_for_size.default", {NodeId{2}});  // 10
  ProgramMaker body;
  body.input("size", meta_of("int", "s0*s1"));
  program.module_graph.subgraphs.add({"true_graph_0", std::move(body.module_graph)});
  program.table.subgraphs["true_graph_0"] = std::move(body.table);
  program.operation("higher_order.cond", {Argument::GraphRef{"true_graph_0"}});
  return program;
}

struct Narrowed {
  ProgramMaker program = sized_program();
  std::vector<std::string> guards;
  std::string error;

  explicit Narrowed(const std::vector<DimensionRange>& ranges, const std::vector<ConcreteArg>& concrete = {},
                    const InputSizes& inputs = {}) {
    const std::vector<RangeConstraint> constraints{{Expression::parse("s0"), {2, 64}},
                                                   {Expression::parse("2*s0"), {4, 128}},
                                                   {Expression::parse("u0"), {1, std::nullopt}}};
    GraphSignature signature;
    for (const char* name : {"x", "n"}) {
      signature.inputs.emplace_back();
      signature.inputs.back().name = name;
    }
    TraceOptions options;
    options.dimensions = ranges;
    options.concrete = concrete;
    ProgramDimensions dimensions(constraints, program.view());
    try {
      dimensions.narrow(options, program.view(), signature);
      dimensions.apply(program);
    } catch (const Error& failed) {
      CHECK(failed.kind() == ErrorKind::kUsage);
      error = failed.what();
      for (const auto& hint : failed.hints()) error += "; " + hint;
    }
    for (const Expression& guard : dimensions.guards(inputs)) guards.push_back(guard.text());
  }
  const Meta& meta(std::uint32_t value) const { return program.view().meta(NodeId{value}); }
  std::string size(std::uint32_t value) const { return meta(value).shape->at(0).text(); }
  std::string value(std::uint32_t value) const { return meta(value).value->text(); }
  std::string size_in_body() const {
    return program.view().find_subgraph("true_graph_0")->meta(NodeId{0}).value->text();
  }
  std::optional<Argument> fixed(std::uint32_t value) const {
    const Argument* known = program.view().find_fixed(NodeId{value});
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
  bool range_holds() const { return program.view().facts(NodeId{10}).holds; }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("program dimensions: nothing is asked, nothing changes", "[exported]") {
  const Narrowed narrowed({});
  CHECK(narrowed.guards == Texts{"2 <= s0 <= 64", "4 <= s0*2 <= 128", "u0 >= 1"});
  CHECK(narrowed.value(3) == "s0*2+1");
  CHECK(narrowed.size(6) == "max(1,s0)");
  CHECK(narrowed.program.table.fixed.empty());
}

TEST_CASE("program dimensions: a range is said of a size where none is the dimension alone", "[exported]") {
  const auto guards = [](const char* size, const std::vector<DimensionRange>& ranges = {}) {
    Meta meta;
    meta.type = "Tensor";
    meta.shape = std::vector<Expression>{Expression::parse(size)};
    InputSizes inputs;
    inputs.add("x", meta);
    return Narrowed(ranges, {}, inputs).guards;
  };
  CHECK(guards("s0") == Texts{"2 <= s0 <= 64", "4 <= s0*2 <= 128", "u0 >= 1"});
  CHECK(guards("2*s0 + 1") == Texts{"5 <= x.size(0) <= 129", "u0 >= 1"});
  CHECK(guards("2*s0", {{"s0", 8, {}}}) == Texts{"16 <= x.size(0) <= 128", "u0 >= 1"});
  CHECK(guards("70 - s0") == Texts{"6 <= x.size(0) <= 68", "u0 >= 1"});
  CHECK(guards("s0*s0") == Texts{"2 <= s0 <= 64", "4 <= s0*2 <= 128", "u0 >= 1"});
}

TEST_CASE("program dimensions: a narrower range", "[exported]") {
  const Narrowed narrowed({{"s0", 8, 100}, {"s0", {}, 16}});
  CHECK(narrowed.guards == Texts{"8 <= s0 <= 16", "16 <= s0*2 <= 32", "u0 >= 1"});
  CHECK(narrowed.size(0) == "s0");
  CHECK(narrowed.size(6) == "s0");  // max(1, s0)
  CHECK(narrowed.value(3) == "s0*2+1");
  // The program gets the range of u0 from the asserts themselves.
  CHECK_FALSE(narrowed.fixed(4));
  CHECK_FALSE(narrowed.fixed(5));
  CHECK_FALSE(narrowed.range_holds());
}

TEST_CASE("program dimensions: one value", "[exported]") {
  const Narrowed narrowed({{"s0", 5, 5}});
  CHECK(narrowed.guards == Texts{"s0 == 5", "u0 >= 1"});
  CHECK(narrowed.size(0) == "5");
  CHECK(narrowed.fixed(3) == Argument(11));
  CHECK(narrowed.value(5) == "u0 <= 5");
  CHECK(narrowed.value(7) == "5/2");
  CHECK_FALSE(narrowed.fixed(7));
  CHECK(narrowed.size_in_body() == "s1*5");
}

TEST_CASE("program dimensions: asserts that what is asked for decides", "[exported]") {
  const Narrowed narrowed({{"u0", 1, 2}});
  CHECK(narrowed.guards == Texts{"2 <= s0 <= 64", "4 <= s0*2 <= 128", "1 <= u0 <= 2"});
  CHECK(narrowed.fixed(4) == Argument(true));
  CHECK(narrowed.fixed(5) == Argument(true));  // s0 is at least 2
  CHECK(narrowed.range_holds());
  CHECK_FALSE(narrowed.fixed(2));
  CHECK(Narrowed({{"u0", 9, {}}, {"s0", {}, 8}}).error ==
        "the program asserts u0 <= s0, which can no longer hold; with the given options the dimensions are "
        "s0 (2..8), s1, u0 (9..)");
}

TEST_CASE("program dimensions: a concrete integer is a dimension with one value", "[exported]") {
  const Narrowed narrowed({}, {{"n", 3}});
  CHECK(narrowed.guards == Texts{"2 <= s0 <= 64", "4 <= s0*2 <= 128", "u0 >= 1", "s1 == 3"});
  CHECK(narrowed.fixed(1) == Argument(3));
  CHECK(narrowed.size_in_body() == "s0*3");
}

TEST_CASE("program dimensions: errors", "[exported]") {
  CHECK(Narrowed({{"s7", 5, 5}}).error ==
        "--dim s7=5: no dimension 's7', did you mean 's0'?; the dimensions are s0 (2..64), s1, "
        "u0 (1..)");
  CHECK_THAT(Narrowed({{"s0", 70, {}}}).error,
             ContainsSubstring("--dim s0=70..: does not overlap with 2..64, the range of s0"));
  CHECK_THAT(Narrowed({{"s1", 2, 4}}, {{"n", 5}}).error,
             ContainsSubstring("--concrete n=5: does not overlap with 2..4, the range of s1"));
}

namespace {

// A model of modules whose attributes are derived, each with operations on a tensor [2, 4, s0, 9].
class ModelOfLeaves {
 public:
  ModelOfLeaves() {
    Meta meta;
    meta.type = "Tensor";
    meta.shape = {2, 4, Expression::parse("s0"), 9};
    program_.input("x", meta);
    program_.input("size", meta_of("int", "s0"));
    program_.table.fixed.emplace(program_.input("known", meta_of("int", "s0")).index, 3);
  }

  void call(const std::string& path, const std::string& type, const char* target, std::vector<Argument> args,
            Kwargs kwargs = {}) {
    stacks_.push_back("L__self__,,pkg.Net;" + path + "," + path + "," + type);
    args.insert(args.begin(), kTensor);
    const NodeId operation = program_.operation(target, {});
    program_.graph().set_args(operation, std::move(args), std::move(kwargs));
    program_.table.at(operation).call = *hierarchy_.call_of(stacks_.back());
    program_.table.at(operation).has_stack = true;
  }
  void parameter(const std::string& name, std::vector<std::int64_t> shape) {
    parameters_.push_back({name, ParameterKind::kParameter, std::move(shape), "float32", {}, {}});
  }

  // Returns "name=value" for the module's attribute.
  std::vector<std::string> attributes(const std::string& path) {
    std::vector<Hierarchy::NamedTensor> names;
    for (std::size_t i = 0; i < parameters_.size(); ++i) names.push_back({parameters_[i].name, i});
    hierarchy_.finish(names, {});
    const ModuleId module = hierarchy_.find_module(path).value();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].name.starts_with(path + "."))
        hierarchy_.modules()[module.index].parameters.push_back(i);
    }
    std::vector<std::string> rows;
    const auto all = attributes_of_modules(program_.view(), hierarchy_, parameters_);
    for (const auto& [name, value] : all[module.index])
      rows.push_back(name + "=" + print_argument(Graph(), value));
    return rows;
  }

  static constexpr NodeId kTensor{0}, kSize{1}, kKnown{2};

 private:
  std::list<std::string> stacks_;  // the hierarchy points into them
  Hierarchy hierarchy_;
  ProgramMaker program_;
  std::vector<ParameterRecord> parameters_;
};

using Rows = std::vector<std::string>;
constexpr const char* kPool = "torch.nn.modules.pooling.MaxPool2d";
constexpr const char* kConv = "torch.nn.modules.conv.Conv2d";

Argument numbers(std::vector<Argument> items) { return Argument::List{std::move(items)}; }

}  // namespace

TEST_CASE("leaf attributes: arguments and their defaults", "[exported]") {
  ModelOfLeaves model;
  model.call("pool", kPool, "aten.max_pool2d.default", {numbers({3, 2}), numbers({2})},
             {{"padding", numbers({ModelOfLeaves::kKnown, 0})}});
  CHECK(model.attributes("pool") ==
        Rows{"kernel_size=[3, 2]", "stride=[2, 2]", "padding=[3, 0]", "dilation=[1, 1]", "ceil_mode=False"});
}

TEST_CASE("leaf attributes: what varies or disagrees is left out", "[exported]") {
  ModelOfLeaves model;
  model.call("pool", kPool, "aten.max_pool2d.default", {numbers({3, 2}), numbers({ModelOfLeaves::kSize, 2})});
  model.call("pool", kPool, "aten.max_pool2d_with_indices.default",
             {numbers({3, 2}), numbers({}), numbers({1, 1})});
  CHECK(model.attributes("pool") == Rows{"kernel_size=[3, 2]", "dilation=[1, 1]", "ceil_mode=False"});
}

TEST_CASE("leaf attributes: only of classes of torch.nn", "[exported]") {
  ModelOfLeaves model;
  model.call("own", "pkg.MaxPool2d", "aten.max_pool2d.default", {numbers({3, 2})});
  CHECK(model.attributes("own").empty());
}

TEST_CASE("leaf attributes: a size that is the input's may be None", "[exported]") {
  for (const int height : {1, 3}) {
    ModelOfLeaves model;  // s0 has no range
    model.call("pool", "torch.nn.modules.pooling.AdaptiveAvgPool2d", "aten.adaptive_avg_pool2d.default",
               {numbers({height, 5})});
    CHECK(model.attributes("pool").empty());
  }
  ModelOfLeaves model;
  model.call("pool", "torch.nn.modules.pooling.AdaptiveAvgPool1d", "aten.adaptive_avg_pool1d.default",
             {numbers({9})});
  CHECK(model.attributes("pool") == Rows{"output_size=[9]"});
}

TEST_CASE("leaf attributes: convolutions that are none", "[exported]") {
  const auto convolution = [](std::vector<std::int64_t> weight, std::vector<Argument> rest) {
    ModelOfLeaves model;
    model.parameter("conv.weight", std::move(weight));
    std::vector<Argument> args{ModelOfLeaves::kTensor, Argument::None{}};
    args.insert(args.end(), rest.begin(), rest.end());
    model.call("conv", kConv, "aten.conv2d.default", std::move(args));
    return model.attributes("conv");
  };
  const Rows usual{"in_channels=4",  "out_channels=6",  "kernel_size=[3, 2]", "stride=[1, 1]",
                   "padding=[0, 0]", "dilation=[1, 1]", "transposed=False",   "groups=2"};
  const Argument one = numbers({1, 1});
  CHECK(convolution({6, 2, 3, 2}, {one, numbers({0, 0}), one, 2}) == usual);
  const Rows rest(usual.begin() + 3, usual.end());
  CHECK(convolution({6, 2, 3}, {one, numbers({0, 0}), one, 2}) == rest);
  CHECK(convolution({6, 2, 3, 2}, {"\x01", 3.5, one, Argument::None{}}) ==
        Rows{"dilation=[1, 1]", "transposed=False"});
  CHECK(convolution({1, INT64_MAX, 3, 2}, {one, one, one, 2}) == Rows{"kernel_size=[3, 2]", "stride=[1, 1]",
                                                                      "padding=[1, 1]", "dilation=[1, 1]",
                                                                      "transposed=False", "groups=2"});
  CHECK(convolution({6, 2, 3, 2}, {one, one, one, 0}) ==
        Rows{"stride=[1, 1]", "padding=[1, 1]", "dilation=[1, 1]", "transposed=False"});
}

namespace {

// Returns the first dimension of an input that has a name; empty when there is none.
std::string first_dimension(const GraphCollection& collection) {
  const Graph& graph = collection.graphs.front().graph;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Opcode::kPlaceholder || !node.meta->shape) continue;
    for (const Expression& size : *node.meta->shape) {
      if (size.size() != nullptr && size.size()->symbol_name()) return *size.size()->symbol_name();
    }
  }
  return "";
}

}  // namespace

TEST_CASE("exported: a trace with other options leaves nothing behind", "[exported]") {
  const auto json = [](const TraceResult& result) {
    std::ostringstream text;
    write_json(result.collection, text);
    return text.str();
  };
  std::size_t narrowed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FXTRACE_SOURCE_DIR "/sample_models")) {
    if (entry.path().extension() != ".pt2") continue;
    INFO(entry.path());
    const std::string path = entry.path().string();
    const FileInfo info = identify_file(path);
    if (ExportedArchive(info).models().size() != 1) continue;
    const ExportedProgram program(info, std::nullopt);
    const TraceResult first = trace(program, {});
    const std::string name = first_dimension(first.collection);
    if (name.empty()) continue;
    TraceOptions options;
    options.default_leaves = false;
    options.dimensions.push_back({name, 4, 6});
    const std::string with_options = json(trace(program, options));
    CHECK(with_options != json(first));
    CHECK(json(trace(program, {})) == json(first));
    CHECK(json(trace(ExportedProgram(info, std::nullopt), options)) == with_options);
    ++narrowed;
  }
  CHECK(narrowed >= 3);
}

// a: x[s0, 4] -> n = size(x, 0), m = n*8, y[s0, 4];  b: y -> k = m*2, z[s0*16];  n is used behind both, and u
// is an input.
TEST_CASE("sizes are computed on either side of a leaf's boundary", "[exported]") {
  ProgramMaker program;
  std::vector<NodeId> operations;
  const auto operation = [&](const char* name, const char* target, std::vector<Argument> args, Meta meta,
                             CallId call) {
    const NodeId id = program.operation(target, std::move(args), std::move(meta), name);
    program.table.at(id).call = call;
    program.table.at(id).has_stack = true;
    operations.push_back(id);
    return id;
  };
  const NodeId x = program.input("x", meta_of("Tensor", "s0")), u = program.input("u", meta_of("int", "s1"));
  const NodeId n = operation("n", "aten.sym_size.int", {x, 0}, meta_of("int", "s0"), 1);
  const NodeId m = operation("m", "operator.mul", {n, 8}, meta_of("int", "8*s0"), 1);
  const NodeId p = operation("p", "operator.add", {u, 1}, meta_of("int", "s1+1"), 1);
  const NodeId y =
      operation("y", "aten.view.default", {x, Argument::List{{m, p}}}, meta_of("Tensor", "s0"), 1);
  const NodeId k = operation("k", "operator.mul", {m, p}, meta_of("int", "8*s0*(s1+1)"), 2);
  const NodeId z =
      operation("z", "aten.view.default", {y, Argument::List{{k}}}, meta_of("Tensor", "16*s0"), 2);
  program.output({z, n, p});
  const ProgramView graph = program.view();
  const auto uses = count_uses(graph);
  const LocalSizes sizes(graph, graph);
  const auto settled = [&](const std::vector<std::size_t>& places, CallId callers) {
    std::vector<NodeId> inside;
    for (const std::size_t place : places) inside.push_back(operations[place]);
    const Boundary boundary = sizes.settle(
        inside, [&](const auto& own) { return boundary_of(graph, own, uses, [](NodeId) { return false; }); },
        [&](NodeId each) { return graph.facts(each).call == callers; });
    std::string text;
    for (const NodeId each : boundary.entering) text += graph.value_name(each) + " ";
    text += "->";
    for (const NodeId each : boundary.leaving) text += " " + graph.value_name(each);
    text += ":";
    for (const NodeId each : inside)
      text += " " + std::to_string(std::ranges::find(operations, each) - operations.begin());
    return text;
  };
  CHECK(settled({0, 1, 2, 3}, 0) == "x u -> y: 0 1 2 3");  // n, m and p are computed once more outside
  CHECK(settled({4, 5}, 0) == "u y -> z: 2 4 5");  // m follows from y; p, which a has computed, from u
  CHECK(settled({4, 5}, 1) == "p y -> z: 4 5");    // the caller has computed p
}
