// TorchScript IR: blocks, values, uses, and edits.
#include "torchscript/ir/ir.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.h"
#include "support/error.h"
#include "tests/forms/ir_text.h"
#include "torchscript/operators/operator_table.h"

namespace fxtrace::internal::torchscript {

TEST_CASE("script ir: text there and back") {
  const std::string text = R"(graph(%self : __torch__.Net,
      %x : Tensor,
      %pair : (Tensor, Dict(str, int[])?)):
  %one : int = prim::Constant[value=1]()
  %4 : float[] = prim::Constant[value=[1., 0.10000000000000001]]()
  %5 : str = prim::Constant[value="a\n\"b\""]()
  %6 : bool = prim::Constant[value=1]()
  %7 : NoneType = prim::Constant()
  %y : Tensor = prim::Loop(%one, %6, %x)
    block0(%i : int, %before : Tensor):
      %after : Tensor = aten::add(%before, %i, %one)
      %z : Tensor = prim::If(%6)
        block0():
          -> (%after)
        block1():
           = prim::RaiseException(%5, %7)
          -> (%before)
      -> (%6, %z)
  %w : Tensor = prim::CallMethod[name="forward"](%self, %y)
  %18 : bool = prim::isinstance[types=[Tensor, NoneType]](%w)
  return (%w)
)";
  const auto graph = parse_ir(text);
  const std::string once = to_text(*graph);
  CHECK(to_text(*parse_ir(once)) == once);
  CHECK(once.find("aten::add(%before, %i, %one)") != std::string::npos);
  CHECK(once.find("prim::Constant[value=[1., 0.10000000000000001]]()") != std::string::npos);
  CHECK(once.find("types=[Tensor, NoneType]") != std::string::npos);
  const IrNode* loop = graph->return_node()->previous()->previous()->previous();
  REQUIRE(loop->is(Symbol::kPrimLoop));
  const IrNode* add = loop->blocks()[0]->nodes().front();
  REQUIRE(add->operator_schema() != nullptr);
  CHECK(add->operator_schema()->row->name == "aten::add.Scalar");
  CHECK_THROWS_AS(parse_ir("graph(%x : Tensor):\n  return (%y)\n"), Error);
  CHECK_THROWS_AS(parse_ir("graph(%x : Tensor):\n"), Error);
}

TEST_CASE("script ir: graphs of the interpreter's cases are read") {
  for (const auto& entry : std::filesystem::directory_iterator(FXTRACE_SOURCE_DIR "/tests/interpreter")) {
    std::ifstream file(entry.path());
    std::string line, ir;
    const auto finish = [&] {
      if (!ir.empty()) {
        INFO(entry.path() << "\n" << ir);
        const std::string once = to_text(*parse_ir(ir));
        CHECK(to_text(*parse_ir(once)) == once);
      }
      ir.clear();
    };
    while (std::getline(file, line) && line != "----") {
      if (line.starts_with("module ") || (!line.empty() && line[0] != ' ')) finish();
      if (line.find("(%self") != std::string::npos && line[0] != ' ') {
        ir = "graph" + line.substr(line.find('(')) + "\n";
      } else if (!ir.empty()) {
        ir += line + "\n";
      }
    }
    finish();
  }
}

TEST_CASE("script ir: changes keep uses right") {
  IrGraph graph;
  IrValue* x = graph.block()->add_input(tensor_type(), "x");
  IrValue* y = graph.block()->add_input(tensor_type(), "y");
  IrNode* node = graph.insert(graph.create(intern("aten::cat"), {x, x, y, x}));
  node->remove_input(0);
  node->insert_input(1, x);
  node->remove_input(0);
  node->insert_input(0, y);
  CHECK(node->inputs() == std::vector<IrValue*>{y, x, y, x});
  x->replace_all_uses_with(y);
  CHECK(y->uses().size() == 4);
  node->permute_inputs({3, 2, 1, 0});
  for (const IrUse& use : y->uses()) CHECK(use.user->input(use.offset) == y);
  node->remove_all_inputs();
  CHECK_FALSE(y->has_uses());
}

TEST_CASE("script ir: overloads come in LibTorch's order") {
  std::vector<std::string> names;
  for (const FunctionSchema* schema : registered_overloads(intern("aten::sum")))
    names.push_back(schema->overload_name);
  CHECK(names ==
        std::vector<std::string>{"dim_IntList", "", "IntList_out", "out", "int", "float", "complex", "bool"});
  std::size_t count = 0;
  for (const Operator& row : registered_operators())
    count += registered_overloads(intern(row.base_name())).size();
  CHECK(count >= registered_operators().size());
}

}  // namespace fxtrace::internal::torchscript
