// Costs of graphs: nodes as text, and behind each its cost.
#include "costs/graph_costs.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "costs/cost_log.h"
#include "costs/custom_costs.h"
#include "graph/analysis/collection_summary.h"
#include "support/error.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

std::string to_text(const std::optional<SymInt>& amount) { return amount ? amount->text() : "?"; }

// Returns a cost as text: "24 macs, 32 bytes", "peak 96", "80 of parameters", "aten.x.default", "1 unsized".
std::string to_text(const Cost& cost) {
  std::string text = to_text(cost.macs) + " macs, " + to_text(cost.activation_bytes) + " bytes";
  if (cost.uncounted_macs) text += ", " + cost.uncounted_macs->text() + " not counted";
  if (cost.peak_bytes) text += ", peak " + cost.peak_bytes->text();
  if (cost.parameter_bytes != 0) text += ", " + std::to_string(cost.parameter_bytes) + " of parameters";
  for (const auto& [name, count] : cost.unknown)
    text += ", " + name + (count == 1 ? "" : " (" + std::to_string(count) + ")");
  if (cost.unsized != 0) text += ", " + std::to_string(cost.unsized) + " unsized";
  return text;
}

struct Model {
  GraphCollection collection;

  explicit Model(const char* text) { add_graph(text); }

  ModuleGraph& add_graph(const char* text) {
    ModuleGraph graph;
    graph.graph = parse_graph(text);
    collection.graphs.push_back(std::move(graph));
    return collection.graphs.back();
  }
  Model& subgraph(const char* name, const char* text) {
    ModuleGraph graph;
    graph.graph = parse_graph(text);
    collection.graphs[0].subgraphs.add({name, std::move(graph)});
    return *this;
  }
  // The nodes in pre-order.
  Model& modules(std::initializer_list<const char*> paths) {
    for (const char* path : paths) collection.modules.emplace_back().path = path;
    return *this;
  }
  Model& parameter(const char* name, std::vector<std::int64_t> shape, const char* same_as = nullptr) {
    ParameterRecord record;
    record.name = name;
    record.shape = std::move(shape);
    record.dtype = "float32";
    if (same_as != nullptr) record.alias_of = same_as;
    collection.parameters.push_back(std::move(record));
    return *this;
  }
  // Facts that the recorder of the node knows.
  Model& inside(const std::string& node, Cost cost) {
    Graph& graph = collection.graphs[0].graph;
    for (const NodeId id : graph.order()) {
      if (graph.node(id).name == node) graph.set_cost(id, cost);
    }
    return *this;
  }

  // Returns "name: cost" of every node that has a cost, and of the whole graph.
  std::string costs() {
    add_costs(collection);
    std::string text;
    const ModuleGraph& graph = collection.graphs[0];
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (*node.cost) text += node.name + ": " + to_text(**node.cost) + "\n";
    }
    return text + "all: " + to_text(graph.cost.value()) + "\n";
  }
};

Cost known(SymInt macs, SymInt bytes, SymInt peak) {
  Cost cost;
  cost.macs = std::move(macs);
  cost.activation_bytes = std::move(bytes);
  cost.peak_bytes = std::move(peak);
  return cost;
}

}  // namespace

TEST_CASE("costs: a layer, a ReLU in place, a view", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[2, 3]
    %w = get_attr[w]() -> float32[4, 3]
    %b = get_attr[b]() -> float32[4]
    %linear = call_function[aten.linear.default](%x, %w, %b) -> float32[2, 4]
    %relu_ = call_function[aten.relu_.default](%linear) -> float32[2, 4]
    %view = call_function[aten.view.default](%relu_, [8]) -> float32[8]
    %sum_1 = call_function[aten.sum.default](%view) -> float32[]
    %output = output[output](%sum_1))");
  model.parameter("w", {4, 3}).parameter("b", {4});
  CHECK(model.costs() ==
        "linear: 24 macs, 32 bytes, 64 of parameters\n"
        "sum_1: 0 macs, 4 bytes\n"
        "all: 24 macs, 36 bytes, peak 60, 64 of parameters\n");
}

