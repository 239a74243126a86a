// Small collections with one of everything, for the tests of the writers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "tests/forms/graph_text.h"

inline fxtrace::internal::ModuleGraph module_graph(std::string module, std::string type,
                                                   const std::string& text) {
  fxtrace::internal::ModuleGraph graph;
  graph.module = std::move(module);
  graph.type = std::move(type);
  graph.graph = fxtrace::internal::parse_graph(text);
  graph.execution.emplace();
  return graph;
}

inline fxtrace::internal::GraphCollection sample_collection() {
  using namespace fxtrace::internal;
  GraphCollection collection;
  collection.model = {"model.pt", "torchscript", "pkg.Net", "forward", "3"};
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
      {"a.l.weight", ParameterKind::kParameter, {4, 4}, "float32", {}, {}},
      {"a.l.bias", ParameterKind::kParameter, {4}, "float32", {}, {}},
      {"scale", ParameterKind::kBuffer, {}, "float64", {}, "a.l.bias"},
      {"b.l.weight", ParameterKind::kParameter, {4}, "float32", {}, {}},
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
      %c = call_module[c](%b)  # b: pkg.Gate, call 2
      %cond = call_function[higher_order.cond](%c, graph("true_graph_0"))
      %run = call_method[run](%cond, (slice(None, 1, 2),))
      %tensor_constant1 = get_attr[_tensor_constant1]()
      %output = output[output](%run))");
  root.graph.meta(NodeId{0}) = {
      "Tensor", std::vector<Expression>{1, Expression::name("batch")}, ScalarType::kFloat32, {}, {}};
  root.graph.meta(NodeId{3}).type = "Tensor";
  root.constants = {
      {"_tensor_constant0", {"int64", {2, 2}, std::vector<Argument>{1, 2, 3, 4}, ""}},
      {"_tensor_constant1", {"float32", {2000}, {}, "constants/3", {1}, 0}},
  };
  auto inner = module_graph("", "pkg.Net", "%y = placeholder[y]()\n%output = output[output](%y)");
  inner.execution.reset();
  root.subgraphs.add({"true_graph_0", std::move(inner)});
  root.guards = {{Expression::parse("x.dim() == 2"), source}, {Expression::parse("y"), {}}};
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

// A collection with everything that only exported programs have: a signature, calls that stand for nodes of
// the program, symbolic integers, constants and objects among the parameters, operators as arguments, and
// nested bodies.
inline fxtrace::internal::GraphCollection exported_collection() {
  using namespace fxtrace::internal;
  GraphCollection collection;
  collection.model = {"model.pt2", "exported_program", "pkg.Net", "forward", "8.20"};
  collection.modules = {
      {"", "pkg.Net", ModuleStatus::kTraced, {}, {}, 1, {}},
      {"a", "pkg.Gate", ModuleStatus::kTraced, {}, {}, 1, {}},
      {"a.inner", "pkg.Part", ModuleStatus::kTraced, {}, {}, 1, {}},
      {"l", "torch.nn.modules.linear.Linear", ModuleStatus::kLeaf, {}, "torch.nn.**", 1, {}},
  };
  collection.parameters = {
      {"l.weight", ParameterKind::kParameter, {4, 4}, "float32", {}, {}},
      {"count", ParameterKind::kBuffer, {}, "int64", {}, {}},
      {"lifted_tensor_0", ParameterKind::kBuffer, {2}, "int64", {}, {}},
      {"queue", ParameterKind::kCustomObject, {}, {}, "__torch__.torch.classes.pkg.Queue", {}},
  };

  auto root = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %n = placeholder[n](3)
      %sym_size_int = call_function[aten.sym_size.int](%x, 0)
      %lifted_tensor_0 = get_attr[lifted_tensor_0]()
      %count = get_attr[count]()
      %l = call_module[l](%x)  # l: torch.nn.modules.linear.Linear
      %cond = call_function[higher_order.cond](%l, graph("true_graph_0"), graph("false_graph_0"), (%x,))  # a: pkg.Gate
      %cond_1 = call_function[higher_order.cond](%cond, graph("true_graph_0"), graph("false_graph_0"), (%x,))  # a: pkg.Gate
      %out_dtype = call_function[higher_order.out_dtype](function("aten.mm.default"), dtype("int32"), %cond_1, %lifted_tensor_0)
      %copy_ = call_function[aten.copy_.default](%count, %sym_size_int)
      %output = output[output]({"y": %out_dtype, "z": None}))");
  const auto id = [&](const std::string& name) {
    for (const NodeId node : root.graph.order()) {
      if (root.graph.node(node).name == name) return node;
    }
    return NodeId{};
  };
  root.graph.meta(id("x")) = {
      "Tensor", std::vector<Expression>{Expression::name("batch"), 4}, ScalarType::kFloat32, {}, {}};
  root.graph.meta(id("n")) = {"int", {}, {}, {}, Expression(3)};
  root.graph.meta(id("sym_size_int")) = {"int", {}, {}, {}, Expression::name("batch")};
  root.graph.set_program(id("l"), ProgramPart{{"linear", "relu"}, {{"x", {0}}}, {{"relu", {}}}});
  root.constants = {{"lifted_tensor_0", {"int64", {2}, std::vector<Argument>{1, 2}, ""}}};

  auto innermost = module_graph("", "pkg.Net", R"(
      %v = placeholder[v]()  # a.inner: pkg.Part
      %sin = call_function[aten.sin.default](%v)  # a.inner: pkg.Part
      %output = output[output](%sin)  # a: pkg.Gate)");
  innermost.execution.reset();
  auto when_true = module_graph("", "pkg.Net", R"(
      %y = placeholder[y]()  # a: pkg.Gate
      %map_impl = call_function[higher_order.map_impl](graph("body_graph_0"), [%y], [])  # a.inner: pkg.Part
      %output = output[output](%map_impl)  # a: pkg.Gate)");
  when_true.execution.reset();
  when_true.subgraphs.add({"body_graph_0", std::move(innermost)});
  auto when_false = module_graph("", "pkg.Net", "%y = placeholder[y]()\n%output = output[output](%y)");
  when_false.execution.reset();
  root.subgraphs.add({"true_graph_0", std::move(when_true)});
  root.subgraphs.add({"false_graph_0", std::move(when_false)});
  root.guards = {{Expression::parse("0 <= batch <= 16"), {}}};

  GraphSignature signature;
  signature.inputs = {
      {SignatureRole::kParameter, "p_l_weight", "l.weight", {}, {}, {}, {}},
      {SignatureRole::kBuffer, "b_count", "count", false, {}, {}, id("count")},
      {SignatureRole::kConstantTensor,
       "c_lifted_tensor_0",
       "lifted_tensor_0",
       {},
       {},
       {},
       id("lifted_tensor_0")},
      {SignatureRole::kCustomObject, "obj_queue", "queue", {}, {}, {}, {}},
      {SignatureRole::kUserInput, "x", {}, {}, {"d", 0}, {}, id("x")},
      {SignatureRole::kUserInput, "n", {}, {}, {"n"}, Argument(3), id("n")},
  };
  signature.outputs = {
      {SignatureRole::kBufferMutation, "add", "count", {}, {}, {}, id("copy_")},
      {SignatureRole::kUserOutput, "out_dtype", {}, {}, {"y"}, {}, id("out_dtype")},
      {SignatureRole::kUserOutput, "", {}, {}, {}, Argument(), {}},
  };
  root.signature = std::move(signature);
  collection.graphs.push_back(std::move(root));
  return collection;
}
