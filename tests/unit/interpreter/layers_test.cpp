// The layers of the interpreter, each tested without the layers above it.
#include <memory>
#include <string>
#include <utility>

#include "catch.h"
#include "interpreter/code/code_effects.h"
#include "interpreter/evaluate/evaluator.h"
#include "interpreter/record/recorder.h"
#include "tests/forms/ir_text.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/operators/operator_table.h"
#include "trace/options/options.h"
#include "trace/tracer/graph_tracer.h"

using namespace fxtrace::internal;
using namespace fxtrace::internal::interpreter;

namespace {

// A module without attributes, which is not traced.
class EmptyProgram final : public TorchScriptProgram {
 public:
  EmptyProgram()
      : TorchScriptProgram(std::make_unique<TorchScriptArchive>(
            std::make_shared<torchscript::ScriptProgram>(torchscript::ProgramSource{}),
            make_counted<ObjectValue>(std::make_shared<ClassType>("__torch__.M", ClassType::Form::kModule),
                                      0))) {}
  std::unique_ptr<BoundProgram> bind(const TraceOptions&, const SpentUnits&) const override {
    return nullptr;
  }
};

struct Fixture {
  EmptyProgram program;
  TraceOptions options;
  Budget budget{options.limits, 0};
  Findings findings;
  Run run{program, options, budget};
  RunState state{run};
  Recorder recorder{state};
  ShapePropagation propagation{recorder};
  Evaluator evaluator{propagation};
};

// x : float32[n,4]
Value tensor_proxy(NodeRef node = {}) {
  return make_proxy(node, tensor_type(),
                    AbstractValue{TensorInfo{{SymInt::symbol("n"), 4}, ScalarType::kFloat32}});
}

constexpr const char* kSizeOfTensor = R"(graph(%x : Tensor):
  %d : int = prim::Constant[value=1]()
  %n : int = aten::size(%x, %d)
  %two : int = prim::Constant[value=2]()
  %m : int = aten::mul(%n, %two)
  return (%m)
)";

const IrNode* node_of(const IrGraph& graph, const std::string& kind) {
  for (const IrNode* node : graph.nodes()) {
    if (to_text(node->kind()) == kind) return node;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("layers: plain values are computed without a graph", "[torchscript]") {
  Fixture with;
  const auto graph = torchscript::parse_ir(R"(graph(%n : int):
  %two : int = prim::Constant[value=2]()
  %c : bool = aten::gt(%n, %two)
  %m : int = prim::If(%c)
    block0():
      %a : int = aten::mul(%n, %two)
      -> (%a)
    block1():
      -> (%two)
  return (%m)
)");
  CHECK(with.evaluator.run_graph(*graph, {Value(3)}, "f").at(0).to_int() == 6);
  CHECK(with.evaluator.run_graph(*graph, {Value(1)}, "f").at(0).to_int() == 2);
  // A value that is not known is refused where nothing is recorded.
  CHECK_THROWS_AS(with.evaluator.run_graph(*graph, {make_proxy(NodeRef{}, int_type())}, "f"), TraceFailure);
}

TEST_CASE("layers: what is known of a tensor answers without a graph", "[torchscript]") {
  Fixture with;
  with.run.shapes = true;
  const auto graph = torchscript::parse_ir(kSizeOfTensor);
  CHECK(with.evaluator.run_graph(*graph, {tensor_proxy()}, "f").at(0).to_int() == 8);

  const auto relu = torchscript::parse_ir(R"(graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  return (%y)
)");
  const IrNode* node = node_of(*relu, "aten::relu");
  REQUIRE(node != nullptr);
  const auto results = with.propagation.infer_results(node, *node->operator_schema(), {tensor_proxy()});
  REQUIRE(results.at(0).tensor() != nullptr);
  CHECK(results.at(0).tensor()->sizes == known_of(tensor_proxy()).tensor()->sizes);
  CHECK(with.propagation.either(tensor_proxy(), tensor_proxy()) == known_of(tensor_proxy()));
}

TEST_CASE("layers: what is known of an operator counts where an archive declares it, too", "[torchscript]") {
  torchscript::OperatorTable operators;
  const FunctionSchema* nms = operators.declare(
      "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", nullptr);
  torchscript::IrGraph graph;
  IrNode* node = graph.insert(graph.create(torchscript::intern(nms->name)));
  node->set_operator_schema(nms);
  CHECK(is_pure(*node));
}

TEST_CASE("layers: values are recorded as arguments of nodes", "[torchscript]") {
  Fixture with;
  const ModuleFacts facts(with.program);
  const LeafRules rules(with.options, with.program);
  const std::vector<FixedInput> fixed;
  FailedModules failed;
  GraphTracer tracer(facts, rules, with.options.limits.nodes, failed, ModuleId{0}, fixed);
  Recorder recorder(with.state, &with.findings, &tracer);
  const Value x = tensor_proxy(tracer.ref(tracer.placeholder("x", {}, {})));
  const Value list = make_list(tensor_type(), {x, Value()});
  const Value sum = recorder.apply("operator.add", {list, Value(1)}, tensor_type(), nullptr);
  REQUIRE(recorder.find_recorded(sum) != nullptr);
  const auto& node = tracer.graph().node(recorder.find_recorded(sum)->ref.node);
  REQUIRE(node.args.size() == 2);
  const auto* items = node.args[0].get_if<Argument::List>();
  REQUIRE((items != nullptr && items->items.size() == 2));
  CHECK(items->items[0] == Argument(recorder.find_recorded(x)->ref.node));
  CHECK(items->items[1] == Argument(Argument::None{}));
  CHECK(node.args[1] == Argument(1));
  // An attempt that is rolled back leaves nothing.
  const auto before = tracer.graph().size();
  const Checkpoint before_it = recorder.checkpoint();
  recorder.apply("operator.neg", {sum}, tensor_type(), nullptr);
  CHECK(tracer.graph().size() == before + 1);
  recorder.back_to(before_it);
  CHECK(tracer.graph().size() == before);
}
