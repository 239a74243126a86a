// A small collection with one of everything, for the tests of the writers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "graph/text_form.h"

inline fxtrace::ModuleGraph module_graph(std::string module, std::string type, const std::string& text) {
  fxtrace::ModuleGraph graph;
  graph.module = std::move(module);
  graph.type = std::move(type);
  graph.graph = fxtrace::parse_graph(text);
  graph.execution.emplace();
  return graph;
}

inline fxtrace::GraphCollection sample_collection() {
  using namespace fxtrace;
  GraphCollection collection;
  collection.model = {"model.pt", "torchscript", "pkg.Net", "forward"};
  collection.options_json = R"({"method": "forward"})";
  collection.modules = {
      {"", "pkg.Net", ModuleStatus::kTraced, {}, {}, 1, {}},
      {"a", "pkg.Sub", ModuleStatus::kTraced, {}, {}, 1, {}},
      {"a.l", "torch.nn.modules.linear.Linear", ModuleStatus::kLeaf, {}, "torch.nn.**", 1, {}},
      {"b", "pkg.Gate", ModuleStatus::kFailed, {}, {}, 2, {}},
      {"b.l", "torch.nn.modules.linear.Linear", ModuleStatus::kUnvisited, {}, {}, 0, {}},
      {"c", "pkg.Gate", ModuleStatus::kFailed, "b", {}, 1, {}},
  };
  const SourceLocation source{"net.py", 12, "forward", "if x.sum() > 0:"};
  collection.modules[3].failure =
      Failure{FailureKind::kDataDependentControlFlow, "an if depends on an input", "b", "prim::If", source};
  collection.modules[5].failure = collection.modules[3].failure;
  collection.parameters = {
      {"a.l.weight", ParameterKind::kParameter, {4, 4}, "float32", {}},
      {"a.l.bias", ParameterKind::kParameter, {4}, "float32", {}},
      {"scale", ParameterKind::kBuffer, {}, "float64", "a.l.bias"},
  };
  collection.unused_parameters = {"b.l.weight"};

  auto root = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %scale = get_attr[scale]()
      %tensor_constant0 = get_attr[_tensor_constant0]()
      %mul = call_function[aten.mul.Tensor](%x, %scale)  # a: pkg.Sub
      %a_l = call_module[a.l](%mul)  # a.l: torch.nn.modules.linear.Linear
      %add_1 = call_function[aten.add.Tensor](%a_l, %tensor_constant0, alpha=2)  # a: pkg.Sub
      %b = call_module[b](%add_1)  # b: pkg.Gate
      %c = call_module[c](%b)  # c: pkg.Gate
      %cond = call_function[higher_order.cond](%c, graph("true_graph_0"))
      %run = call_method[run](%cond, (slice(None, 1, 2),))
      %output = output[output](%run))");
  root.graph.meta(NodeId{0}) = {"Tensor", std::vector<Meta::Dim>{std::int64_t{1}, std::string("batch")},
                                "float32"};
  root.graph.meta(NodeId{3}).type = "Tensor";
  root.constants = {
      {"_tensor_constant0", {"int64", {2, 2}, std::vector<Argument>{1, 2, 3, 4}, ""}},
      {"_tensor_constant1", {"float32", {2000}, {}, "constants/3"}},
  };
  auto inner = module_graph("", "pkg.Net", "%y = placeholder[y]()\n%output = output[output](%y)");
  inner.execution.reset();
  root.subgraphs.emplace_back("true_graph_0", std::move(inner));
  root.guards = {{"x.dim() == 2", source}, {"y", {}}};
  root.execution =
      Execution{{"", "a", "a.l"},
                {"a.l.weight", "a.l.bias"},
                {{"", {{"a", {"a.l.weight", "a.l.bias"}}}}, {"a", {{"a.l", {"a.l.weight", "a.l.bias"}}}}}};
  collection.graphs.push_back(std::move(root));
  collection.graphs.push_back(module_graph("b.l", "torch.nn.modules.linear.Linear", R"(
      %input_1 = placeholder[input]()
      %b_l = call_module[b.l](%input_1)  # b.l: torch.nn.modules.linear.Linear
      %output = output[output](%b_l))"));
  return collection;
}
