// The writer of graphs for Model Explorer.
#include "writers/pictures/model_explorer_writer.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "sample_collection.h"

namespace fxtrace::internal {
namespace {

using Json = nlohmann::json;

Json written(const GraphCollection& collection) {
  std::ostringstream out;
  write_model_explorer(collection, out);
  return Json::parse(out.str());
}

Json node_of(const Json& graph, const std::string& id) {
  for (const Json& node : graph.at("nodes")) {
    if (node.at("id") == id) return node;
  }
  FAIL("no node " << id);
  return {};
}

std::map<std::string, std::string> values(const Json& items) {
  std::map<std::string, std::string> found;
  for (const Json& item : items) found.emplace(item.at("key"), item.at("value"));
  return found;
}

std::vector<std::string> ids(const Json& graphs) {
  std::vector<std::string> found;
  for (const Json& graph : graphs) found.push_back(graph.at("id"));
  return found;
}

// Checks what Model Explorer requires of every graph.
void check_graphs(const Json& document) {
  std::set<std::string> all;
  for (const std::string& id : ids(document.at("graphs"))) CHECK(all.insert(id).second);
  for (const Json& graph : document.at("graphs")) {
    std::set<std::string> nodes;
    std::set<std::string> spaces{""};
    for (const Json& node : graph.at("nodes")) {
      CHECK(nodes.insert(node.at("id")).second);
      CHECK_FALSE(node.at("label").get<std::string>().empty());
      const std::string space = node.at("namespace");
      for (std::size_t at = 0; at < space.size(); ++at) {
        at = std::min(space.find('/', at), space.size());
        spaces.insert(space.substr(0, at));
      }
      CHECK(node.at("incomingEdges").size() == node.at("inputsMetadata").size());
      for (const Json& edge : node.at("incomingEdges")) CHECK(nodes.contains(edge.at("sourceNodeId")));
      for (const Json& id : node.at("subgraphIds")) CHECK(all.contains(id));
    }
    for (const auto& [space, attributes] : graph.at("groupNodeAttributes").items()) {
      CHECK(spaces.contains(space));
      spaces.erase(space);
    }
    spaces.erase("");
    CHECK(spaces.empty());
  }
}

}  // namespace

TEST_CASE("a collection for Model Explorer", "[model_explorer_writer]") {
  const Json document = written(sample_collection());
  check_graphs(document);
  CHECK(document.at("label") == "model.pt");
  const Json& graphs = document.at("graphs");
  CHECK(ids(graphs) == std::vector<std::string>{"(root)", "(root)/true_graph_0", "b.l"});
  CHECK(graphs[0].at("groupNodeAttributes").at("").at("type") == "pkg.Net");
  CHECK(graphs[0].at("groupNodeAttributes").at("").at("failure of b") ==
        "an if depends on an input (net.py:12)");
  CHECK(graphs[0].at("groupNodeAttributes").at("a (Sub)") ==
        Json{{"path", "a"}, {"type", "pkg.Sub"}, {"status", "traced"}, {"calls", "1"}, {"parameters", "20"}});

  const Json linear = node_of(graphs[0], "a_l");
  CHECK(linear.at("label") == "l (Linear)");
  CHECK(linear.at("namespace") == "a (Sub)");
  const Json add = node_of(graphs[0], "add_1");
  CHECK(add.at("label") == "aten.add.Tensor");
  CHECK(values(add.at("attrs")).at("args[0]") == "%a_l");
  CHECK(values(add.at("attrs")).at("alpha") == "2");
  CHECK(add.at("incomingEdges") == Json::parse(R"([
      {"sourceNodeId": "a_l", "sourceNodeOutputId": "0", "targetNodeInputId": "0"},
      {"sourceNodeId": "tensor_constant0", "sourceNodeOutputId": "0", "targetNodeInputId": "1"}])"));
  CHECK(add.at("inputsMetadata")[1] ==
        Json::parse(R"({"id": "1", "attrs": [{"key": "__tensor_tag", "value": "1"}]})"));
  CHECK(node_of(graphs[0], "x").at("outputsMetadata") ==
        Json::parse(R"([{"id": "0", "attrs": [{"key": "tensor_shape", "value": "float32[1, batch]"}]}])"));
  const Json failed = node_of(graphs[0], "b");
  CHECK(failed.at("label") == "b (Gate)");
  CHECK(failed.at("style").at("backgroundColor") == "#fbd9d5");
  CHECK(values(failed.at("attrs")).at("failure") == "an if depends on an input (net.py:12)");
  CHECK_FALSE(linear.contains("style"));
  CHECK(node_of(graphs[0], "cond").at("subgraphIds") == Json{"(root)/true_graph_0"});
}

TEST_CASE("bodies for Model Explorer", "[model_explorer_writer]") {
  const Json document = written(exported_collection());
  check_graphs(document);
  const Json& graphs = document.at("graphs");
  CHECK(ids(graphs) == std::vector<std::string>{"(root)", "(root)/true_graph_0",
                                                "(root)/true_graph_0/body_graph_0", "(root)/false_graph_0"});
  CHECK(node_of(graphs[0], "cond").at("namespace") == "a (Gate)");
  // Both operators that run it are in `a`, so `a` is around all of it.
  CHECK(node_of(graphs[1], "y").at("namespace") == "");
  CHECK(node_of(graphs[1], "map_impl").at("namespace") == "inner (Part)");
  CHECK(node_of(graphs[2], "sin").at("namespace") == "");
  CHECK(values(node_of(graphs[0], "l").at("attrs")).at("program nodes") == "linear, relu");
  CHECK(values(node_of(graphs[0], "sym_size_int").at("attrs")).at("value") == "batch");
  const Json output = node_of(graphs[0], "output");
  CHECK(output.at("inputsMetadata")[0].at("attrs")[0].at("value") == "0.y");
}

TEST_CASE("each call of a module is a group", "[model_explorer_writer]") {
  GraphCollection collection;
  collection.model = {"model.pt", "torchscript", "pkg.Net", "forward", "3"};
  collection.modules = {
      {"", "pkg.Net", ModuleStatus::kTraced, {}, {}, 1, {}},
      {"blocks", "torch.nn.ModuleList", ModuleStatus::kUnvisited, {}, {}, 0, {}},
      {"blocks.0", "pkg.Block", ModuleStatus::kTraced, {}, {}, 2, {}},
      {"blocks.0.a\\.b", "pkg.Act", ModuleStatus::kTraced, {}, {}, 2, {}},
      {"blocks.0.l", "torch.nn.Linear", ModuleStatus::kLeaf, {}, {}, 2, {}},
  };
  ModuleGraph root = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %l_0 = call_module[blocks.0.l](%x)  # blocks.0.l: torch.nn.Linear
      %neg = call_function[aten.neg.default](%l_0)  # blocks.0.a\.b: pkg.Act
      %l_1 = call_module[blocks.0.l](%neg)  # blocks.0.l: torch.nn.Linear
      %neg_1 = call_function[aten.neg.default](%l_1)  # blocks.0.a\.b: pkg.Act
      %output = output[output](%neg_1))");
  root.execution->module_forward_order = {"",         "blocks.0",   "blocks.0.l",    "blocks.0.a\\.b",
                                          "blocks.0", "blocks.0.l", "blocks.0.a\\.b"};
  // The text has no calls: the module of the last two nodes is called again.
  Graph again;
  std::map<std::string, NodeId> made;
  for (const NodeId id : root.graph.order()) {
    const Node& node = root.graph.node(id);
    Graph::NodeSpec spec;
    spec.op = node.op;
    spec.target = *node.target;
    spec.scope = node.scope;
    if (node.name == "l_1" || node.name == "neg_1") spec.scope.edit().call = 2;
    for (const Argument& argument : node.args) {
      const auto* input = argument.get_if<NodeId>();
      REQUIRE(input != nullptr);
      spec.args.emplace_back(made.at(root.graph.node(*input).name));
    }
    spec.name = node.name;
    made[node.name] = again.append(spec);
  }
  root.graph = again;
  collection.graphs.push_back(std::move(root));
  const Json document = written(collection);
  check_graphs(document);
  const Json& nodes = document.at("graphs")[0].at("nodes");
  const std::string block = "blocks (ModuleList)/0 (Block)";
  CHECK(nodes[1].at("namespace") == block);
  CHECK(nodes[2].at("namespace") == block + "/a.b (Act)");
  CHECK(nodes[3].at("namespace") == block + " (call 2)");
  CHECK(nodes[4].at("namespace") == block + " (call 2)/a.b (Act) (call 2)");
  CHECK(document.at("graphs")[0].at("groupNodeAttributes").at(block + " (call 2)").at("call") == "2");
}

