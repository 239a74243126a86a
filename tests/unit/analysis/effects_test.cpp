// The effects of calls, and what programs are told of them.
#include "analysis/effects.h"

#include <string>
#include <tuple>
#include <utility>

#include "analysis/program_operations.h"
#include "catch.h"
#include "graph/rewrite.h"
#include "opinfo/traits.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

// A call whose operands are all new values, with the operator's fact in the table.
ExportedGraph call_of(const Operator& op) {
  ExportedGraph made;
  const OperatorEntry& entry = entry_of(op);
  auto spec = spec_of(Opcode::kCallFunction, entry.target);
  for (const SchemaArgument& argument : entry.schema.arguments) {
    const Argument value(made.append_value(spec_of(Opcode::kPlaceholder, "x"), argument.name));
    if (argument.keyword_only)
      spec.kwargs.emplace_back(argument.name, value);
    else
      spec.args.push_back(value);
  }
  made.table.at(made.append_value(std::move(spec), "call")).op = &op;
  return made;
}

}  // namespace

TEST_CASE("effects: calls have no effect that traits of their operators exclude", "[analysis]") {
  for (const Operator& op : registered_operators()) {
    const ExportedGraph made = call_of(op);
    const NodeId call = made.module_graph.graph.last();
    const Effect effect = effect_of(made.view(), call);
    INFO(op.base_name() << "." << op.signature);
    if (is_pure(&op)) CHECK(effect <= Effect::kPure);
    if (!may_write(&op))
      CHECK(effects_of_operator(made.module_graph.graph, made.module_graph.graph.node(call), entry_of(op))
                .written.empty());
  }
}

TEST_CASE("effects: arguments decide what a call of a program does", "[analysis]") {
  const auto look = [](const std::string& call) {
    ExportedGraph made;
    made.module_graph.graph = parse_graph("%x = placeholder[x]() -> float32[2]\n%call = call_function[" +
                                          call + " -> float32[2]\n%output = output[output](%call)");
    const NodeId id = node_named(made.module_graph.graph, "call");
    made.table.at(id).op = find_operator(target_parts(made.module_graph.graph.node(id)));
    bool is_handed_on = false;
    for_each_handed_on(made.view(), id, [&](NodeId, NodeId) { is_handed_on = true; });
    return std::tuple(effect_of(made.view(), id), is_handed_on, !may_give_back(made.view(), id).empty());
  };
  using enum Effect;
  CHECK(look("aten.dropout.default](%x, 0.5, True)") == std::tuple(kRandom, false, false));
  CHECK(look("aten.dropout.default](%x, 0.5, False)") == std::tuple(kPure, false, true));
  CHECK(look("aten.dropout.default](%x, 0.0, True)") == std::tuple(kPure, false, true));
  CHECK(look("aten.native_dropout.default](%x, 0.0, True)") == std::tuple(kRandom, false, false));
  CHECK(look("aten.add_.Tensor](%x, %x)") == std::tuple(kWrites, true, false));
  CHECK(look("aten.batch_norm.default](%x, None, None, %x, %x, False, 0.1, 1e-05, False)") ==
        std::tuple(kPure, false, false));
  CHECK(look("aten.batch_norm.default](%x, None, None, %x, %x, True, 0.1, 1e-05, False)") ==
        std::tuple(kWrites, false, false));
  CHECK(look("aten.to.prim_dtype](%x, None, False, True)") == std::tuple(kPure, false, false));
  CHECK(look("aten.to.prim_dtype](%x, None, False, False)") == std::tuple(kPure, false, true));
  CHECK(look("aten.sym_size.int](%x, 0)") == std::tuple(kSymbolic, false, false));
  CHECK(look("operator.neg](%x)") == std::tuple(kSymbolic, false, false));
  CHECK(look("mine.f.default](%x)") == std::tuple(kWrites, false, false));
}
