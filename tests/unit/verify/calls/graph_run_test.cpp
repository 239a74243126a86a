// A graph that runs node by node, with an engine that has no LibTorch.
#include "verify/calls/graph_run.h"

#include "catch.h"
#include "tests/forms/graph_text.h"
#include "verify/fake_engine.h"

using namespace fxtrace::internal;          // NOLINT(google-build-using-namespace)
using namespace fxtrace::internal::verify;  // NOLINT(google-build-using-namespace)

namespace {

// A model with a parameter `w`, the leaf `double` and the function `pkg.step`.
struct Parts : ModelParts {
  explicit Parts(const Engine& with) : engine(with) {}
  RunValue attribute(const std::string& target, const ModuleGraph& /*graph*/) override {
    if (target == "w") return w;
    throw RunError("no attribute " + target);
  }
  void assign(const std::string& target, const RunValue& value) override {
    assigned += target + " = " + fake_text(*value.get());
  }
  RunValue call_module(const ModuleCall& call) override {
    return fake_tensor({2}, 2 * call.arguments.positional.at(0).get()->number);
  }
  std::optional<RunValue> call_model_function(const std::string& target,
                                              const RunArguments& arguments) override {
    if (target != "pkg.step") return std::nullopt;
    return fake_tensor({2}, arguments.positional.at(0).get()->number + 1);
  }
  const Engine& engine;
  RunValue w = fake_tensor({2}, 10);
  std::string assigned;
};

struct Run {
  explicit Run(const char* text) : parts(engine) { graph.graph = parse_graph(text); }
  std::string result(std::int64_t x) {
    return fake_text(*run_graph(engine, graph, {fake_tensor({2}, x)}, parts,
                                [&](const ModuleGraph&, const Node& node, const RunValue& value) {
                                  seen += node.name + "=" + std::to_string(value.get()->number) + " ";
                                })
                          .get());
  }
  Engine engine{fake_api()};
  Parts parts;
  ModuleGraph graph;
  std::string seen;
};

}  // namespace

TEST_CASE("verify: nodes run in order, with attributes and leaves of the model", "[verify]") {
  Run run(R"(
    %x = placeholder[x]()
    %w = get_attr[w]()
    %double = call_module[double](%x)
    %add = call_function[aten.add.Tensor](%double, %w)
    %output = output[output]((%add, [%x, 3]))
  )");
  CHECK(run.result(4) == "(tensor 18, [tensor 4, 3])");
  CHECK(run.seen == "x=4 w=10 double=8 add=18 output=0 ");
}

TEST_CASE("verify: a node that fails is named with what was said", "[verify]") {
  Run run(R"(
    %x = placeholder[x]()
    %mul = call_function[aten.mul.Tensor](%x, %x)
    %relu = call_function[aten.relu.default](%mul)
    %output = output[output](%relu)
  )");
  try {
    run.result(3);
    FAIL("relu has no fake");
  } catch (const NodeError& error) {
    CHECK(std::string(error.what()) == "no fake for aten::relu");
    CHECK(run.graph.graph.node(error.node).name == "relu");
  }
  CHECK(run.seen == "x=3 mul=9 ");
}
