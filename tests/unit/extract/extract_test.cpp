// Extraction of parts of graphs as collections: the nodes that belong to a part, its inputs and outputs, and
// the rest of the collection.
#include <string>
#include <vector>

#include "catch.h"
#include "extract/extract.h"
#include "graph/lint.h"
#include "sample_collection.h"
#include "support/error.h"

using namespace fxtrace::internal;

namespace {

constexpr ModuleStatus kTraced = ModuleStatus::kTraced;

GraphCollection collection_of(const std::string& text) {
  GraphCollection collection;
  collection.model = {"model.pt", "torchscript", "pkg.Net", "forward", ""};
  collection.modules = {{"", "pkg.Net", kTraced, {}, {}, 1, {}},
                        {"a", "pkg.Sub", kTraced, {}, {}, 1, {}},
                        {"f", "pkg.Odd", ModuleStatus::kLeaf, {}, {}, 1, {}}};
  collection.parameters = {{"a.w", ParameterKind::kParameter, {2}, "float32", {}, {}},
                           {"a.spare", ParameterKind::kParameter, {2}, "float32", {}, {}},
                           {"count", ParameterKind::kBuffer, {2}, "float32", {}, {}},
                           {"tied", ParameterKind::kParameter, {2}, "float32", {}, {"a.w"}}};
  auto graph = module_graph("", "pkg.Net", text);
  graph.execution = Execution{{"", "a", "f"}, {"a.w"}, {}};
  collection.graphs.push_back(std::move(graph));
  return collection;
}

ExtractRequest nodes(std::vector<std::string> from, std::vector<std::string> to) {
  ExtractRequest part;
  part.from = std::move(from);
  part.to = std::move(to);
  return part;
}

GraphCollection extracted(const GraphCollection& collection, const ExtractRequest& part) {
  GraphCollection result = extract(collection, part);
  lint(result);
  return result;
}

std::string part_of(const std::string& text, const ExtractRequest& part) {
  return print_graph(extracted(collection_of(text), part).graphs.at(0).graph);
}

std::string error_of(const std::string& text, const ExtractRequest& part) {
  try {
    extract(collection_of(text), part);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Returns the graph in the form that print_graph() writes.
std::string form(const std::string& text) { return print_graph(parse_graph(text)); }

}  // namespace

TEST_CASE("extract: what enters becomes inputs, what is used outside the output", "[extract]") {
  const std::string text = R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x) -> Tensor
      %w = get_attr[a.w]()  # a: pkg.Sub
      %mul = call_function[aten.mul.Tensor](%relu, %w) -> Tensor  # a: pkg.Sub
      %neg = call_function[aten.neg.default](%mul) -> Tensor  # a: pkg.Sub
      %add = call_function[aten.add.Tensor](%neg, %mul) -> Tensor
      %output = output[output]((%add, %relu)))";
  ExtractRequest module;
  module.module = "a";
  CHECK(part_of(text, module) == form(R"(
      %relu = placeholder[relu]() -> Tensor
      %w = get_attr[a.w]()  # a: pkg.Sub
      %mul = call_function[aten.mul.Tensor](%relu, %w) -> Tensor  # a: pkg.Sub
      %neg = call_function[aten.neg.default](%mul) -> Tensor  # a: pkg.Sub
      %output = output[output]((%mul, %neg)) -> Tuple[Tensor, Tensor])"));
  CHECK(part_of(text, nodes({"neg"}, {"add"})) == form(R"(
      %mul = placeholder[mul]() -> Tensor
      %neg = call_function[aten.neg.default](%mul) -> Tensor  # a: pkg.Sub
      %add = call_function[aten.add.Tensor](%neg, %mul) -> Tensor
      %output = output[output](%add) -> Tensor)"));
  // Without --to the part ends at the output, which is unchanged.
  CHECK(part_of(text, nodes({"add"}, {})) == form(R"(
      %neg = placeholder[neg]() -> Tensor
      %mul = placeholder[mul]() -> Tensor
      %relu = placeholder[relu]() -> Tensor
      %add = call_function[aten.add.Tensor](%neg, %mul) -> Tensor
      %output = output[output]((%add, %relu)))"));
  // A value that was asked for is an output, used or not.
  CHECK(part_of(text, nodes({}, {"mul", "relu"})).find("output[output]((%relu, %mul))") != std::string::npos);
  CHECK(error_of(text, nodes({"add"}, {"relu"})) == "no path leads from add to a node of --to");
  CHECK(error_of(text, nodes({"reul"}, {})) == "there is no node 'reul'");
  CHECK(error_of(text, nodes({}, {"w"})).find("w is read and not computed") != std::string::npos);
}

TEST_CASE("extract: modules, parameters and the order of the part", "[extract]") {
  GraphCollection collection = collection_of(R"(
      %x = placeholder[x]()
      %t = get_attr[tied]()
      %add = call_function[aten.add.Tensor](%x, %t)
      %f = call_module[f](%add)  # f: pkg.Odd
      %output = output[output](%f))");
  // The first name of the tensor is not in the part: the name that is there becomes the first.
  const GraphCollection part = extracted(collection, nodes({"add"}, {"add"}));
  REQUIRE(part.parameters.size() == 1);
  CHECK(part.parameters[0].name == "tied");
  CHECK_FALSE(part.parameters[0].alias_of);
  CHECK(part.graphs[0].execution->param_forward_order == std::vector<std::string>{"tied"});
  CHECK(part.graphs[0].execution->module_forward_order == std::vector<std::string>{""});
  REQUIRE(part.modules.size() == 1);
  ExtractRequest module;
  module.module = "f";
  const GraphCollection leaf = extracted(collection, module);
  CHECK(leaf.graphs[0].execution->module_forward_order == std::vector<std::string>{"", "f"});
  CHECK(leaf.parameters.empty());
  module.module = "a";
  CHECK(error_of("%x = placeholder[x]()\n%output = output[output](%x)", module).find("a has no node") == 0);
  module.module = "b";
  CHECK(error_of("%x = placeholder[x]()\n%output = output[output](%x)", module) ==
        "the model has no module 'b'");
  module.module = "f";
  module.call = 2;
  CHECK(error_of("%x = placeholder[x]()\n%output = output[output](%x)", module) == "f has 1 calls, not 2");
}

TEST_CASE("extract: what happens between nodes of the part comes along", "[extract]") {
  // Connected by a value: a node of another module between two of the module.
  ExtractRequest module;
  module.module = "a";
  CHECK(part_of(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x) -> Tensor  # a: pkg.Sub
      %neg = call_function[aten.neg.default](%relu) -> Tensor
      %sqrt = call_function[aten.sqrt.default](%neg) -> Tensor  # a: pkg.Sub
      %output = output[output](%sqrt))",
                module) == form(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x) -> Tensor  # a: pkg.Sub
      %neg = call_function[aten.neg.default](%relu) -> Tensor
      %sqrt = call_function[aten.sqrt.default](%neg) -> Tensor  # a: pkg.Sub
      %output = output[output](%sqrt) -> Tensor)"));
  // Connected by memory: a write between two reads.
  CHECK(part_of(R"(
      %x = placeholder[x]()
      %y = placeholder[y]()
      %relu = call_function[aten.relu.default](%x) -> Tensor  # a: pkg.Sub
      %add_ = call_function[aten.add_.Tensor](%x, %y) -> Tensor
      %mul = call_function[aten.mul.Tensor](%relu, %x) -> Tensor  # a: pkg.Sub
      %output = output[output]((%mul, %add_)))",
                module) == form(R"(
      %x = placeholder[x]()
      %y = placeholder[y]()
      %relu = call_function[aten.relu.default](%x) -> Tensor  # a: pkg.Sub
      %add_ = call_function[aten.add_.Tensor](%x, %y) -> Tensor
      %mul = call_function[aten.mul.Tensor](%relu, %x) -> Tensor  # a: pkg.Sub
      %output = output[output](%mul) -> Tensor)"));
  // Random numbers are drawn in between.
  const std::string random = part_of(R"(
      %x = placeholder[x]()
      %r = call_function[aten.rand_like.default](%x) -> Tensor  # a: pkg.Sub
      %s = call_function[aten.rand_like.default](%x) -> Tensor
      %t = call_function[aten.rand_like.default](%r) -> Tensor  # a: pkg.Sub
      %output = output[output]((%s, %t)))",
                                     module);
  CHECK(random.find("%s = call_function") != std::string::npos);
  CHECK(random.find("output[output](%t)") != std::string::npos);
}