TEST_CASE("costs: memory is held from the call that makes it to the last that uses it", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[10]
    %exp = call_function[aten.exp.default](%x) -> float32[10]
    %sin = call_function[aten.sin.default](%exp) -> float32[10]
    %cos = call_function[aten.cos.default](%sin) -> float32[10]
    %add = call_function[aten.add.Tensor](%cos, %exp) -> float32[10]
    %neg = call_function[aten.neg.default](%add) -> float32[10]
    %unused = call_function[aten.sin.default](%neg) -> float32[10]
    %output = output[output](%neg))");
  // x, exp, sin and cos are alive at one time; then x, exp, cos and add.
  CHECK(model.costs().ends_with("all: 0 macs, 240 bytes, peak 160\n"));
}

TEST_CASE("costs: the timeline of memory, and the tensors at its peak", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[10]
    %exp = call_function[aten.exp.default](%x) -> float32[10]
    %sin = call_function[aten.sin.default](%exp) -> float32[5]
    %view = call_function[aten.view.default](%sin, [5]) -> float32[5]
    %block = call_module[block](%view, %exp) -> float32[20]  # block
    %output = output[output](%block))");
  model.modules({"", "block"}).inside("block", known(0, 100, 90));
  add_costs(model.collection);
  const auto timeline = find_timeline(model.collection);
  REQUIRE(timeline);
  std::string steps, tensors;
  for (const MemoryTimeline::Step& step : timeline->steps)
    steps += step.node + " " + std::to_string(step.allocated) + " " + std::to_string(step.live) + " " +
             std::to_string(step.kept) + "\n";
  CHECK(steps ==
        " 40 40 40\n"
        "exp 40 80 80\n"
        "sin 20 100 100\n"
        "view 0 100 100\n"
        // what the block makes, and of that what is live at its own peak
        "block 100 190 120\n");
  CHECK(model.collection.graphs[0].cost->peak_bytes == SymInt(190));
  CHECK(timeline->peak == 4);
  for (const MemoryTimeline::Tensor& tensor : timeline->tensors)
    tensors += tensor.node + (tensor.is_inside ? " inside " : " ") + std::to_string(tensor.bytes) + " " +
               std::to_string(tensor.made) + "-" + std::to_string(tensor.last_use) + "\n";
  CHECK(tensors == "block 80 4-4\nx 40 0-4\nexp 40 1-4\nsin 20 2-4\nblock inside 10 4-4\n");
  Model unknown(
      "%x = placeholder[x]() -> float32[n]\n%exp = call_function[aten.exp.default](%x) -> float32[n]");
  add_costs(unknown.collection);
  CHECK_FALSE(find_timeline(unknown.collection));
}

TEST_CASE("costs: views keep what they look at", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[4, 10]
    %exp = call_function[aten.exp.default](%x) -> float32[4, 10]
    %split = call_function[aten.split.Tensor](%exp, 2)
    %first = call_function[operator.getitem](%split, 0) -> float32[2, 10]
    %second = call_function[operator.getitem](%split, 1) -> float32[2, 10]
    %sin = call_function[aten.sin.default](%first) -> float32[2, 10]
    %cos = call_function[aten.cos.default](%second) -> float32[2, 10]
    %cat = call_function[aten.cat.default]([%sin, %cos]) -> float32[4, 10]
    %output = output[output](%cat))");
  // x, exp, sin and cos are alive; then x, sin, cos and cat.
  CHECK(model.costs() ==
        "exp: 0 macs, 160 bytes\n"
        "sin: 0 macs, 80 bytes\n"
        "cos: 0 macs, 80 bytes\n"
        "cat: 0 macs, 160 bytes\n"
        "all: 0 macs, 480 bytes, peak 480\n");
}

TEST_CASE("costs: what may be a view is one, where its bytes are the same", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[4]
    %reshape = call_function[aten.reshape.default](%x, [2, 2]) -> float32[2, 2]
    %to = call_function[aten.to.dtype](%reshape, dtype("float16")) -> float16[2, 2]
    %same = call_function[aten.contiguous.default](%to) -> float16[2, 2]
    %output = output[output](%same))");
  CHECK(model.costs() ==
        "to: 0 macs, 8 bytes\n"
        "all: 0 macs, 8 bytes, peak 24\n");
}

