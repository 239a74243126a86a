// Code in, graph out: the graphs are those of torch 2.13, but for the numbers of values and where constants
// stand.
#include "script/compiler.h"

#include <map>

#include "catch.h"
#include "script/ir_text.h"
#include "script/program.h"
#include "support/error.h"

namespace fxtrace::script {
namespace {

// A program of one file, "__torch__".
std::unique_ptr<Program> program_of(const std::string& code, std::uint64_t version = 10) {
  ProgramSource source;
  source.read_code = [code](const std::string& qualifier) -> std::optional<std::string> {
    if (qualifier == "__torch__") return code;
    return std::nullopt;
  };
  source.constant_types = {tensor_type()};
  source.operator_version = version;
  return std::make_unique<Program>(std::move(source));
}

std::string graph_of(const std::string& code, const std::string& name = "__torch__.f",
                     std::uint64_t version = 10) {
  const auto program = program_of(code, version);
  Function* function = program->find_function(name);
  REQUIRE(function != nullptr);
  return to_text(function->graph());
}

std::string failure_of(const std::string& code) {
  try {
    graph_of(code);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("script compiler: branches and loops") {
  CHECK(graph_of(R"(
def f(x: Tensor, n: int) -> Tensor:
  y = x
  for i in range(n):
    if torch.gt(i, 2):
      y0 = torch.add(y, i)
      y1 = y0
    else:
      y1 = y
    y = y1
  return y
)") == R"(graph(%x : Tensor,
      %n : int):
  %5 : int = prim::Constant[value=1]()
  %6 : bool = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=2]()
  %y : Tensor = prim::Loop(%n, %6, %x)
    block0(%i : int, %y.1 : Tensor):
      %10 : bool = aten::gt(%i, %9)
      %y1 : Tensor = prim::If(%10)
        block0():
          %y0 : Tensor = aten::add(%y.1, %i, %5)
          -> (%y0)
        block1():
          -> (%y.1)
      -> (%6, %y1)
  return (%y)
)");
}

TEST_CASE("script compiler: operators of old archives mean what they meant") {
  const std::string code = R"(
def f(x: Tensor) -> Tensor:
  y = torch.gelu(torch.div(x, 2.))
  return torch.add(y, torch.linspace(0, 1))
)";
  CHECK(graph_of(code, "__torch__.f", 3) == R"(graph(%x : Tensor):
  %18 : int = prim::Constant[value=0]()
  %19 : int = prim::Constant[value=1]()
  %20 : NoneType = prim::Constant()
  %35 : float = prim::Constant[value=2.]()
  %15 : str = prim::Constant[value="none"]()
  %22 : int = prim::Constant[value=100]()
  %8 : Tensor = aten::div(%x, %35)
  %y : Tensor = aten::gelu(%8, %15)
  %25 : Tensor = aten::linspace(%18, %19, %22, %20, %20, %20, %20)
  %28 : Tensor = aten::add(%y, %25, %19)
  return (%28)
)");
  const std::string integers =
      graph_of("def f(x: Tensor) -> Tensor:\n  return torch.div(x, x)\n", "__torch__.f", 3);
  CHECK(integers.find("aten::is_floating_point") != std::string::npos);
  CHECK(graph_of("def f(x: Tensor) -> Tensor:\n  return torch.div(x, x)\n").find("is_floating_point") ==
        std::string::npos);
}

TEST_CASE("script compiler: what cannot be compiled") {
  CHECK(failure_of("def f(x: Tensor) -> Tensor:\n  return y\n").starts_with("undefined value y\n"));
  CHECK(failure_of("def f(x: Tensor) -> Tensor:\n  return torch.nonsense(x)\n")
            .starts_with("Unknown builtin op: aten::nonsense."));
  CHECK(failure_of("def f(x: Tensor) -> int:\n  return \"a\"\n")
            .starts_with("Return value was annotated as having type int but is actually of type str"));
  CHECK(failure_of("def f(x: Tensor):\n  return __torch__.f(x)\n").find("recursively") != std::string::npos);
}

}  // namespace fxtrace::script
