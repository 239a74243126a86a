// Recorded calls: finds the operations of one call of a function by their stacks, and makes one node of them.
#include "trace/modules/recorded_calls.h"

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "fake_program.h"
#include "graph/lint.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;

namespace {

struct Folded {
  std::string graph;
  std::vector<Diagnostic> messages;
};

// Returns the graph after its calls were found.  `stacks`: for each node that has any, in order, the frames
// without the tracer's, as "f:6 forward:11"; "-" for none.
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
    const auto push = [&](const std::string& in, std::int64_t line, const std::string& function) {
      StackFrame& frame = stack.emplace_back();
      frame.file = in;
      frame.line = line;
      frame.function = function;
    };
    std::string rest = frames == "-" ? "" : frames + " ";
    while (!rest.empty()) {
      const std::size_t colon = rest.find(':'), space = rest.find(' ');
      const std::string function = rest.substr(0, colon);
      push(function == "_call_impl" ? "/t/torch/nn/modules/module.py" : file,
           std::stoll(rest.substr(colon + 1, space)), function);
      rest.erase(0, space + 1);
    }
    if (!stack.empty()) {
      push("/t/torch/nn/modules/module.py", 1, "_call_impl");
      push("/t/torch/jit/_trace.py", 2, "trace");
      push(file, 99, "main");
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
  // The innermost of several calls, by a rule for it alone.
  const Folded inner = fold(kRotate, {"f:6 forward:11", "g:3 f:7 forward:11", "forward:12"}, "pkg.rope.g");
  CHECK(inner.graph.find("%g = call_function[pkg.rope.g](%mul, %x)") != std::string::npos);
}

TEST_CASE("functions are named by the file's place in a package", "[recorded_calls]") {
  const auto name_in = [](const std::string& file) {
    const std::string text =
        fold(kRotate, {"f:6 forward:11", "f:7 forward:11", "forward:12"}, "**", file).graph;
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
  const std::string given_back = R"(
%x = placeholder[x]()
%a = call_function[aten.to.dtype](%x, 6)
%b = call_function[aten.cos.default](%a)
%c = call_function[aten.sin.default](%a)
%output = output[output]((%b, %c))
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
       "may call a module"},
      {"a module at the end",
       leaf,
       {"f:6 forward:11", "forward:1 _call_impl:1 f:7 forward:11", "forward:12"},
       "calls a module"},
      {"in place",
       writes,
       {"f:6 forward:11", "f:7 forward:11"},
       "aten.cos_.default in it may write to a tensor in place"},
      {"a value that may be an argument, and is used as that",
       given_back,
       {"f:6 forward:11", "f:7 forward:11", "forward:12"},
       "aten.to.dtype in it may return its argument itself"},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    const Folded folded = fold(one.text, one.stacks);
    CHECK(folded.graph == print_graph(parse_graph(one.text)).insert(0, "\n"));
    REQUIRE(folded.messages.size() == 1);
    CHECK(folded.messages[0].text().starts_with(
        "--wrap: pkg.rope.f, called at /x/pkg/rope.py:11, is traced into: "));
    CHECK(folded.messages[0].text().find(one.says) != std::string::npos);
  }
}