TEST_CASE("costs: results that nobody takes take no memory", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[10]
    %topk = call_function[aten.topk.default](%x, 3)
    %values = call_function[operator.getitem](%topk, 0) -> float32[3]
    %output = output[output](%values))");
  CHECK(model.costs() ==
        "topk: 0 macs, 12 bytes\n"
        "all: 0 macs, 12 bytes, peak 52\n");
}

TEST_CASE("costs: expressions of dimensions", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[batch, 8]
    %w = get_attr[w]() -> float32[2, 8]
    %exp = call_function[aten.exp.default](%x) -> float32[batch, 8]
    %linear = call_function[aten.linear.default](%exp, %w) -> float32[batch, 2]
    %gram = call_function[aten.mm.default](%linear, %w) -> float32[batch, 8]
    %square = call_function[aten.matmul.default](%gram, %x) -> float32[batch, batch]
    %output = output[output](%square))");
  // The batch size decides which of both holds more.
  CHECK(model.costs() ==
        "exp: 0 macs, batch*32 bytes\n"
        "linear: batch*16 macs, batch*8 bytes\n"
        "gram: batch*16 macs, batch*32 bytes\n"
        "square: batch**2*8 macs, batch**2*4 bytes\n"
        "all: batch**2*8+batch*32 macs, batch**2*4+batch*72 bytes, peak max(batch**2*4+batch*64,batch*72)\n");
}

TEST_CASE("costs: what is not known is said", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[2, 2]
    %y = placeholder[y]()
    %svd = call_function[aten.linalg_svdvals.default](%x) -> float32[2]
    %mm = call_function[aten.mm.default](%x, %y)
    %sin = call_function[aten.sin.default](%mm)
    %own = call_function[my.op.default](%x) -> float32[2]
    %again = call_function[my.op.default](%own) -> float32[2]
    %call = call_method[run](%x) -> float32[2]
    %output = output[output]([%svd, %sin, %again, %call]))");
  CHECK(model.costs() ==
        "svd: ? macs, 8 bytes, aten.linalg_svdvals.default\n"
        "mm: ? macs, ? bytes, 1 unsized\n"
        "sin: ? macs, ? bytes, 1 unsized\n"
        "own: ? macs, 8 bytes, my.op.default\n"
        "again: ? macs, 8 bytes, my.op.default\n"
        "call: ? macs, 8 bytes, run\n"
        "all: ? macs, 32 bytes, peak 40, aten.linalg_svdvals.default, my.op.default (2), run, 2 unsized\n");
}

TEST_CASE("costs: what torch.utils.flop_counter does not count", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[4, 3]
    %v = placeholder[v]() -> float32[3]
    %mv = call_function[aten.mv.default](%x, %v) -> float32[4]
    %linear = call_function[aten.linear.default](%x, %v) -> float32[4]
    %rows = call_function[aten.linear.default](%v, %x) -> float32[4]
    %matmul = call_function[aten.matmul.default](%x, %v) -> float32[4]
    %dot = call_function[aten.inner.default](%v, %v) -> float32[]
    %inner = call_function[aten.inner.default](%x, %v) -> float32[4]
    %block = call_module[block](%x) -> float32[4, 3]  # block
    %output = output[output](%mv, %linear, %rows, %matmul, %dot, %inner, %block))");
  Cost block = known(30, 48, 48);
  block.uncounted_macs = 10;
  model.modules({"", "block"}).inside("block", block);
  CHECK(model.costs() ==
        "mv: 12 macs, 16 bytes, 12 not counted\n"
        "linear: 12 macs, 16 bytes, 12 not counted\n"
        "rows: 12 macs, 16 bytes\n"
        "matmul: 12 macs, 16 bytes, 12 not counted\n"
        "dot: 3 macs, 4 bytes, 3 not counted\n"
        "inner: 12 macs, 16 bytes\n"
        "block: 30 macs, 48 bytes, 10 not counted\n"
        "all: 93 macs, 132 bytes, 49 not counted, peak 192\n");
}

