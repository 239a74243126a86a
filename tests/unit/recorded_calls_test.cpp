#include "trace/recorded_calls.h"

#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "fake_program.h"
#include "graph/lint.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace;

namespace {

struct Folded {
  std::string graph;
  std::vector<std::string> messages;
};

// The graph after its calls were found.  `stacks`: frames without the tracer's for each node that has any,
// in order, as "f:6 forward:11"; "-" for none.
Folded fold(const std::string& text, const std::vector<std::string>& stacks, const char* rule = "pkg.rope.*",
            const std::string& file = "/x/pkg/rope.py") {
  FakeModules program;
  program.add("", "pkg.rope.Net");
  program.add("l", "torch.nn.modules.linear.Linear");
  TraceOptions options;
  options.wrap_rules.push_back({rule, true});
  const LeafRules rules(options, program);
  RecordedCalls calls(rules, program.modules());
  Graph graph = parse_graph(text);
  NodeId node = graph.first();
  for (const std::string& frames : stacks) {
    while (graph.node(node).op == Opcode::kPlaceholder || graph.node(node).op == Opcode::kGetAttr) {
      node = graph.next(node);
    }
    std::vector<StackFrame> stack;
    std::string rest = frames == "-" ? "" : frames + " ";
    while (!rest.empty()) {
      const std::size_t colon = rest.find(':'), space = rest.find(' ');
      const std::string function = rest.substr(0, colon);
      stack.push_back({function == "_call_impl" ? "/t/torch/nn/modules/module.py" : file,
                       std::stoll(rest.substr(colon + 1, space)), function});
      rest.erase(0, space + 1);
    }
    if (!stack.empty()) {
      stack.push_back({"/t/torch/nn/modules/module.py", 1, "_call_impl"});
      stack.push_back({"/t/torch/jit/_trace.py", 2, "trace"});
      stack.push_back({file, 99, "main"});
    }
    calls.note(node, stack);
    node = graph.next(node);
  }
  Folded result;
  result.messages = calls.fold(graph);
  lint(graph);
  result.graph = "\n" + print_graph(graph);
  return result;
}

constexpr const char* kRotate = R"(
%x = placeholder[x]()
%y = placeholder[y]()
%_tensor_constant0 = get_attr[_tensor_constant0]()
%mul = call_function[aten.mul.Tensor](%y, %_tensor_constant0)
%sub = call_function[aten.sub.Tensor](%mul, %x)
%relu = call_function[aten.relu.default](%sub)
%output = output[output](%relu)
)";

}  // namespace

TEST_CASE("operations of one call become one node", "[recorded_calls]") {
  const Folded folded = fold(kRotate, {"f:6 forward:11", "g:3 f:7 forward:11", "forward:12"});
  CHECK(folded.messages.empty());
  CHECK(folded.graph == R"(
%x = placeholder[x]()
%y = placeholder[y]()
%_tensor_constant0 = get_attr[_tensor_constant0]()
%f = call_function[pkg.rope.f](%y, %x)
%relu = call_function[aten.relu.default](%f)
%output = output[output](%relu)
)");
  // The innermost of several by a rule for it alone.
  const Folded inner = fold(kRotate, {"f:6 forward:11", "g:3 f:7 forward:11", "forward:12"}, "pkg.rope.g");
  CHECK(inner.graph.find("%g = call_function[pkg.rope.g](%mul, %x)") != std::string::npos);
}

TEST_CASE("functions are named by the file's place in a package", "[recorded_calls]") {
  const auto name_in = [](const std::string& file) {
    const std::string text = fold(kRotate, {"f:6 forward:11", "f:7 forward:11", "-"}, "**", file).graph;
    const std::size_t from = text.find("%f = call_function[") + 19;
    return text.substr(from, text.find(']', from) - from);
  };
  CHECK(name_in("/x/pkg/rope.py") == "pkg.rope.f");
  CHECK(name_in("/x/pkg/sub/__init__.py") == "pkg.sub.f");
  CHECK(name_in("/v/lib/python3.11/site-packages/other/a/b.py") == "other.a.b.f");
  CHECK(name_in("/home/someone/script.py") == "script.f");
  CHECK(name_in("script.py") == "script.f");
}

TEST_CASE("what may be of several calls stays", "[recorded_calls]") {
  struct Case {
    const char* what;
    std::string text;
    std::vector<std::string> stacks;
    const char* says;
  };
  const std::string twice = R"(
%x = placeholder[x]()
%a = call_function[aten.sin.default](%x)
%b = call_function[aten.sin.default](%a)
%output = output[output](%b)
)";
  const std::string apart = R"(
%x = placeholder[x]()
%a = call_function[aten.sin.default](%x)
%b = call_function[aten.cos.default](%x)
%output = output[output]((%a, %b))
)";
  const std::string leaf = R"(
%x = placeholder[x]()
%a = call_function[aten.sin.default](%x)
%l = call_module[l](%a)  # l: torch.nn.modules.linear.Linear
%b = call_function[aten.cos.default](%l)
%output = output[output](%b)
)";
  const std::string writes = R"(
%x = placeholder[x]()
%a = call_function[aten.sin.default](%x)
%b = call_function[aten.cos_.default](%a)
%output = output[output](%b)
)";
  const Case cases[] = {
      {"the same again", twice, {"f:6 forward:11", "f:6 forward:11"}, "called several times"},
      {"lines go back", twice, {"f:7 forward:11", "f:6 forward:11"}, "called several times"},
      {"nothing in common", apart, {"f:6 forward:11", "f:7 forward:11"}, "may be called several times"},
      {"a module inside",
       leaf,
       {"f:6 forward:11", "forward:1 _call_impl:1 f:7 forward:11", "f:8 forward:11"},
       "calls a module"},
      {"a module of which nothing is known",
       leaf,
       {"f:6 forward:11", "-", "f:8 forward:11"},
       "calls a module"},
      {"a module at the end",
       leaf,
       {"f:6 forward:11", "forward:1 _call_impl:1 f:7 forward:11", "forward:12"},
       "calls a module"},
      {"in place", writes, {"f:6 forward:11", "f:7 forward:11"}, "aten.cos_.default may write something"},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    const Folded folded = fold(one.text, one.stacks);
    CHECK(folded.graph == print_graph(parse_graph(one.text)).insert(0, "\n"));
    REQUIRE(folded.messages.size() == 1);
    CHECK(folded.messages[0].starts_with("--wrap: pkg.rope.f, called at /x/pkg/rope.py:11, is followed: "));
    CHECK(folded.messages[0].find(one.says) != std::string::npos);
  }
}

TEST_CASE("nothing is found where no function of the model is", "[recorded_calls]") {
  for (const std::vector<std::string>& stacks :
       {std::vector<std::string>{"forward:6", "forward:7", "forward:8"},
        {"<lambda>:6 forward:11", "<lambda>:7 forward:11", "forward:8"},
        {"-", "-", "-"}}) {
    const Folded folded = fold(kRotate, stacks, "**");
    CHECK(folded.messages.empty());
    CHECK(folded.graph == "\n" + print_graph(parse_graph(kRotate)));
  }
  CHECK(fold(kRotate, {"f:6 forward:11", "f:7 forward:11", "-"}, "pkg.other.*").messages.empty());
}