TEST_CASE("hostile names for Model Explorer", "[model_explorer_writer]") {
  const std::string names[] = {"a/b/c", "\"}]}", "\xE2\x80\xAE\xFF\x1B\n", std::string(5000, 'x'),
                               "../..", ""};
  for (const std::string& name : names) {
    GraphCollection collection = sample_collection();
    collection.model.file = name;
    for (ModuleRecord& module : collection.modules) module.type = "pkg." + name;
    ModuleGraph& root = collection.graphs[0];
    root.subgraphs[0].name = name;
    Graph::NodeSpec spec;
    spec.op = Opcode::kCallMethod;
    spec.target = name.empty() ? "m" : name;
    spec.name = "m";
    spec.args = {root.graph.first(), Argument(name), Argument(Argument::GraphRef{name})};
    spec.scope.edit().module_path = "a." + name;
    root.graph.insert_before(root.graph.last(), spec);
    collection.graphs[1].module = name;
    INFO(name.substr(0, 20));
    const Json document = written(collection);
    check_graphs(document);
    const std::string text = document.dump();
    CHECK(text.find("\xE2\x80\xAE") == std::string::npos);
    CHECK(text.find(std::string(2000, 'x')) == std::string::npos);
  }
}

TEST_CASE("deep modules for Model Explorer", "[model_explorer_writer]") {
  GraphCollection collection = sample_collection();
  std::string path = "m";
  for (int i = 0; i < 3000; ++i) path += ".m";
  Graph& graph = collection.graphs[0].graph;
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallFunction;
  spec.target = "aten.neg.default";
  spec.args = {graph.first()};
  spec.scope.edit().module_path = path;
  for (int i = 0; i < 1000; ++i) graph.insert_before(graph.last(), spec);
  const Json document = written(collection);
  const std::string space = node_of(document.at("graphs")[0], "neg_1").at("namespace");
  CHECK(space.starts_with("m/m/m/"));
  CHECK(space.size() == 2 * 64 - 1);
}

}  // namespace fxtrace::internal
