// The compiler of TorchScript code: the graphs are those of torch 2.13, except for the numbers of values and
// the places of constants.
#include "torchscript/compiler/script_program.h"

#include <cmath>
#include <complex>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>

#include "catch.h"
#include "support/error.h"
#include "tests/forms/ir_check.h"
#include "tests/forms/ir_text.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {
namespace {

// A program of one file, "__torch__".
std::unique_ptr<ScriptProgram> program_of(const std::string& code, std::uint64_t version = 10) {
  ProgramSource source;
  source.read_code = [code](const std::string& qualifier) -> std::optional<std::string> {
    if (qualifier == "__torch__") return code;
    return std::nullopt;
  };
  source.constant_types = {tensor_type()};
  source.operator_version = version;
  return std::make_unique<ScriptProgram>(std::move(source));
}

std::string graph_of(const std::string& code, const std::string& name = "__torch__.f",
                     std::uint64_t version = 10) {
  const auto program = program_of(code, version);
  Function* function = program->find_function(name);
  REQUIRE(function != nullptr);
  const IrGraph& graph = function->graph();
  CHECK(find_flaw(graph) == std::nullopt);
  return to_text(graph);
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

TEST_CASE("script compiler: a tensor of the table is the default of an argument") {
  const auto program = program_of(R"(
def f(x: Tensor, y: Tensor=CONSTANTS.c0, n: int=7 - 2 * 3) -> Tensor:
  return torch.add(x, y)
)");
  const FunctionSchema& schema = program->find_function("__torch__.f")->schema();
  REQUIRE(schema.arguments.size() == 3);
  CHECK(schema.arguments[1].default_value == ScriptConstant(ScriptConstant::TableEntry{0}));
  CHECK(schema.arguments[2].default_value == ScriptConstant(std::int64_t{1}));
}

TEST_CASE("script compiler: numbers without a literal are defaults of arguments") {
  const auto program = program_of(
      "def f(a: float=-inf, b: float=float(\"inf\"), c: complex=-infj, d: float=-nan, "
      "e: int=-(3), f: float=float(\"-inf\")) -> int:\n  return 1\n");
  const FunctionSchema& schema = program->find_function("__torch__.f")->schema();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  REQUIRE(schema.arguments.size() == 6);
  CHECK(schema.arguments[0].default_value == ScriptConstant(-kInfinity));
  CHECK(schema.arguments[1].default_value == ScriptConstant(kInfinity));
  CHECK(schema.arguments[2].default_value == ScriptConstant(std::complex<double>(-0.0, -kInfinity)));
  CHECK(std::isnan(*schema.arguments[3].default_value->get_if<double>()));
  CHECK(schema.arguments[4].default_value == ScriptConstant(std::int64_t{-3}));
  CHECK(schema.arguments[5].default_value == ScriptConstant(-kInfinity));
}

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
  %7 : int = prim::Constant[value=2]()
  %4 : bool = prim::Constant[value=1]()
  %11 : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %4, %x)
    block0(%i : int, %y.1 : Tensor):
      %8 : bool = aten::gt(%i, %7)
      %y1 : Tensor = prim::If(%8)
        block0():
          %y0 : Tensor = aten::add(%y.1, %i, %11)
          -> (%y0)
        block1():
          -> (%y.1)
      -> (%4, %y1)
  return (%y)
)");
}