TEST_CASE("costs: leaves have theirs from whoever saw into them", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[2, 3]
    %block = call_module[block](%x) -> float32[2, 3]  # block
    %act = call_module[act](%block) -> float32[2, 3]  # act
    %kept = call_function[torch.nn.functional.gelu](%act) -> float32[2, 3]
    %closed = call_module[closed](%kept) -> float32[2, 3]  # closed
    %output = output[output](%closed))");
  model.modules({"", "act", "block", "block.inner", "blocks", "closed"})
      .parameter("block.w", {3, 3})
      .parameter("block.inner.w", {5})
      .parameter("other", {100})
      .parameter("blocks.other", {100})
      .parameter("block.tied", {3, 3}, "block.w")
      .inside("block", known(18, 100, 64))
      .inside("act", known(0, 0, 0))
      .inside("kept", known(0, 24, 24));
  CHECK(model.costs() ==
        "block: 18 macs, 100 bytes, peak 64, 56 of parameters\n"
        "kept: 0 macs, 24 bytes\n"
        "closed: ? macs, ? bytes, 1 unsized\n"
        // x and the values that the block holds
        "all: 18 macs, 148 bytes, peak 88, 56 of parameters, 1 unsized\n");
  // A second run gives the same.
  const std::string again = model.costs();
  CHECK(again.find("block: 18 macs, 100 bytes, peak 64, 56 of parameters\n") == 0);
}

TEST_CASE("costs: parameters belong to the innermost module that is listed", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[2]
    %a = call_module[a](%x) -> float32[2]  # a
    %dotted = call_module[a\.b](%a) -> float32[2]  # a\.b
    %deep = call_module[a.c](%dotted) -> float32[2]  # a.c
    %whole = call_module[](%deep) -> float32[2]
    %output = output[output](%whole))");
  model.modules({"", "a", "a.c", "a\\.b"})
      .parameter("buffer", {1})
      .parameter("a.w", {2})
      .parameter("a.unlisted.w", {4})
      .parameter("a.c.un.listed.w", {8})
      .parameter("a\\.b.w", {16})
      .parameter("a.name\\.with\\.dots", {32});
  for (const char* node : {"a", "dotted", "deep", "whole"}) model.inside(node, known(1, 0, 0));
  CHECK(model.costs() ==
        "a: 1 macs, 0 bytes, 184 of parameters\n"
        "dotted: 1 macs, 0 bytes, 64 of parameters\n"
        "deep: 1 macs, 0 bytes, 32 of parameters\n"
        "whole: 1 macs, 0 bytes, 252 of parameters\n"
        "all: 4 macs, 0 bytes, peak 8, 252 of parameters\n");
}

TEST_CASE("costs: control flow", "[costs]") {
  const char* const narrow = R"(
    %x = placeholder[x]() -> float32[4, 4]
    %sin = call_function[aten.sin.default](%x) -> float32[4, 4]
    %output = output[output]((%sin,)))";
  const char* const wide = R"(
    %x = placeholder[x]() -> float32[4, 4]
    %mm = call_function[aten.mm.default](%x, %x) -> float32[4, 4]
    %mm_1 = call_function[aten.mm.default](%mm, %x) -> float32[4, 4]
    %output = output[output]((%mm_1,)))";
  SECTION("cond counts its dearer branch") {
    Model model(R"(
      %p = placeholder[p]() -> bool[]
      %x = placeholder[x]() -> float32[4, 4]
      %cond = call_function[higher_order.cond](%p, graph("true_graph_0"), graph("false_graph_0"), [%x])
      %getitem = call_function[operator.getitem](%cond, 0) -> float32[4, 4]
      %output = output[output](%getitem))");
    model.subgraph("true_graph_0", narrow).subgraph("false_graph_0", wide);
    CHECK(model.costs() ==
          "cond: 128 macs, 128 bytes\n"
          "all: 128 macs, 128 bytes, peak 193\n");
  }
  SECTION("a loop of known length counts all its turns") {
    Model model(R"(
      %x = placeholder[x]() -> float32[n, 4, 4]
      %map_impl = call_function[higher_order.map_impl](graph("body_graph_0"), [%x], [])
      %getitem = call_function[operator.getitem](%map_impl, 0) -> float32[n, 4, 4]
      %output = output[output](%getitem))");
    model.subgraph("body_graph_0", wide);
    CHECK(model.costs().starts_with("map_impl: n*128 macs, n*128 bytes"));
  }
  SECTION("one of unknown length is named") {
    Model model(R"(
      %x = placeholder[x]() -> float32[4, 4]
      %while_loop = call_function[higher_order.while_loop](graph("cond_graph_0"), graph("body_graph_0"), [%x])
      %output = output[output](%while_loop))");
    model.subgraph("cond_graph_0", narrow).subgraph("body_graph_0", wide);
    CHECK(model.costs().starts_with("while_loop: ? macs, ? bytes, higher_order.while_loop\n"));
    CHECK(to_text(model.collection.graphs[0].subgraphs[1].graph.cost.value()) ==
          "128 macs, 128 bytes, peak 128");
  }
  SECTION("a body that is not there") {
    Model model(R"(
      %x = placeholder[x]() -> float32[4, 4]
      %cond = call_function[higher_order.cond](%x, graph("gone"), graph("gone"), [%x])
      %output = output[output](%cond))");
    CHECK(model.costs().starts_with("cond: ? macs, ? bytes, higher_order.cond\n"));
  }
}

