// The writer of graphs as text.
#include "writers/graphs/collection_writers.h"

#include <complex>
#include <sstream>
#include <string>

#include "catch.h"
#include "sample_collection.h"

using namespace fxtrace::internal;

namespace {

std::string text_of(const GraphCollection& collection) {
  std::ostringstream out;
  write_text(collection, out);
  return out.str();
}

}  // namespace

TEST_CASE("text writer: everything of a collection", "[text_writer]") {
  CHECK(text_of(sample_collection()) == R"(model model.pt: torchscript, type pkg.Net, method forward
options {"method": "forward"}
summary graphs 2, nodes 17, parameters 4, modules traced 2, leaf 1, failed 2, unvisited 1
modules
  (root): pkg.Net, traced, 1 call
  a: pkg.Sub, traced, 1 call
  a.l: torch.nn.modules.linear.Linear, leaf, 1 call, rule torch.nn.**
  b: pkg.Gate, failed, 2 calls
    failure data_dependent_control_flow in b, prim::If: an if depends on an input
    # net.py:12 in forward: if x.sum() > 0:
  b.l: torch.nn.modules.linear.Linear, unvisited, 0 calls
  c: pkg.Gate, failed, 1 call, alias of b
    failure data_dependent_control_flow in b, prim::If: an if depends on an input
    # net.py:12 in forward: if x.sum() > 0:
parameters
  a.l.weight: parameter float32[4, 4]
  a.l.bias: parameter float32[4]
  scale: buffer float64[], alias of a.l.bias
  b.l.weight: parameter float32[4]
unused_parameters
  b.l.weight
graph (root): pkg.Net
  %x = placeholder[x]() -> float32[1, batch]
  %scale = get_attr[scale]()
  %tensor_constant0 = get_attr[_tensor_constant0]()
  %mul = call_function[aten.mul.Tensor](%x, %scale) -> Tensor  # a: pkg.Sub
  %a_l = call_module[a.l](%mul)  # a.l: torch.nn.modules.linear.Linear
  %add_1 = call_function[aten.add.Tensor](%a_l, %tensor_constant0, alpha=2)  # a: pkg.Sub
  %b = call_module[b](%add_1)  # b: pkg.Gate
  %c = call_module[c](%b)  # b: pkg.Gate, call 2
  %cond = call_function[higher_order.cond](%c, graph("true_graph_0"))
  %run = call_method[run](%cond, (slice(None, 1, 2),))
  %tensor_constant1 = get_attr[_tensor_constant1]()
  %output = output[output](%run)
  constants
    _tensor_constant0: int64[2, 2] = [1, 2, 3, 4]
    _tensor_constant1: float32[2000] in constants/3, stride [1], storage_offset 0
  guards
    x.dim() == 2  # net.py:12 in forward: if x.sum() > 0:
    y
  module_forward_order
    (root)
    a
    a.l
  param_forward_order
    a.l.weight
    a.l.bias
  module_param_usage
    (root)
      a: a.l.weight, a.l.bias
    a
      a.l: a.l.weight, a.l.bias
  subgraph true_graph_0 of (root): pkg.Net
    %y = placeholder[y]()
    %output = output[output](%y)
graph b.l: torch.nn.modules.linear.Linear
  %input_1 = placeholder[input]()
  %b_l = call_module[b.l](%input_1)  # b.l: torch.nn.modules.linear.Linear
  %output = output[output](%b_l)
)");
}

TEST_CASE("text writer: what exported programs add", "[text_writer]") {
  CHECK(text_of(exported_collection()) == R"(model model.pt2: exported_program, type pkg.Net, method forward
options {}
summary graphs 1, nodes 19, parameters 4, modules traced 3, leaf 1, failed 0, unvisited 0
modules
  (root): pkg.Net, traced, 1 call
  a: pkg.Gate, traced, 1 call
  a.inner: pkg.Part, traced, 1 call
  l: torch.nn.modules.linear.Linear, leaf, 1 call, rule torch.nn.**
parameters
  l.weight: parameter float32[4, 4]
  count: buffer int64[]
  lifted_tensor_0: buffer int64[2]
  queue: custom_object __torch__.torch.classes.pkg.Queue
graph (root): pkg.Net
  %x = placeholder[x]() -> float32[batch, 4]
  %n = placeholder[n](3) -> int 3
  %sym_size_int = call_function[aten.sym_size.int](%x, 0) -> int batch
  %lifted_tensor_0 = get_attr[lifted_tensor_0]()
  %count = get_attr[count]()
  %l = call_module[l](%x), program nodes linear, relu, inputs x at [0], results relu  # l: torch.nn.modules.linear.Linear
  %cond = call_function[higher_order.cond](%l, graph("true_graph_0"), graph("false_graph_0"), (%x,))  # a: pkg.Gate
  %cond_1 = call_function[higher_order.cond](%cond, graph("true_graph_0"), graph("false_graph_0"), (%x,))  # a: pkg.Gate
  %out_dtype = call_function[higher_order.out_dtype](function("aten.mm.default"), dtype("int32"), %cond_1, %lifted_tensor_0)
  %copy_ = call_function[aten.copy_.default](%count, %sym_size_int)
  %output = output[output]({"y": %out_dtype, "z": None})
  constants
    lifted_tensor_0: int64[2] = [1, 2]
  guards
    0 <= batch <= 16
  graph_signature inputs
    parameter p_l_weight, target l.weight
    buffer b_count, target count, not persistent, node %count
    constant_tensor c_lifted_tensor_0, target lifted_tensor_0, node %lifted_tensor_0
    custom_obj obj_queue, target queue
    user_input x, path ["d", 0], node %x
    user_input n, path ["n"], value 3, node %n
  graph_signature outputs
    buffer_mutation add, target count, node %copy_
    user_output out_dtype, path ["y"], node %out_dtype
    user_output, value None
  subgraph true_graph_0 of (root): pkg.Net
    %y = placeholder[y]()  # a: pkg.Gate
    %map_impl = call_function[higher_order.map_impl](graph("body_graph_0"), [%y], [])  # a.inner: pkg.Part
    %output = output[output](%map_impl)  # a: pkg.Gate
    subgraph body_graph_0 of (root): pkg.Net
      %v = placeholder[v]()  # a.inner: pkg.Part
      %sin = call_function[aten.sin.default](%v)  # a.inner: pkg.Part
      %output = output[output](%sin)  # a: pkg.Gate
  subgraph false_graph_0 of (root): pkg.Net
    %y = placeholder[y]()
    %output = output[output](%y)
)");
}