TEST_CASE("script compiler: operators that are gone are what LibTorch writes in their place") {
  CHECK(graph_of(R"(
def f(x: Tensor) -> Tensor:
  _0 = torch._pair(3)
  _1 = torch._assert_int_or_pair(_0, "size", "no")
  return torch.mul(x, (ops.prim.shape(x))[torch.sub((_0)[0], 2)])
)") == R"(graph(%x : Tensor):
  %1 : int = prim::Constant[value=3]()
  %11 : int = prim::Constant[value=0]()
  %13 : int = prim::Constant[value=2]()
  %2 : int[] = prim::ListConstruct(%1, %1)
  %9 : int[] = aten::size(%x)
  %12 : int = aten::__getitem__(%2, %11)
  %14 : int = aten::sub(%12, %13)
  %15 : int = aten::__getitem__(%9, %14)
  %16 : Tensor = aten::mul(%x, %15)
  return (%16)
)");
  CHECK(failure_of("def f(x: Tensor) -> List[int]:\n  return torch._pair(\"a\")\n").find("_pair") !=
        std::string::npos);
}

TEST_CASE("script compiler: operators of old archives mean what they meant") {
  const std::string code = R"(
def f(x: Tensor) -> Tensor:
  y = torch.gelu(torch.div(x, 2.))
  return torch.add(y, torch.linspace(0, 1))
)";
  CHECK(graph_of(code, "__torch__.f", 3) == R"(graph(%x : Tensor):
  %20 : NoneType = prim::Constant()
  %28 : int = prim::Constant[value=1]()
  %18 : int = prim::Constant[value=0]()
  %31 : float = prim::Constant[value=2.]()
  %15 : str = prim::Constant[value="none"]()
  %21 : int = prim::Constant[value=100]()
  %8 : Tensor = aten::div(%x, %31)
  %y : Tensor = aten::gelu(%8, %15)
  %25 : Tensor = aten::linspace(%18, %28, %21, %20, %20, %20, %20)
  %29 : Tensor = aten::add(%y, %25, %28)
  return (%29)
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

TEST_CASE(
    "script compiler: a NamedTuple that cannot be read does not count as one that others are nested in") {
  const auto program = program_of(
      "class Bad(NamedTuple):\n  x : __torch__.Missing\n"
      "class Good(NamedTuple):\n  x : int\n"
      "def g(a: __torch__.Bad) -> int:\n  return 1\n"
      "def f(a: __torch__.Good) -> int:\n  return a.x\n");
  for (int i = 0; i < 50; ++i) CHECK_THROWS_AS(program->find_type("__torch__.Bad"), Error);
  CHECK_NOTHROW(program->find_function("__torch__.f")->graph());
}

TEST_CASE("script compiler: what follows an exception is removed") {
  CHECK(graph_of(R"(
class C:
  def __enter__(self: __torch__.C) -> NoneType:
    return None
  def __exit__(self: __torch__.C, type: Any, value: Any, trace: Any) -> NoneType:
    return None
def f(c: __torch__.C, x: Tensor, go: bool) -> Tensor:
  with c:
    if go:
      ops.prim.RaiseException("a")
      y = torch.neg(x)
      ops.prim.RaiseException("b")
    else:
      with c:
        ops.prim.RaiseException("c")
        with c:
          print(x)
      y = torch.relu(x)
    print(y)
  return torch.neg(y)
)") == R"(graph(%c : __torch__.C,
      %x : Tensor,
      %go : bool):
  %6 : str = prim::Constant[value="a"]()
  %7 : NoneType = prim::Constant()
  %15 : str = prim::Constant[value="c"]()
  %33 : Tensor = prim::Uninitialized()
  %4 : NoneType = prim::Enter(%c)
   = prim::If(%go)
    block0():
       = prim::RaiseException(%6, %7)
      -> ()
    block1():
      %14 : NoneType = prim::Enter(%c)
       = prim::RaiseException(%15, %7)
      %21 : Tensor = prim::Exit(%c)
      -> ()
  %27 : Tensor = prim::Exit(%c)
  return (%33)
)");
}

TEST_CASE("script compiler: functions that no version of PyTorch writes are refused") {
  for (const char* name : {"dict", "enumerate", "hasattr", "list", "tuple", "zip"})
    CHECK(failure_of("def f(x: Tensor) -> Tensor:\n  y = " + std::string(name) + "(x)\n  return x\n")
              .starts_with("`" + std::string(name) + "()` is in no code that torch.jit.save writes"));
}

TEST_CASE("script compiler: what people write by hand holds together") {
  std::ifstream file(FXTRACE_SOURCE_DIR "/tests/script_code/expressions.py");
  const std::string code((std::istreambuf_iterator<char>(file)), {});
  const auto program = program_of(code);
  const ScriptProgram::CodeFile* parsed = program->find_file("__torch__");
  REQUIRE(parsed != nullptr);
  REQUIRE(parsed->parsed.definitions.size() > 10);
  for (const Tree* definition : parsed->parsed.definitions) {
    INFO(definition->text);
    CHECK(find_flaw(program->find_function("__torch__." + std::string(definition->text))->graph()) ==
          std::nullopt);
  }
}

TEST_CASE("script compiler: classes") {
  const std::string code = R"(
class Net(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["mean", ]
  __forward_pre_hooks__ = ["before", ]
  __annotations__ = []
  __annotations__["0"] = __torch__.Net
  weight : Tensor
  mean : Tensor
  training : bool
  names : Final[List[str]] = ["a", "b"]
  def forward(self: __torch__.Net,
    x: Tensor) -> Tuple[Tensor, __torch__.Pair]:
    c = __torch__.Color.RED
    p = __torch__.Pair(x, )
    y = (getattr(self, "0")).other(c, )
    return (y, p)
  def other(self: __torch__.Net,
    c: __torch__.Color) -> Tensor:
    return torch.mul(self.weight, c.value)
  def before(self: __torch__.Net,
    inputs: Tuple[Tensor]) -> Tuple[Tensor]:
    return inputs
class Color(Enum):
  RED = 1
  BLUE = 2
class Pair(NamedTuple):
  a : Tensor
  b : int = 3
)";
  const auto program = program_of(code);
  const TypePtr type = program->find_type("__torch__.Net");
  REQUIRE(type != nullptr);
  const auto& net = *type->as<ClassType>();
  CHECK(net.is_module());
  CHECK(net.attributes().size() == 4);
  CHECK(net.find_attribute("weight")->is_parameter);
  CHECK(net.find_attribute("mean")->is_buffer);
  CHECK(*net.find_attribute("0")->type == *type);
  CHECK(net.find_constant("names") != nullptr);
  CHECK(net.methods().size() == 2);
  CHECK(net.find_hook("before") != nullptr);
  CHECK(to_text(net.get_method("forward")->graph()) == R"(graph(%self : __torch__.Net,
      %x : Tensor):
  %c : Enum<__torch__.Color> = prim::Constant[value=__torch__.Color.RED]()
  %4 : int = prim::Constant[value=3]()
  %p : NamedTuple(a : Tensor, b : int) = prim::TupleConstruct(%x, %4)
  %_0 : __torch__.Net = prim::GetAttr[name="0"](%self)
  %y : Tensor = prim::CallMethod[name="other"](%_0, %c)
  %12 : (Tensor, NamedTuple(a : Tensor, b : int)) = prim::TupleConstruct(%y, %p)
  return (%12)
)");
}

TEST_CASE("script compiler: code that unfolds without end is refused") {
  std::string index = "x";
  for (int i = 0; i < 60; ++i) index = "x[" + index + "]";
  CHECK(graph_of("def f(x: Tensor) -> Tensor:\n  return " + index + "\n").size() < 20'000);
  std::string chain;
  for (int i = 0; i < 3000; ++i)
    chain += "class C" + std::to_string(i) + "(Module):\n  a : __torch__.C" + std::to_string(i + 1) + "\n";
  const auto program = program_of(chain + "class C3000(Module):\n  b : int\n");
  CHECK(program->find_type("__torch__.C0") != nullptr);
  std::string calls;
  for (int i = 0; i < 3000; ++i)
    calls +=
        "def g" + std::to_string(i) + "(x: Tensor):\n  return __torch__.g" + std::to_string(i + 1) + "(x)\n";
  CHECK_THROWS_AS(graph_of(calls, "__torch__.g0"), Error);
}

TEST_CASE("script compiler: inputs are not free") {
  std::string arguments, calls;
  for (int i = 0; i < 3000; ++i) {
    arguments += "a" + std::to_string(i) + ": int=1, ";
    calls += "  y = __torch__.g()\n";
  }
  const std::string many = "def g(" + arguments + ") -> int:\n  return 1\n";
  CHECK(failure_of(many + "def f() -> int:\n  y = 1\n" + calls + "  return y\n").find("unfolds to more") !=
        std::string::npos);
}

TEST_CASE("script compiler: all functions together are limited by the code that is there") {
  // Each function calls one with many defaults: small texts give large graphs.
  std::string arguments, functions;
  for (int i = 0; i < 2000; ++i) arguments += "a" + std::to_string(i) + ": int=1, ";
  std::string body;
  for (int i = 0; i < 90; ++i) body += "  y = __torch__.g()\n";
  for (int i = 0; i < 20; ++i)
    functions += "def f" + std::to_string(i) + "() -> int:\n  y = 1\n" + body + "  return y\n";
  const auto program = program_of("def g(" + arguments + ") -> int:\n  return 1\n" + functions);
  int compiled = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      program->find_function("__torch__.f" + std::to_string(i))->graph();
      ++compiled;
    } catch (const Error&) {
      CHECK(compiled > 0);
    }
  }
  CHECK(compiled > 2);
  CHECK(compiled < 20);
}

TEST_CASE("script compiler: text of the table of constants is text") {
  const auto program = program_of("def f(x: str) -> str:\n  return torch.add(CONSTANTS.c1, x)\n");
  program->set_constants({tensor_type(), string_type()}, {{1, "\303\251"}});
  const IrGraph& graph = program->find_function("__torch__.f")->graph();
  CHECK(to_text(graph) == R"(graph(%x : str):
  %1 : str = prim::Constant[value="\303\251"]()
  %3 : str = aten::add(%1, %x)
  return (%3)
)");
}

TEST_CASE("script compiler: complex defaults, lists of tensors' elements, empty tuples") {
  const auto program = program_of("def f(a: complex=0.+2.j, b: complex=1-2.5j) -> complex:\n  return a\n");
  const FunctionSchema& schema = program->find_function("__torch__.f")->schema();
  CHECK(schema.arguments[0].default_value == ScriptConstant(std::complex<double>(0, 2)));
  CHECK(schema.arguments[1].default_value == ScriptConstant(std::complex<double>(1, -2.5)));
  CHECK(graph_of(R"(
def f(x: Tensor) -> List[List[float]]:
  y = annotate(List[List[float]], x.tolist())
  return y
)") == R"(graph(%x : Tensor):
  %2 : int = prim::Constant[value=2]()
  %3 : int = prim::Constant[value=1]()
  %y : float[][] = prim::tolist(%x, %2, %3)
  return (%y)
)");
  CHECK(graph_of("def f() -> Tuple[Tuple[()], int]:\n  return ((), 1)\n").find("value=((), 1)") !=
        std::string::npos);
}

TEST_CASE("script compiler: time goes with the size of classes, enums and calls") {
  constexpr int kMany = 20'000;  // comparing each with all others would take many seconds
  std::string members, uses, constants, gets, arguments, keywords;
  for (int i = 0; i < kMany; ++i) {
    const std::string number = std::to_string(i);
    members += "  m" + number + " = " + number + "\n";
    uses += "  e = __torch__.E.m" + number + "\n";
    constants += "  c" + number + " : Final[int] = 1\n";
    gets += "    y = self.c" + number + "\n";
    arguments += "a" + number + ": int=1, ";
    keywords = "a" + number + "=2, " + keywords;
  }
  const auto program = program_of(
      "class E(Enum):\n" + members + "def f() -> int:\n" + uses + "  return 1\nclass M(Module):\n" +
      constants + "  def forward(self: __torch__.M) -> int:\n    y = 1\n" + gets + "    return y\ndef g(" +
      arguments + ") -> int:\n  return a0\ndef h() -> int:\n  return __torch__.g(" + keywords + ")\n");
  CHECK_FALSE(program->find_function("__torch__.f")->graph().nodes().empty());
  const TypePtr type = program->find_type("__torch__.M");
  CHECK(type->as<ClassType>()->get_method("forward")->graph().outputs().size() == 1);
  CHECK(program->find_function("__torch__.h")->graph().outputs().size() == 1);
}

namespace {

// Returns what the code of f(x: Tensor) tells of the operators ns::a and ns::b.
std::string schemas_of(const std::string& statements) {
  const auto program = program_of("def f(x: Tensor) -> Tensor:\n  " + statements + R"(
def g(x: Tensor, n: int, l: List[float]) -> Tensor:
  return x
)");
  UndeclaredCalls calls;
  calls["ns::a"], calls["ns::b"];
  program->undeclared = &calls;
  CHECK_THROWS_AS(program->find_function("__torch__.f")->graph(), UndeclaredCall);
  std::string text;
  for (const auto& [name, found] : calls) {
    if (found.callers.empty()) continue;
    const auto [schema, is_complete] = infer_schema(name, found);
    text += (text.empty() ? "" : "; ") + schema.substr(4) + (is_complete ? "" : " (incomplete)");
  }
  return text;
}

}  // namespace

TEST_CASE("script compiler: calls tell the types of an undeclared operator") {
  const auto [code, schemas] = GENERATE(table<std::string, std::string>(
      {{"return ops.ns.a(x, 1, [2.0], None, flag=True)",
        "a(Tensor arg0, int arg1, float[] arg2, Any arg3, *, bool flag) -> Tensor"},
       {"_0 = ops.ns.a(x)\n  return x", "a(Tensor arg0) -> Any"},
       {"ops.ns.a(x)\n  return x", "a(Tensor arg0) -> ()"},
       {"ops.ns.a(x)\n  return ops.ns.a(x)", "a(Tensor arg0) -> () (incomplete)"},
       {"a, b, = ops.ns.a(x)\n  return torch.relu(b)", "a(Tensor arg0) -> (Any, Tensor)"},
       {"_0 : Tuple[Tensor, int] = ops.ns.a(x)\n  return x", "a(Tensor arg0) -> (Tensor, int)"},
       {"_0 = annotate(Optional[Tensor], ops.ns.a(x))\n  return x", "a(Tensor arg0) -> ? (incomplete)"},
       // Parameters of functions and operators; of an operator if all overloads agree.
       {"return __torch__.g(x, ops.ns.a(x), ops.ns.b(x))",
        "a(Tensor arg0) -> int; b(Tensor arg0) -> float[]"},
       {"return torch.view(torch.cat([ops.ns.a(x), x]), ops.ns.b(x))",
        "a(Tensor arg0) -> Tensor; b(Tensor arg0) -> int[]"},
       {"return torch.mul(x, ops.ns.a(x))", "a(Tensor arg0) -> ? (incomplete)"},
       {"return torch.mul(ops.ns.a(x), x)", "a(Tensor arg0) -> Tensor"},
       // Calls are joined; what one gives another takes.
       {"_0 = ops.ns.a(x, 1)\n  return ops.ns.a(_0, None)", "a(Tensor arg0, int? arg1) -> Tensor"},
       {"_0 = ops.ns.a(x, 1)\n  return ops.ns.a(x, 1.5)", "a(Tensor arg0, Any arg1) -> Tensor"},
       {"_0 = ops.ns.a(x, 1)\n  return ops.ns.a(x)", "a(Tensor arg0, int arg1) -> Tensor (incomplete)"},
       {"return ops.ns.b(ops.ns.a(x))", "a(Tensor arg0) -> ? (incomplete); b(Any arg0) -> Tensor"},
       // Control flow.
       {"if ops.ns.a(x):\n    y = x\n  else:\n    y = ops.ns.b(x)\n  return y",
        "a(Tensor arg0) -> bool; b(Tensor arg0) -> Tensor"},
       {"y = x\n  for i in range(3):\n    y = ops.ns.a(y, i)\n  return y",
        "a(Tensor arg0, int arg1) -> Tensor"},
       // After what cannot be compiled nothing is seen.
       {"_0 = ops.ns.a(x)\n  _1 = _0[0]\n  return ops.ns.b(x)", "a(Tensor arg0) -> ? (incomplete)"}}));
  CAPTURE(code);
  CHECK(schemas_of(code) == schemas);
}

}  // namespace fxtrace::internal::torchscript