TEST_CASE("extract: memory that the part writes enters once", "[extract]") {
  ExtractRequest module;
  module.module = "a";
  // A view of it is made inside the part.
  const std::string view = part_of(R"(
      %x = placeholder[x]()
      %first = call_function[aten.select.int](%x, 0, 0) -> Tensor
      %add_ = call_function[aten.add_.Tensor](%x, 1) -> Tensor  # a: pkg.Sub
      %mul = call_function[aten.mul.Tensor](%first, %add_) -> Tensor  # a: pkg.Sub
      %output = output[output](%mul))",
                                   module);
  CHECK(view.find("%first = call_function[aten.select.int]") != std::string::npos);
  // Two values of a leaf about which nothing is known may share memory.
  CHECK(error_of(R"(
      %x = placeholder[x]()
      %f = call_module[f](%x)  # f: pkg.Odd
      %p = call_module[f](%f)  # f: pkg.Odd
      %add_ = call_function[aten.add_.Tensor](%f, 1) -> Tensor  # a: pkg.Sub
      %mul = call_function[aten.mul.Tensor](%p, %add_) -> Tensor  # a: pkg.Sub
      %output = output[output](%mul))",
                 module)
            .find("f and p, which enter the part, may share memory") != std::string::npos);
}

TEST_CASE("extract: a buffer that is written before the part enters as an input", "[extract]") {
  ExtractRequest module;
  module.module = "a";
  const std::string before = R"(
      %x = placeholder[x]()
      %count = get_attr[count]() -> Tensor
      %add_ = call_function[aten.add_.Tensor](%count, 1) -> Tensor
      %mul = call_function[aten.mul.Tensor](%x, %count) -> Tensor  # a: pkg.Sub
      %output = output[output](%mul))";
  CHECK(part_of(before, module) == form(R"(
      %x = placeholder[x]()
      %count = placeholder[count]() -> Tensor
      %mul = call_function[aten.mul.Tensor](%x, %count) -> Tensor  # a: pkg.Sub
      %output = output[output](%mul) -> Tensor)"));
  // A value that is written later is read as it was before.
  CHECK(part_of(R"(
      %x = placeholder[x]()
      %count = get_attr[count]() -> Tensor
      %mul = call_function[aten.mul.Tensor](%x, %count) -> Tensor  # a: pkg.Sub
      %add_ = call_function[aten.add_.Tensor](%count, 1) -> Tensor
      %output = output[output](%mul))",
                module)
            .find("get_attr[count]") != std::string::npos);
}

