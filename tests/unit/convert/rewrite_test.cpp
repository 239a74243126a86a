// Programs of torch.export for an older torch and under other names (convert/write/program_rewrite.h).
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "convert/write/program_rewrite.h"
#include "operators/releases.h"
#include "support/error.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

// A program of one input x, whose batch is s0, and of the operations in `nodes`; y is its result.
std::string program_of(const std::string& nodes) {
  const std::string spec = R"([1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [)"
                           R"({\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [)"
                           R"({\"type\": null, \"context\": null, \"children_spec\": []}]}, )"
                           R"({\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}])";
  return R"json({"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "x"}}],
    "outputs": [{"as_tensor": {"name": "y"}}], "nodes": [)json" +
         nodes + R"json(], "tensor_values": {"x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str":
    "Symbol('s0', integer=True)", "hint": null}}]}, "y": {"dtype": 7, "sizes": []}, "z": {"dtype": 7, "sizes": []}},
    "sym_int_values": {}}, "signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
    "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]},
    "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": ")json" +
         spec + R"json(", "out_spec": "", "forward_arg_names": ["x"]}}], "treespec_namedtuple_fields": {}},
    "range_constraints": {"s0": {"min_val": 2, "max_val": 9}}, "schema_version": {"major": 8, "minor": 20},
    "guards_code": ["L['x'].size()[0] > 1"]})json";
}

std::string node(const std::string& op, const std::string& inputs, const std::string& outputs) {
  return R"({"target": "torch.ops.)" + op + R"(", "inputs": [)" + inputs + R"(], "outputs": [)" + outputs +
         R"(], "metadata": {"stack_trace": "  File \"net.py\", line 7, in forward\n    return f(x)\n",
    "nn_module_stack": ",,Net;a,a.b,Inner"}, "is_hop_single_tensor_return": null, "name": "y"})";
}

std::string input(const std::string& name, const std::string& value) {
  return R"({"name": ")" + name + R"(", "arg": )" + value + R"(, "kind": 1})";
}

const std::string kX = R"({"as_tensor": {"name": "x"}})", kY = R"({"as_tensor": {"name": "y"}})",
                  kZ = R"({"as_tensor": {"name": "z"}})";

RewrittenProgram written(const std::string& nodes, int release) {
  const JsonDocument document(program_of(nodes), "the program");
  return rewrite_program(document.root(), release, {});
}