TEST_CASE("text writer: what is rare", "[text_writer]") {
  GraphCollection collection;
  collection.model = {"a\nb\x1b[31m.pt", "torchscript", "", "run", ""};
  collection.modules = {{"", "", ModuleStatus::kTraced, {}, {}, 2, {}}};
  collection.parameters = {{"w\xff", ParameterKind::kParameter, {}, "float32", {}, {}, "cuda:0"}};
  auto graph = module_graph("", "", R"(
      %x = placeholder[x]()  # , call 2
      %a = call_module[a](%x, "say \"hi\"\n")
      %output = output[output](%a))");
  graph.graph.set_method(NodeId{1}, "forward1");
  graph.graph.meta(NodeId{0}) = {
      "Optional[Tensor]", std::vector<Expression>{2}, ScalarType::kFloat32, Device{"cuda", 0}, {}};
  graph.graph.set_source(NodeId{0}, SourceLocation{"net.py", 0, "", ""});
  graph.constants = {{"packed", {}}};
  graph.constants[0].second.object_type = "__torch__.Packed";
  graph.constants[0].second.record = "constants.pkl";
  graph.constants[0].second.object_index = 3;
  graph.execution = Execution{{""}, {}, {{"", {}}}};
  collection.graphs.push_back(graph);
  CHECK(text_of(collection) == R"(model a\nb\x1b[31m.pt: torchscript, type ?, method run
options {}
summary graphs 1, nodes 3, parameters 1, modules traced 1, leaf 0, failed 0, unvisited 0
modules
  (root): ?, traced, 2 calls
parameters
  w�: parameter float32[] on cuda:0
graph (root): ?
  # net.py
  %x = placeholder[x]() -> Optional[Tensor] float32[2] on cuda:0  # , call 2
  # no source
  %a = call_module[a](%x, "say \"hi\"\n"), method forward1
  %output = output[output](%a)
  constants
    packed: __torch__.Packed in constants.pkl, item 3
  module_forward_order
    (root)
  module_param_usage
    (root)
)");
}

TEST_CASE("torch graph writer: values as Python writes them", "[text_writer]") {
  GraphCollection collection;
  collection.model.kind = "torchscript";
  ModuleGraph& root = collection.graphs.emplace_back();
  const auto append = [&](Opcode op, std::string target, std::vector<Argument> args, std::string name,
                          Kwargs kwargs = {}) {
    return root.graph.append({.op = op,
                              .target = std::move(target),
                              .args = std::move(args),
                              .kwargs = std::move(kwargs),
                              .scope = {},
                              .meta = {},
                              .source = {},
                              .name = std::move(name)});
  };
  const NodeId x = append(Opcode::kPlaceholder, "x", {}, "x");
  const NodeId y = append(Opcode::kPlaceholder, "y", {1e-05}, "y");
  const NodeId call = append(
      Opcode::kCallFunction, "aten.add.Tensor",
      {x, Argument::List{{y, "it's", true, Argument::None()}}, 100000.0, 1e16, std::complex<double>(0, 2.5),
       Argument::Slice{{Argument::None(), x, 1}}, Argument::Tuple{{Argument::Device{"cuda:0"}}}},
      "add", {{"dtype", Argument::Dtype{"float32"}}, {"body", Argument::GraphRef{"true_graph_0"}}});
  const NodeId leaf = append(Opcode::kCallModule, "h.a\\.b", {call}, "leaf");
  append(Opcode::kOutput, "output", {Argument::Tuple{{leaf, "it's", Argument::Device{"cuda:0"}}}}, "output");
  std::ostringstream out;
  write_torch_graph(collection, out);
  CHECK(out.str() == R"(graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y](default=1e-05)
    %true_graph_0 : [num_users=1] = get_attr[target=true_graph_0]
    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, [%y, it's, True, None], 100000.0, 1e+16, 2.5j, slice(None, x, 1), (cuda:0,)), kwargs = {dtype: torch.float32, body: %true_graph_0})
    %leaf : [num_users=1] = call_module[target=h.a_b](args = (%add,), kwargs = {})
    return (leaf, "it's", device(type='cuda', index=0))
)");
}