TEST_CASE("extract: modes that the part runs in come along", "[extract]") {
  ExtractRequest module;
  module.module = "a";
  const std::string part = part_of(R"(
      %x = placeholder[x]()
      %enter = call_function[torch.amp.autocast_mode._enter_autocast]("cpu", None, True, None)
      %relu = call_function[aten.relu.default](%x) -> Tensor
      %mm = call_function[aten.mm.default](%relu, %relu) -> Tensor  # a: pkg.Sub
      %leave = call_function[torch.amp.autocast_mode._exit_autocast](%enter)
      %output = output[output](%mm))",
                                   module);
  CHECK(part.find("%enter") != std::string::npos);
  CHECK(part.find("%leave") != std::string::npos);
  CHECK(part.find("%relu = placeholder") != std::string::npos);
}

TEST_CASE("extract: what a tensor that enters tells is no input", "[extract]") {
  GraphCollection collection = collection_of(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x) -> Tensor
      %size = call_function[aten.size.int](%x, 0)
      %rows = call_function[aten.size.int](%relu, 0)
      %sizes = call_function[aten.size.default](%relu)
      %getitem = call_function[operator.getitem](%sizes, 1)
      %mul = call_function[operator.mul](%rows, %getitem)
      %add = call_function[operator.add](%mul, 3)
      %item = call_function[aten.item.default](%x)
      %view = call_function[aten.view.default](%relu, [%size, %add, %item])
      %output = output[output](%view))");
  Graph& graph = collection.graphs[0].graph;
  graph.meta(NodeId{0}).shape = std::vector<Expression>{Expression::name("s0"), 4};
  for (const std::uint32_t tensor : {0U, 1U, 9U}) graph.meta(NodeId{tensor}).type = "Tensor";
  graph.meta(NodeId{1}).shape = std::vector<Expression>{8, Expression::name("s0")};
  graph.meta(NodeId{2}).type = "int";
  graph.meta(NodeId{2}).value = Expression::name("s0");
  CHECK(print_graph(extracted(collection, nodes({"view"}, {"view"})).graphs[0].graph)
            .find("placeholder[add]") == std::string::npos);
  const GraphCollection part = extracted(collection, nodes({"view"}, {"view"}));
  std::string text;
  for (const NodeId id : part.graphs[0].graph.order()) {
    const Node& node = part.graphs[0].graph.node(id);
    text += node.name + "=" + *node.target + " ";
  }
  CHECK(
      text ==
      "relu=relu item=item size=aten.size.int rows=aten.size.int sizes=aten.size.default getitem=operator.getitem "
      "mul=operator.mul add=operator.add view=aten.view.default output=output ");
  CHECK(print_graph(part.graphs[0].graph).find("%size = call_function[aten.size.int](%relu, 1)") !=
        std::string::npos);
}