TEST_CASE("costs: numbers beyond 64 bits are not known", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[9000000000000000000, 8]
    %exp = call_function[aten.exp.default](%x) -> float32[9000000000000000000, 8]
    %mm = call_function[aten.mm.default](%exp, %x) -> float32[4, 8]
    %many = call_function[operator.getitem](%mm, 9000000000000000000) -> float32[8]
    %output = output[output](%many))");
  CHECK(model.costs() ==
        "exp: ? macs, ? bytes, 1 unsized\n"
        "mm: ? macs, 128 bytes, 1 unsized\n"
        "all: ? macs, 128 bytes, peak 128, 3 unsized\n");
}

TEST_CASE("costs: graphs of a failed module's submodules count where nobody could look into it", "[costs]") {
  const auto of = [](bool is_known) {
    Model model(R"(
      %x = placeholder[x]() -> float32[2, 3]
      %block = call_module[block](%x) -> float32[2, 3]  # block
      %output = output[output](%block))");
    const char* const submodule = R"(
      %x = placeholder[x]() -> float32[2, 3]
      %linear = call_function[aten.linear.default](%x, %x) -> float32[2, 2]
      %output = output[output](%linear))";
    for (const char* path : {"block.layers.0", "block.layers.1"}) {
      model.add_graph(submodule).module = path;
    }
    ModuleRecord failed;
    failed.path = "block";
    failed.type = "pkg.Block";
    failed.status = ModuleStatus::kFailed;
    failed.failure.emplace();
    model.collection.modules = {ModuleRecord{}, failed};
    Cost inside;
    inside.unknown["pkg.Block"] = 1;
    model.inside("block", is_known ? known(24, 48, 48) : inside);
    model.costs();
    return to_text(summarize(model.collection).cost.value());
  };
  CHECK(of(true) == "24 macs, 48 bytes, peak 72");
  CHECK(of(false) == "24 macs, 56 bytes, pkg.Block");
}

TEST_CASE("costs: of two ways the dearer, of turns all", "[costs]") {
  const Cost small = known(3, 8, 8), large = known(5, 4, 4);
  CHECK(dearer(small, large) == large);
  CHECK(dearer(large, small) == large);
  const SymInt n = SymInt::symbol("n");
  CHECK(to_text(dearer(known(n, 8, 8), known(n * 2, 4, 4))) == "n*2 macs, 4 bytes, peak 4");
  CHECK(to_text(dearer(known(n, 8, 8), known(100, 4, 4))) == "max(100,n) macs, 8 bytes, peak 8");
  Cost unknown;
  unknown.unknown["my.op.default"] = 2;
  CHECK(to_text(dearer(unknown, small)) == "3 macs, 8 bytes, peak 8, my.op.default (2)");
  CHECK(to_text(repeated(small, n)) == "n*3 macs, n*8 bytes, peak 8");
  CHECK(to_text(repeated(unknown, 3)) == "? macs, ? bytes, my.op.default (6)");
}