namespace {

// Steps that torch.export recorded, each using the one before, with their stacks: "f:8:4 forward:11:8" has
// columns, and texts[line] is the text of a function's line.
std::vector<std::vector<std::size_t>> found_calls(const std::vector<std::string>& stacks,
                                                  const std::map<std::int64_t, std::string>& texts,
                                                  bool are_independent,
                                                  std::vector<Diagnostic>* messages = nullptr) {
  FakeModules program;
  program.add("", "pkg.rope.Net");
  TraceOptions options;
  options.wrap_rules.push_back({"**", true});
  const LeafRules rules(options, program);
  const RecordedFunctions functions(rules, program.modules());
  std::vector<RecordedFunctions::Place> places(stacks.size());
  std::vector<RecordedFunctions::Step> steps;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    std::vector<StackFrame> stack;
    std::istringstream frames(stacks[i]);
    for (std::string frame; frames >> frame;) {
      StackFrame made{"/x/pkg/rope.py", 0, frame.substr(0, frame.find(':')), -1, ""};
      std::istringstream numbers(frame.substr(frame.find(':') + 1));
      char colon = ':';
      numbers >> made.line >> colon >> made.column;
      if (const auto text = texts.find(made.line); text != texts.end()) made.text = text->second;
      stack.push_back(std::move(made));
    }
    RecordedFunctions::Step step;
    step.target = "aten.op" + std::to_string(i) + ".default";
    if (!stack.empty()) {
      places[i] = functions.place_in_export(stack);
      step.place = &places[i];
    }
    if (i > 0 && !are_independent) step.uses.push_back(i - 1);
    steps.push_back(std::move(step));
  }
  RecordedFunctions::Followed followed;
  std::vector<std::vector<std::size_t>> calls;
  for (const auto& call : functions.find_calls(steps, followed)) calls.push_back(call.steps);
  if (messages != nullptr) *messages = followed.reasons();
  return calls;
}

}  // namespace

TEST_CASE("columns and texts of lines tell calls apart", "[recorded_calls]") {
  using Calls = std::vector<std::vector<std::size_t>>;
  const std::map<std::int64_t, std::string> texts = {{6, "a = x.sin()"},
                                                     {7, "b = y.cos()"},
                                                     {8, "return a, b"},
                                                     {9, "return x.sin()"},
                                                     {10, "if x: y = x.cos()"}};
  // f(f(x)), where the second call runs a later part.
  CHECK(found_calls({"f:6:4 forward:11:10", "f:7:4 forward:11:8"}, texts, false) == Calls{{0}, {1}});
  CHECK(found_calls({"f:6:4 forward:11:8", "f:7:4 forward:11:8"}, texts, false) == Calls{{0, 1}});
  // Consecutive lines belong together, even if they have nothing in common; ...
  CHECK(found_calls({"f:6:4 forward:11:8", "f:7:4 forward:11:8"}, texts, true) == Calls{{0, 1}});
  // ... a line that may be in another branch does not, nor does code behind the end.
  std::vector<Diagnostic> messages;
  CHECK(found_calls({"f:10:4 forward:11:8", "f:11:4 forward:11:8"}, texts, true, &messages).empty());
  CHECK(messages.size() == 1);
  CHECK(found_calls({"f:9:4 forward:11:8", "f:10:4 forward:11:8"}, texts, false, &messages).empty());
  CHECK(messages.size() == 1);
  CHECK(found_calls({"f:6:4 forward:11:8", "f:8:4 forward:11:8"}, texts, true).empty());
  // For a step without a stack it is not certain on which side of the call it is.
  CHECK(found_calls({"", "f:6:4 forward:11:8", "forward:12:8"}, texts, false, &messages).empty());
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].text().ends_with(
      "the file does not tell whether aten.op0.default beside it belongs to it"));
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

TEST_CASE("calls that differ in constants are not calls of one function", "[recorded_calls]") {
  const auto text = [](const std::string& scale) {
    return R"(
%x = placeholder[x]()
%sin = call_function[aten.sin.default](%x)
%mul = call_function[aten.mul.Tensor](%sin, 0.5)
%sin_1 = call_function[aten.sin.default](%mul)
%mul_1 = call_function[aten.mul.Tensor](%sin_1, )" +
           scale + R"()
%view = call_function[aten.view.default](%mul_1, [2])
%output = output[output](%view)
)";
  };
  const std::vector<std::string> stacks = {"f:6 forward:11", "f:7 forward:11", "f:6 forward:12",
                                           "f:7 forward:12", "forward:13"};
  const Folded equal = fold(text("0.5"), stacks);
  CHECK(equal.messages.empty());
  CHECK(equal.graph.find("%f_1 = call_function[pkg.rope.f](%f)") != std::string::npos);
  const Folded differing = fold(text("3.0"), stacks);
  REQUIRE(differing.messages.size() == 2);
  CHECK(differing.messages[0].text().ends_with(
      "is traced into: its calls differ in constants, which a recorded call does not have"));
  CHECK(differing.graph == "\n" + print_graph(parse_graph(text("3.0"))));
}