TEST_CASE("extract: guards over what enters", "[extract]") {
  GraphCollection collection = collection_of(R"(
      %x = placeholder[x]()
      %y = placeholder[y]()
      %add_ = call_function[aten.add_.Tensor](%y, 1)
      %relu = call_function[aten.relu.default](%x) -> Tensor
      %mul = call_function[aten.mul.Tensor](%relu, %y) -> Tensor
      %output = output[output](%mul))");
  for (const char* guard :
       {"x.dim() == 2", "y.dim() == 2", "2 <= s0 <= 9", "2 <= s1 <= 9", "flag == 'x'", "len(past) == 2"})
    collection.graphs[0].guards.push_back({Expression::parse(guard), {}});
  collection.graphs[0].graph.meta(NodeId{0}).shape = std::vector<Expression>{Expression::name("s0")};
  collection.graphs[0].graph.meta(NodeId{1}).shape = std::vector<Expression>{Expression::name("s1"), 2};
  // The inputs are parts of an argument that no part of the graph takes.
  collection.graphs[0].signature.emplace();
  for (const NodeId id : {NodeId{0}, NodeId{1}}) {
    GraphSignature::Entry& entry = collection.graphs[0].signature->inputs.emplace_back();
    entry.path = {"past", static_cast<std::int64_t>(id.index)};
    entry.node = id;
  }
  const auto guards = [&](const ExtractRequest& part) {
    std::vector<std::string> texts;
    const GraphCollection found = extracted(collection, part);
    for (const Guard& guard : found.graphs[0].guards) texts.push_back(guard.expr.text());
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(guards(nodes({"relu"}, {"relu"})) == Texts{"x.dim() == 2", "2 <= s0 <= 9", "flag == 'x'"});
  // y has changed since the guard held for it; the guard still asks the input for its sizes.
  CHECK(guards(nodes({"mul"}, {"mul"})) == Texts{"2 <= s1 <= 9", "flag == 'x'"});
}

TEST_CASE("extract: a module's call has the names that its code gives", "[extract]") {
  const std::string text = R"(
      %x = placeholder[x]() -> Tensor
      %y = placeholder[y]() -> Tensor
      %relu = call_function[aten.relu.default](%x) -> Tensor
      %add = call_function[aten.add.Tensor](%y, %relu) -> Tensor  # a: pkg.Sub
      %sub = call_function[aten.sub.Tensor](%add, %x) -> Tensor  # a: pkg.Sub
      %neg = call_function[aten.neg.default](%sub) -> Tensor
      %output = output[output](%neg))";
  const auto part_of_call = [&](const Execution::CallValues& values) {
    GraphCollection collection = collection_of(text);
    collection.graphs[0].execution->call_values = {values, {"a", "", 2, {{"other", "x"}}}};
    collection.graphs[0].guards.push_back({Expression::parse("x.dim() == 2"), {}});
    ExtractRequest part;
    part.module = "a";
    return extracted(collection, part);
  };
  // Arguments are in the order of its parameters; an argument without a known name is named after its node.
  // Nodes that a pass has removed are not considered.
  GraphCollection part = part_of_call({"a", "", 1, {{"gone", "dropout"}, {"y", "relu"}, {"z", "x"}}});
  CHECK(print_graph(part.graphs[0].graph) == form(R"(
      %relu = placeholder[y]() -> Tensor
      %x = placeholder[z]() -> Tensor
      %y = placeholder[y_1]() -> Tensor
      %add = call_function[aten.add.Tensor](%y, %relu) -> Tensor  # a: pkg.Sub
      %sub = call_function[aten.sub.Tensor](%add, %x) -> Tensor  # a: pkg.Sub
      %output = output[output](%sub) -> Tensor)"));
  REQUIRE(part.graphs[0].guards.size() == 1);
  CHECK(part.graphs[0].guards[0].expr.text() == "z.dim() == 2");
  REQUIRE(part.graphs[0].execution->call_values.size() == 1);
  CHECK(part.graphs[0].execution->call_values[0].inputs.size() == 2);

  // A traced module has made-up names where it knew none.
  part = part_of_call({"a", "", 1, {{"argument_1", "y"}, {"x", "relu"}}});
  CHECK(print_graph(part.graphs[0].graph)
            .starts_with("%y = placeholder[y]()\n%relu = placeholder[x]()\n%x = placeholder[x_1]()"));

  const auto output_of = [&](std::string type, std::vector<std::pair<std::string, std::string>> results) {
    const GraphCollection whole = part_of_call({"a", "", 1, {}, std::move(type), std::move(results)});
    const std::string lines = print_graph(whole.graphs[0].graph);
    return lines.substr(lines.find("output[output]"));
  };
  CHECK(output_of("pkg.Out", {{"high", "add"}, {"low", "sub"}}) ==
        "output[output](namedtuple(\"pkg.Out\", high=%add, low=%sub))\n");
  CHECK(output_of("", {{"low", "sub"}}) == "output[output]({\"low\": %sub})\n");
  // Values that are used outside are outputs in any case; nodes elsewhere do not matter.
  CHECK(output_of("pkg.Out", {{"high", "add"}}) == "output[output](%sub)\n");
  CHECK(output_of("pkg.Out", {{"low", "sub"}, {"neg", "neg"}}) == "output[output](%sub)\n");
}