namespace {

Model with_names() {
  Model model(R"(
    %x = placeholder[x]() -> float32[batch, 2*seq+1]
    %n = placeholder[n]() -> float32[batch]
    %exp = call_function[aten.exp.default](%x) -> float32[batch, 2*seq+1]
    %own = call_function[my.op.default](%exp, 3) -> float32[batch, 4]
    %gram = call_function[aten.linear.default](%own, %own) -> float32[batch, batch]
    %output = output[output](%gram))");
  return model;
}

// Returns the error of --at for wrong sizes.
std::string refused(Model model, const char* at) {
  try {
    set_sizes(model.collection, read_given_sizes(at));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

std::string refused_cost(const char* text) {
  try {
    read_custom_cost(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("costs: an operator of the user's own", "[costs]") {
  Model model = with_names();
  CHECK(model.costs().find("own: ? macs, batch*16 bytes, my.op.default") != std::string::npos);
  model.collection.custom_costs = {read_custom_cost("my::op=2*numel(out)*in0.size(-1) + in1 - min(2, 3)")};
  CHECK(model.costs().find("own: batch*seq*16+batch*8+1 macs, batch*16 bytes\n") != std::string::npos);
  // A rule for an overload comes before one for all, the last rule of a name counts, and argument names must
  // exist.
  for (const auto& [text, macs] : {std::pair("my::op.default=7", "7"),
                                   {"my::op=in0.shape[1]//2", "seq"},
                                   {"my::op=len(in0)*out.dim()", "batch*2"}}) {
    model.collection.custom_costs.push_back(read_custom_cost(text));
    CHECK(model.costs().find("own: " + std::string(macs) + " macs") != std::string::npos);
    std::erase_if(model.collection.custom_costs,
                  [](const CustomCost& cost) { return cost.name == "my::op.default"; });
  }
  model.collection.custom_costs = {read_custom_cost("my::op=in5.size(0)")};
  CHECK(model.costs().find("own: ? macs, ? bytes, 1 unsized") != std::string::npos);
  // A custom cost comes before the built-in one.
  model.collection.custom_costs = {read_custom_cost("aten::linear=numel(input)")};
  CHECK(model.costs().find("gram: batch*4 macs") != std::string::npos);
}

TEST_CASE("costs: an expression that has no meaning is refused", "[costs]") {
  CHECK(refused_cost("my::op=nunel(out)") ==
        "--cost my::op: there is no function 'nunel', did you mean 'numel'?");
  CHECK(refused_cost("my::op=in0.sise(0)") ==
        "--cost my::op: there is no method 'sise', did you mean 'size'?");
  CHECK(refused_cost("my::op=numel(out)/2") == "--cost my::op: a cost is an integer: write // for /");
  CHECK(refused_cost("my::op=") != "");
  CHECK(refused_cost("my::op=1.5") != "");
  CHECK(refused_cost("my::op=in0.size()") != "");
  CHECK(refused_cost("op=1") == "--cost: expected NS::OP=EXPR, got 'op=1'");
  CHECK(refused_cost("my::op") == "--cost: expected NS::OP=EXPR, got 'my::op'");
}

TEST_CASE("costs: at sizes, of names or of inputs", "[costs]") {
  const char* const at_sizes =
      "exp: 0 macs, 72 bytes\n"
      "own: 36 macs, 32 bytes\n"
      "gram: 16 macs, 16 bytes\n"
      "all: 52 macs, 120 bytes, peak 184\n";
  for (const char* at : {"batch=2,seq=4", "x=2x9", "x=[2,9]", "n=2,seq=4", "seq=4,n=[2]", "x=2x9,batch=2"}) {
    INFO(at);
    Model model = with_names();
    model.collection.custom_costs = {read_custom_cost("my::op=2*in0.numel()")};
    add_costs(model.collection);
    const auto numbers = set_sizes(model.collection, read_given_sizes(at));
    CHECK(numbers == std::map<std::string, std::int64_t>{{"batch", 2}, {"seq", 4}});
    CHECK(names_of_sizes(model.collection).empty());
    CHECK(model.costs() == at_sizes);
  }
  Model model = with_names();
  set_sizes(model.collection, read_given_sizes("batch=3"));
  CHECK(names_of_sizes(model.collection) == std::vector<std::string>{"seq"});
}

TEST_CASE("costs: sizes that nothing has are refused", "[costs]") {
  CHECK(refused(with_names(), "batsh=1") ==
        "--at: no size and no input is named 'batsh', did you mean 'batch'?");
  CHECK(refused(with_names(), "batch=1,x=2x9") == "--at: a size of x is 1, not 2");
  CHECK(refused(with_names(), "x=2x8") == "--at: x does not determine seq: a size of it is seq*2+1");
  CHECK(refused(with_names(), "x=2") == "--at: x has 2 sizes, not 1: [batch, seq*2+1]");
  CHECK(refused(with_names(), "batch=1x2") == "--at: batch is one size, not 2");
  for (const char* wrong :
       {"", "batch", "batch=", "=1", "batch=-1", "batch=1,", "x=[1,2", "x=1x", "batch=a"}) {
    INFO(wrong);
    CHECK_THROWS_AS(read_given_sizes(wrong), Error);
  }
}

TEST_CASE("costs: packed parameters tell the sizes of their weight", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> quint8[2, 3, 8, 8]
    %packed = get_attr[conv._packed_params]()
    %conv2d = call_function[quantized.conv2d.new](%x, %packed, 0.5, 3) -> quint8[2, 4, 6, 6]
    %output = output[output](%conv2d))");
  CHECK(model.costs().starts_with("conv2d: ? macs, 288 bytes, 1 unsized\n"));
  ParameterRecord record;
  record.name = "conv._packed_params";
  record.type = "torch.classes.quantized.Conv2dPackedParamsBase";
  record.stored = {{"weight", {4, 3, 3, 3}, "qint8"}, {"bias", {4}, "float32"}};
  record.shape = record.stored[0].shape;
  record.dtype = "qint8";
  model.collection.parameters = {record};
  CHECK(model.costs().starts_with("conv2d: 7776 macs, 288 bytes, 7776 not counted, 124 of parameters\n"));
}

TEST_CASE("costs: a tensor of a class of its own is read part by part", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[2, 64]
    %w = get_attr[w]() -> float32[128, 64]
    %data = call_function[export.access_subclass_inner_tensor.default](%w, "qdata") -> int8[128, 64]
    %scale = call_function[export.access_subclass_inner_tensor.default](%w, "scale") -> float32[128, 1]
    %mul = call_function[aten.mul.Tensor](%data, %scale) -> float32[128, 64]
    %linear = call_function[aten.linear.default](%x, %mul) -> float32[2, 128]
    %output = output[output](%linear))");
  ParameterRecord record;
  record.name = "w";
  record.shape = {128, 64};
  record.dtype = "int8";
  record.stored = {{"qdata", {128, 64}, "int8"}, {"scale", {128, 1}, "float32"}};
  model.collection.parameters = {record};
  CHECK(model.costs() ==
        "data: 0 macs, 0 bytes, 8192 of parameters\n"
        "scale: 0 macs, 0 bytes, 512 of parameters\n"
        "mul: 0 macs, 32768 bytes\n"
        "linear: 16384 macs, 1024 bytes\n"
        "all: 16384 macs, 33792 bytes, peak 34304, 8704 of parameters\n");
}

TEST_CASE("costs: a leaf that costs nothing costs nothing again", "[costs]") {
  Model model(R"(
    %x = placeholder[x]() -> float32[2, 3]
    %dropout = call_module[dropout](%x) -> float32[2, 3]
    %exp = call_function[aten.exp.default](%dropout) -> float32[2, 3]
    %output = output[output](%exp))");
  model.inside("dropout", known(0, 0, 0));
  const std::string costs = model.costs();
  CHECK(costs == "exp: 0 macs, 24 bytes\nall: 0 macs, 24 bytes, peak 48\n");
  CHECK(model.costs() == costs);
}