std::string error_of(const std::string& from, const std::string& to) {
  const JsonDocument document(program_of(""), "the program");
  try {
    new_names(document.root(), {{from, to}}, {{"batch", "s0"}});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("releases: which have an operator", "[convert]") {
  CHECK(releases_of("aten::add.Tensor").are_all());
  CHECK(releases_of("aten::hash_tensor") == Releases{.since = 9});
  CHECK(releases_of("aten::stft/align_to_window") == Releases{.since = 7});
  CHECK(releases_of("aten::cholesky") == Releases{.until = 14});
  CHECK(release_of("2.7.1") == 7);
  CHECK(!find_release("2.5"));
  CHECK(!find_release("2.16"));
}

TEST_CASE("rewrite: fields that an older torch does not know are left out", "[convert]") {
  const std::string add = node("aten.relu.default", input("self", kX), kY);
  const RewrittenProgram old = written(add, 6);
  CHECK(old.refusals.empty());
  for (const char* field : {"kind", "is_hop_single", "treespec_named", "guards_code", "\"name\": \"y\", \"n"})
    CHECK(old.json.find(field) == std::string::npos);
  CHECK(old.json.find(R"("minor": 2})") != std::string::npos);
  CHECK(old.notes.size() == 1);
  const RewrittenProgram next = written(add, 10);
  CHECK(next.json.find("guards_code") != std::string::npos);
  CHECK(next.json.find(R"("is_hop_single_tensor_return": null})") != std::string::npos);
}

TEST_CASE("rewrite: operators that a torch lacks are refused with their place, or replaced", "[convert]") {
  const RewrittenProgram hash = written(node("aten.hash_tensor.default", input("self", kX), kY), 8);
  REQUIRE(hash.refusals.size() == 1);
  CHECK(hash.refusals[0].what == "aten.hash_tensor.default");
  CHECK(hash.refusals[0].why == "torch 2.8 does not load it: it came with 2.9");
  CHECK(hash.refusals[0].module == "a.b");
  CHECK(hash.refusals[0].source->line == 7);

  const std::string arguments = input("input", kX) + ", " + input("normalized_shape", R"({"as_ints": [4]})");
  const std::string norm = node("aten._fused_rms_norm.default", arguments, kY + ", " + kZ);
  const RewrittenProgram replaced = written(norm, 8);
  CHECK(replaced.refusals.empty());
  CHECK(replaced.json.find(R"("target": "torch.ops.aten.rms_norm.default")") != std::string::npos);
  CHECK(replaced.json.find(R"("outputs": [{"as_tensor": {"name": "y"}}], "metadata")") != std::string::npos);
  CHECK(written(norm, 9).json.find("_fused_rms_norm") != std::string::npos);
  const std::string used = norm + ", " + node("aten.relu.default", input("self", kZ), kY);
  CHECK(written(used, 7).refusals.size() == 1);

  const std::string upper = input("self", kX) + ", " + input("upper", R"({"as_bool": true})");
  const RewrittenProgram root = written(node("aten.cholesky.default", upper, kY), 15);
  CHECK(root.json.find("linalg_cholesky") != std::string::npos);
  CHECK(root.json.find(R"("arg": {"as_bool": true}, "kind": 2})") != std::string::npos);
}

TEST_CASE("rewrite: an argument that a torch lacks may have its default", "[convert]") {
  const auto stft = [](const std::string& value) {
    return node("aten.stft.default", input("self", kX) + ", " + input("align_to_window", value), kY);
  };
  CHECK(written(stft(R"({"as_none": true})"), 6).refusals.empty());
  CHECK(written(stft(R"({"as_none": true})"), 6).json.find("align_to_window") == std::string::npos);
  CHECK(written(stft(R"({"as_bool": true})"), 6).refusals.size() == 1);
  CHECK(written(stft(R"({"as_bool": true})"), 7).refusals.empty());
}

TEST_CASE("rewrite: forms and numbers", "[convert]") {
  const auto full = [](const std::string& value) {
    return node("aten.mul.Scalar", input("self", kX) + ", " + input("other", value), kY);
  };
  CHECK(written(full(R"({"as_float": "-Infinity"})"), 6).json.find(R"("as_float": -Infinity)") !=
        std::string::npos);
  CHECK(written(full(R"({"as_float": "-Infinity"})"), 7).json.find(R"("as_float": "-Infinity")") !=
        std::string::npos);
  CHECK(written(full(R"({"as_complex": {"real": 1.0, "imag": 2.0}})"), 8).refusals.size() == 1);
  CHECK(written(full(R"({"as_optional_tensor": {"as_none": true}})"), 7).json.find("as_optional") ==
        std::string::npos);
}

TEST_CASE("rewrite: what a program needs", "[convert]") {
  const JsonDocument document(program_of(node("aten.relu.default", input("self", kX), kY)), "the program");
  std::string text;
  for (const ReleaseNeed& need : needs_of(document.root()))
    text += need.what + " " + release_text(need.releases.since) + "\n";
  CHECK(text ==
        "the field kind 2.7\nthe field is_hop_single_tensor_return 2.7\nthe field name 2.9\n"
        "the field treespec_namedtuple_fields 2.7\nthe field guards_code 2.9\n");
}

TEST_CASE("rewrite: names of dimensions, inputs and results", "[convert]") {
  const JsonDocument document(program_of(node("aten.relu.default", input("self", kX), kY)), "the program");
  const NewNames names =
      new_names(document.root(), {{"batch", "rows"}, {"x", "pixels"}, {"y", "scores"}}, {{"batch", "s0"}});
  const std::string json = rewrite_program(document.root(), {}, names).json;
  for (const char* part :
       {R"("inputs": [{"as_tensor": {"name": "pixels"}}])",
        R"("outputs": [{"as_tensor": {"name": "scores"}}])", "Symbol('rows', integer=True)",
        R"("rows": {"min_val")", R"("forward_arg_names": ["pixels"])", "L['pixels'].size()[0] > 1",
        R"("name": "scores"}], "tensor_values")", R"("pixels": {"dtype")"})
    CHECK(json.find(part) != std::string::npos);
  CHECK(json.find(R"({"name": "x"})") == std::string::npos);

  CHECK(
      error_of("batsh", "n") ==
      "--rename batsh=n: the program has no dimension, input or result of that name, did you mean 'batch'?");
  CHECK(error_of("x", "y") == "--rename x=y: another has the name 'y'");
  CHECK(error_of("x", "a-b") == "--rename x=a-b: 'a-b' is no name of letters, digits and underscores");
  for (const char* const taken : {"import", "self", "torch", "len"})
    CHECK(error_of("x", taken) == std::string("--rename x=") + taken + ": Python or torch has that name");
  CHECK(error_of("s0", "units").find("begins with u") != std::string::npos);
}
