// The writer of Python code for torch.fx.
#include "writers/graphs/fx_writer.h"

#include <cmath>
#include <sstream>
#include <string>

#include "catch.h"
#include "sample_collection.h"
#include "writers/formats/python_text.h"

using namespace fxtrace::internal;

namespace {

std::string source_of(const GraphCollection& collection) {
  std::ostringstream out;
  write_fx(collection, out);
  return out.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A collection of one graph, of an archive.
GraphCollection collection_of(ModuleGraph graph) {
  GraphCollection collection;
  collection.model = {"model.pt", "torchscript", "pkg.Net", "forward", "3"};
  collection.modules = {{"", "pkg.Net", ModuleStatus::kTraced, {}, {}, 1, {}}};
  collection.graphs.push_back(std::move(graph));
  return collection;
}

// Returns the lines behind "def forward", without their indentation, up to the end of the class.
std::string forward_of(const std::string& text, const std::string& type = "pkg.Net") {
  const std::string source = source_of(collection_of(module_graph("", type, text)));
  const auto start = source.find("    def forward");
  REQUIRE(start != std::string::npos);
  std::string lines;
  std::istringstream in(source.substr(start));
  for (std::string line; std::getline(in, line);) {
    lines += line.substr(std::min<std::size_t>(line.find_first_not_of(' '), 8)) + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("Python's strings", "[fx_writer]") {
  struct Case {
    std::string text, quoted;
  };
  const Case cases[] = {
      {"", R"("")"},
      {"it's", R"("it's")"},
      {R"(say "hi")", R"("say \"hi\"")"},
      {R"(a\)", R"("a\\")"},
      {R"("""; import os)", R"("\"\"\"; import os")"},
      {"{x} %s", R"("{x} %s")"},
      {"a\nb\tc\rd", R"("a\nb\tc\rd")"},
      {std::string("\0\x1b\x7f", 3), R"("\x00\x1b\x7f")"},
      {"\xC2\x85", R"("\x85")"},
      {"\xE2\x80\xAE\xE2\x80\xA8", R"("\u202e\u2028")"},
      {"\xF3\xA0\x80\x81", R"("\U000e0001")"},
      {"gr\xC3\xBC\xC3\x9F", "\"gr\xC3\xBC\xC3\x9F\""},
      {"a\xFF", "\"a\xEF\xBF\xBD\""},
  };
  for (const auto& [text, quoted] : cases) CHECK(python_string(text) == quoted);
}

TEST_CASE("Python's names", "[fx_writer]") {
  for (const char* name : {"x", "_x", "x_1", "X", "print", "match", "type"}) CHECK(is_python_name(name));
  for (const char* name : {"", "1x", "a.b", "a b", "a\n", "__x", "__init__", "class", "None",
                           "gr\xC3\xBC"
                           "n"}) {
    CHECK_FALSE(is_python_name(name));
  }
  PythonNames outer;
  outer.reserve("torch");
  PythonNames names(&outer);
  names.reserve("self");
  CHECK(names.create("x") == "x");
  CHECK(names.create("x") == "x_1");
  CHECK(names.create("x_2") == "x_2");
  CHECK(names.create("x") == "x_3");
  CHECK(names.create("self") == "self_1");
  CHECK(names.create("torch") == "torch_1");
  CHECK(names.create("lambda") == "lambda_1");
  CHECK(names.create("a.b c") == "a_b_c");
  CHECK(names.create("1\n") == "_1_");
  CHECK(names.create("__class__") == "_class__");
  CHECK(names.create("\xE5\xB1\x82\xE5") == "x__");
  CHECK(names.create("") == "x_");
  CHECK(names.create("__") == "x__1");
}

TEST_CASE("what stands for a graph", "[fx_writer]") {
  const auto lines = forward_of(R"(
      %x = placeholder[x]() -> float32[2, n]
      %flag = placeholder[flag](True) -> bool
      %conv = call_module[conv](%x) -> float32[2, n]  # conv
      %conv_1 = call_module[conv](%conv, 2, out=None) -> Tensor  # conv
      %w = get_attr[a.0.weight]() -> float32[4]
      %add = call_function[aten.add.Tensor](%conv_1, %w, alpha=2)
      %random_ = call_function[aten.random_.from](%add, 0, 2)
      %and_ = call_function[aten.__and__.Tensor](%add, 1)
      %relu = call_function[torch.nn.functional.relu](%add, inplace=True)
      %chunk = call_function[aten.chunk.default](%relu, 2, -1)
      %getitem = call_function[operator.getitem](%chunk, 0)
      %getitem_1 = call_function[operator.getitem](%getitem, (slice(None, 1, None), None, slice(None, None, -1)))
      %dtype = call_function[builtins.getattr](%x, "dtype")
      %size = call_function[aten.size.int](%x, 0) -> int n
      %mul = call_function[operator.mul](%size, 2)
      %sub = call_function[operator.sub](%mul, -2)
      %neg = call_function[operator.neg](%sub)
      %pow_1 = call_function[operator.pow](2, %neg)
      %is_ = call_function[operator.is_](%x, None)
      %not_ = call_function[operator.not_](%is_)
      %len_1 = call_function[builtins.len](%chunk)
      %upper = call_function[builtins.str.upper]("a")
      %sqrt = call_function[math.sqrt](%mul)
      %to = call_function[aten.to.dtype](%x, dtype("float16"), layout("strided"), device("cuda:0"), memory_format("channels_last"))
      %push = call_method[push](%w, [1, (2,), {"a": None}], complex(1.0, -inf), 1e-05)
      %output = output[output]({"a": %to, "b": [%push, nan]}))");
  CHECK(lines == R"(def forward(
self,
x,  # float32[2, n]
flag=True,  # bool
):
conv = self.conv(x)  # float32[2, n]
conv_1 = self.conv(conv, 2, out=None)
w = self.a_0_weight  # float32[4]
add = torch.ops.aten.add.Tensor(conv_1, w, alpha=2)
random_ = getattr(torch.ops.aten.random_, "from")(add, 0, 2)
and_ = torch.ops.aten.__and__.Tensor(add, 1)
relu = torch.nn.functional.relu(add, inplace=True)
chunk = torch.ops.aten.chunk.default(relu, 2, -1)
getitem = chunk[0]
getitem_1 = getitem[:1, None, ::-1]
dtype = x.dtype
size = torch.ops.aten.size.int(x, 0)  # int n
mul = size * 2
sub = operator.sub(mul, -2)
neg = -sub
pow_1 = 2 ** neg
is_ = x is None
not_ = not is_
len_1 = len(chunk)
upper = str.upper("a")
sqrt = math.sqrt(mul)
to = torch.ops.aten.to.dtype(
    x, torch.float16, torch.strided, torch.device("cuda:0"), torch.channels_last
)
push = _object_method(w, "push")([1, (2,), {"a": None}], complex(1.0, float("-inf")), 1e-05)
return {"a": to, "b": [push, float("nan")]}
)");
}

TEST_CASE("a file of all that an archive has", "[fx_writer]") {
  const std::string source = source_of(sample_collection());
  CHECK(source == source_of(sample_collection()));
  CHECK(source.starts_with(R"("""Graphs of a model as torch.fx's own code, written by fxtrace )"));
  // The name of the model's file must not be in the first two lines, where it could declare an encoding.
  CHECK(contains(source,
                 "\"\"\"\n\n# Model: model.pt, TorchScript\n# Type: pkg.Net, method forward\n\n"
                 "import zipfile\n\nimport torch\n\n\ndef _value("));
  const auto start = source.find("# (root)");
  REQUIRE(start != std::string::npos);
  CHECK(source.substr(start) == R"(# (root): pkg.Net
class Net(torch.nn.Module):
    def __init__(self, model, archive):
        super().__init__()
        self.scale = _find(model, "scale")
        self.register_buffer(
            "_tensor_constant0", torch.tensor([1, 2, 3, 4], dtype=torch.int64).reshape((2, 2)), persistent=False
        )
        self.a_l = _find(model, "a.l")  # torch.nn.modules.linear.Linear
        self.b = _find(model, "b")  # pkg.Gate
        self.c = _find(model, "c")  # pkg.Gate
        self.register_buffer(
            "_tensor_constant1", _constant(archive, "constants/3", torch.float32, (2000,), (1,), 0), persistent=False
        )

    def forward(
        self,
        x,  # float32[1, batch]
    ):
        # Assumed: x.dim() == 2
        # Assumed: y
        scale = self.scale
        tensor_constant0 = self._tensor_constant0

        # a: pkg.Sub
        mul = torch.ops.aten.mul.Tensor(x, scale)
        a_l = self.a_l(mul)
        add_1 = torch.ops.aten.add.Tensor(a_l, tensor_constant0, alpha=2)

        # (root): pkg.Net
        b = self.b(add_1)
        c = self.c(b)
        cond = _cond(c, self.true_graph_0)
        run = _object_method(cond, "run")((slice(None, 1, 2),))
        tensor_constant1 = self._tensor_constant1
        return run

    def check(
        self,
        x,  # float32[1, batch]
    ):
        """Raises ValueError for inputs that the graph was not traced for."""
        _assume(x.dim() == 2, "x.dim() == 2")

    def true_graph_0(self, y):
        return y


# b.l: torch.nn.modules.linear.Linear
class Linear(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.b_l = _find(model, "b.l")  # torch.nn.modules.linear.Linear

    def forward(self, input):
        b_l = self.b_l(input)
        return b_l
)");
}

TEST_CASE("what exported programs add to a file", "[fx_writer]") {
  const std::string source = source_of(exported_collection());
  CHECK(contains(source, "# Model: model.pt2, exported program\n"));
  CHECK(contains(source, "        x,  # d[0]: float32[batch, 4]\n        n=3,  # int 3\n    ):\n"));
  CHECK(contains(
      source,
      R"(self.register_buffer("lifted_tensor_0", torch.tensor([1, 2], dtype=torch.int64), persistent=False))"));
  CHECK(contains(source, "cond = _cond(l, self.true_graph_0, self.false_graph_0, (x,))\n"));
  CHECK(contains(
      source,
      "out_dtype = torch.ops.higher_order.out_dtype(\n            torch.ops.aten.mm.default, torch.int32, "
      "cond_1, lifted_tensor_0\n        )\n"));
  CHECK(contains(source, R"(    def true_graph_0(self, y):
        # a.inner: pkg.Part
        map_impl = torch.ops.higher_order.map_impl(self.body_graph_0, [y], [])
        return map_impl

    def body_graph_0(self, v):
        # a.inner: pkg.Part
        sin = torch.ops.aten.sin.default(v)
        return sin

    def false_graph_0(self, y):
        return y
)"));
  // A constant whose values are not in the collection is taken from the model.
  auto large = exported_collection();
  large.graphs[0].constants[0].second.data.reset();
  CHECK(contains(
      source_of(large),
      R"(self.register_buffer("lifted_tensor_0", _find(model, "lifted_tensor_0"), persistent=False))"));
}

TEST_CASE("sources and scopes stand before what comes from them", "[fx_writer]") {
  auto graph = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %a = call_function[aten.sin.default](%x)  # part: pkg.Part
      %b = call_module[part.lin](%a)  # part.lin: torch.nn.Linear
      %w = get_attr[w]()  # part: pkg.Part
      %c = call_function[aten.cos.default](%b)  # part: pkg.Part, call 2
      %d = call_function[aten.tan.default](%c)
      %output = output[output](%d))");
  const SourceLocation first{"net.py", 12, "forward", "y = self.lin(\"a\"\n# b)"};
  graph.graph.set_source(NodeId{1}, first);
  graph.graph.set_source(NodeId{2}, first);
  graph.graph.set_source(NodeId{4}, SourceLocation{"net.py", 0, "", ""});
  auto collection = collection_of(std::move(graph));
  collection.modules.push_back({"part", "pkg.Part", ModuleStatus::kTraced, {}, {}, 1, {}});
  CHECK_THAT(source_of(collection), ContainsSubstring(R"(    def forward(self, x):
        # part: pkg.Part
        # File: net.py:12 in forward, code: y = self.lin("a"\n# b)
        a = torch.ops.aten.sin.default(x)
        b = self.part_lin(a)
        w = self.w

        # part: pkg.Part, call 2
        # File: net.py
        c = torch.ops.aten.cos.default(b)

        # (root): pkg.Net
        # No line of the source is known for these:
        d = torch.ops.aten.tan.default(c)
        return d
)"));
}

TEST_CASE("attributes of modules that are called are read when the graph reads them", "[fx_writer]") {
  const auto lines = forward_of(R"(
      %x = placeholder[x]()
      %a = call_module[a](%x)  # a
      %a_count = get_attr[a.count]()
      %b = call_module[a.0](%x)  # a.0
      %c = get_attr[a.0.1]()
      %output = output[output]((%a_count, %c)))");
  CHECK(contains(lines, "a_count = _value(self.a, \"count\")\n"));
  CHECK(contains(lines, "c = self.a_0_1\n"));
}

TEST_CASE("names in hostile graphs are no code", "[fx_writer]") {
  const auto lines = forward_of(R"py(
      %self = placeholder[self]()
      %torch_1 = placeholder[torch]()
      %operator = placeholder[operator]()
      %class_1 = placeholder[class]()
      %x = placeholder[x): import os #]()
      %args = placeholder[*args]()
      %a = call_module[a"); import os; ("](%self)  # a"); import os; ("
      %b = get_attr[forward]()
      %c = get_attr[a.__class__]()
      %d = call_function[aten.sin.default](%a, import=1, __x=2)
      %e = call_method[__reduce__](%d)
      %f = call_method[x();y](%d)
      %g = call_function[builtins.getattr](%d, "__class__")
      %h = call_function[aten.to.dtype](%d, dtype("load"))
      %i = call_function[builtins.eval]("1")
      %j = call_function[os.system]("true")
      %k = call_function[load_library.a.default]("true")
      %l = call_function[pkg.a")+x(".default](1)
      %m = call_function[torch._import_dotted_name]("os.system")
      %n = call_function[torch.serialization.os.system]("true")
      %o = call_function[aten.__class__.mro]()
      %p = call_module[a\.b.c](%self)  # a\.b.c
      %q = call_function[operator.call](%self)
      %r = call_function[aten.add.Tensor](layout("__dict__"), memory_format("x y"), device("\"cpu"))
      %output = output[output](function("higher_order.a b")))py");
  CHECK(lines == R"py(def forward(
self,
self_1,  # input "self"
torch_1,  # input "torch"
operator_1,  # input "operator"
class_1,  # input "class"
x___import_os__,  # input "x): import os #"
args,  # input "*args"
):
a = self.a____import_os____(self_1)
b = self.forward_1
raise NotImplementedError("node c: \"a.__class__\" is not a name of a parameter")
d = torch.ops.aten.sin.default(a, **{"import": 1, "__x": 2})
raise NotImplementedError("node e: \"__reduce__\" is not a method that a graph calls")
raise NotImplementedError("node f: \"x();y\" is not a method that a graph calls")
raise NotImplementedError("node g: it reads an attribute that is not allowed in a graph")
raise NotImplementedError("node h: \"load\" is not a dtype of torch")
i = builtins_eval("1")
j = os_system("true")
k = load_library_a_default("true")
l = getattr(torch.ops.pkg, "a\")+x(\"").default(1)
m = torch__import_dotted_name("os.system")
n = torch_serialization_os_system("true")
o = aten___class___mro()
p = self.a__b_c(self_1)
q = operator_call(self_1)
raise NotImplementedError("node r: \"x y\" is not a memory format of torch")
raise NotImplementedError("node output: \"higher_order.a b\" is not a function that a graph may pass on")
)py");
  const auto source = source_of(collection_of(module_graph("", "os\nimport x.class", R"py(
      %x = placeholder[x]()
      %a = call_module[a"); import os; ("](%x)  # a"); import os; ("
      %p = call_module[a\.b.c](%x)  # a\.b.c
      %i = call_function[builtins.eval\x]("1")
      %output = output[output](%i))py")));
  CHECK(contains(source, R"py(_find(model, "a\"); import os; (\""))py"));
  CHECK(contains(source, R"py(_find(model, "a.b/c", "/"))py"));
  CHECK(contains(source, "# (root): os\\nimport x.class\nclass Graph(torch.nn.Module):\n"));
  CHECK(contains(
      source,
      "\ndef builtins_eval_x(*args, **kwargs):\n    raise NotImplementedError(\"builtins.eval\\\\x cannot be "));
}

TEST_CASE("operators that do more than compute need a word, or raise", "[fx_writer]") {
  const auto source = source_of(collection_of(module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %a = call_function[pkg.nms.default](%x)
      %b = call_function[inductor._reinterpret_tensor.default](%a, [2], [1], -8)
      %c = call_function[aten.from_file.default]("f")
      %d = call_function[higher_order.print]("{0}", %b)
      %e = call_function[torch.classes.pkg.Queue]()
      %f = call_function[torch.classes._nnapi.Compilation]()
      %g = call_function[aten.sparse_coo_tensor.indices_size](%x, %x, [2])
      %output = output[output](%g))")));
  CHECK(contains(source,
                 "    def __init__(self, model, *, libraries=()):\n        super().__init__()\n"
                 "        _check_libraries(libraries, [\"pkg\"])\n"));
  CHECK(contains(source, "        a = torch.ops.pkg.nms.default(x)\n"));
  CHECK(contains(source, "        b = inductor__reinterpret_tensor_default(a, [2], [1], -8)\n"));
  CHECK(contains(source, "        c = aten_from_file_default(\"f\")\n"));
  CHECK(contains(source, "        d = torch.ops.higher_order.print(\"{0}\", b)\n"));
  CHECK(contains(source, "        e = torch.classes.pkg.Queue()\n"));
  CHECK(contains(source, "        f = torch_classes__nnapi_Compilation()\n"));
  CHECK(contains(source, "        g = _sparse(torch.ops.aten.sparse_coo_tensor.indices_size)(x, x, [2])\n"));
}

TEST_CASE("what labels and prints needs no word", "[fx_writer]") {
  const auto source = source_of(collection_of(module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %a = call_function[profiler._record_function_enter_new.default]("part")
      %b = call_function[profiler._record_function_exit._RecordFunction](%a)
      %c = call_function[profiler._record_function_exit.default](%x)
      %output = output[output](%x))")));
  CHECK(contains(source, "        a = torch.ops.profiler._record_function_enter_new.default(\"part\")\n"));
  CHECK(contains(source, "torch.ops.profiler._record_function_exit._RecordFunction(a)\n"));
  CHECK(contains(source, " = profiler__record_function_exit_default(x)\n"));  // takes an address
  for (const std::string format : {"{0.__class__}", "{0[0]}", "{:99999}", "{"}) {
    CAPTURE(format);
    const auto printing = source_of(collection_of(module_graph(
        "", "pkg.Net",
        "%x = placeholder[x]()\n%a = call_function[higher_order.print](\"" + format + "\", %x)")));
    CHECK(contains(printing, "higher_order_print(\"" + format + "\", x)"));
  }
}

TEST_CASE("no more is nested than Python reads", "[fx_writer]") {
  Argument deep = 1;
  for (int i = 0; i < 50; ++i) deep = Argument::List{{std::move(deep)}};
  auto graph =
      module_graph("", "pkg.Net", "%x = placeholder[x]()\n%a = call_function[aten.stack.default](%x)");
  graph.graph.set_args(NodeId{1}, {deep}, {});
  CHECK(contains(source_of(collection_of(graph)), "[1]]]]"));
  graph.graph.set_args(NodeId{1}, {Argument::List{{deep}}}, {});
  CHECK(contains(source_of(collection_of(graph)),
                 "raise NotImplementedError(\"node a: its arguments are nested deeper than 50\")"));
}

TEST_CASE("defaults are given as far as Python takes them", "[fx_writer]") {
  const auto lines = forward_of(R"(
      %a = placeholder[a](1)
      %b = placeholder[b]()
      %c = placeholder[c](None)
      %d = placeholder[d](dtype("x"))
      %output = output[output](%b))");
  CHECK(lines == R"(def forward(
self,
a,  # default 1
b,
c=None,
d=None,  # default left out: "x" is not a dtype of torch
):
return b
)");
}

TEST_CASE("functions of the model's own are parameters", "[fx_writer]") {
  ModuleGraph graph = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]())");
  NodeId value = graph.graph.first();
  for (const char* target : {"rp.rope.f", "rp.other.f", "rp.rope.f", "rp.torch", "x();y", "rp.rope.class"}) {
    Graph::NodeSpec spec;
    spec.op = Opcode::kCallFunction;
    spec.target = target;
    spec.args = {value};
    spec.model_function = true;
    value = graph.graph.append(std::move(spec));
  }
  Graph::NodeSpec output;
  output.op = Opcode::kOutput;
  output.target = "output";
  output.args = {value};
  graph.graph.append(std::move(output));
  const std::string source = source_of(collection_of(std::move(graph)));
  INFO(source);
  CHECK(contains(source, "\n    Net(model, f=..., class_1=..., f_1=..., torch_1=..., x___y=...)(...)\n"));
  CHECK(contains(source, "\n# Function of the model: f_1 = rp.rope.f\n"));
  CHECK(contains(source, "    def __init__(self, model, *, f, class_1, f_1, torch_1, x___y):\n"));
  CHECK(contains(source,
                 "        self.f = f  # rp.other.f\n        self.class_1 = class_1  # rp.rope.class\n"));
  CHECK(contains(source, " = self.f_1(x)\n"));
  CHECK_FALSE(contains(source, "torch.ops"));
}
