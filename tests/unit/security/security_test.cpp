// Pickles and files that check --security accepts as harmless, and those that it does not:
// tests/python/test_security.py has many more.
#include <algorithm>
#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "catch.h"
#include "folder.h"
#include "operators/names/operator_reach.h"
#include "security/archive_records.h"
#include "exported/format/evaluated_text.h"
#include "security/pickle_check.h"
#include "security/security_scan.h"
#include "tests/fuzz/stored_zip.h"

using namespace fxtrace;

namespace {

using Lines = std::vector<std::string>;
using Records = std::vector<std::pair<std::string, std::string>>;

Lines found_in(const std::string& content) {
  const Folder folder;
  const ModelFile file(folder.file(content, "model.pt"));
  Lines lines;
  for (const SecurityFinding& finding : scan_security(file, identify_file(file))) {
    if (finding.kind == SecurityKind::kLibrary) continue;
    lines.push_back(std::string(to_string(finding.kind)) + " " + finding.record + ": " + finding.message);
  }
  return lines;
}

const std::string kCall(
    "\x80\x02"
    "cos\nsystem\nX\x02\0\0\0ls\x85R.",
    23);
const std::string kDict = "\x80\x02}.";

}  // namespace

TEST_CASE("security: pickles that would run code", "[security]") {
  CHECK(found_in(kCall) == Lines{"pickle : its pickle calls os.system"});
  CHECK(found_in("cos\nsystem\n(S'ls'\ntR.") == Lines{"pickle : its pickle calls os.system"});
  CHECK(found_in(kDict).empty());
  CHECK(found_in(kDict + "x") == Lines{"unknown : 1 bytes follow its pickle: their purpose is not known"});
  CHECK(found_in(fuzz::stored_zip({{"a/data.pkl", kDict}, {"a/version", "3\n"}})).empty());
  CHECK(found_in(fuzz::stored_zip({{"a/data.pkl", kCall}, {"a/version", "3\n"}})) ==
        Lines{"pickle a/data.pkl: its pickle calls os.system"});
  // An archive inside an archive.
  const std::string inner = fuzz::stored_zip({{"b/data.pkl", kCall}});
  CHECK(found_in(fuzz::stored_zip({{"a/weights.pt", inner}})) ==
        Lines{"pickle a/weights.pt/b/data.pkl: its pickle calls os.system"});
  CHECK(found_in(fuzz::stored_zip({{"a/data.pkl", kCall.substr(0, 14)}})) ==
        Lines{"pickle a/data.pkl: its pickle calls os.system",
              "pickle a/data.pkl: its pickle cannot be read to its end"});
  const std::string config = R"({"config": {"w": {"path_name": "weight_0", "use_pickle": true}}})";
  CHECK(found_in(fuzz::stored_zip(
            {{"a/data/weights/weight_0", kCall}, {"a/data/weights/model_weights_config.json", config}})) ==
        Lines{"pickle a/data/weights/weight_0: its pickle calls os.system"});
}

TEST_CASE("security: files that torch writes", "[security]") {
  for (const char* name : {"state_dict.pt", "tensor.pt", "legacy_state_dict.pt", "torchscript.pt",
                           "exported.pt2", "package.pt", "checkpoint.pt"}) {
    CAPTURE(name);
    const ModelFile file(std::string(FXTRACE_SOURCE_DIR "/tests/fixtures/files/") + name);
    for (const SecurityFinding& finding : scan_security(file, identify_file(file)))
      CHECK(finding.kind == SecurityKind::kLibrary);
  }
}

TEST_CASE("security: globals are known by their whole names", "[security]") {
  using security::is_harmless_global;
  using security::Unpickler;
  for (const char* name :
       {"torch._utils._rebuild_tensor_v2", "torch.cuda.FloatStorage", "torch.sparse.HalfTensor",
        "torch.jit._pickle.build_intlist", "collections.OrderedDict"}) {
    CAPTURE(name);
    CHECK(is_harmless_global(name));
  }
  for (const char* name :
       {"torch.storage._load_from_bytes", "torch.hub.load", "torch.x.ATensor", "torch.MyStorage",
        "torch.jit._pickle.build_intlist.__builtins__.get", "torch.jit._pickle.x", "__torch__.Net",
        "torch._utils._rebuild_tensor_v2.__globals__"}) {
    CAPTURE(name);
    CHECK_FALSE(is_harmless_global(name));
  }
  CHECK(is_harmless_global("__torch__.Net", Unpickler::kLibTorch));
  CHECK_FALSE(is_harmless_global("__torch__.Net\nos", Unpickler::kLibTorch));
}

TEST_CASE("security: records that nobody reads, leave the archive, or hold machine code", "[security]") {
  const auto saved = [](Records more) {
    more.insert(more.begin(), {"a/data.pkl", kDict});
    return fuzz::stored_zip(more);
  };
  CHECK(
      found_in(saved({{"a/x.bin", "1"}})) ==
      Lines{
          "unknown a/x.bin: cannot tell what a reader does with it: torch writes no record of this name into "
          "such an archive"});
  CHECK(
      found_in(saved({{"b/x", "1"}})) ==
      Lines{
          "unknown b/x: cannot tell what a reader does with it: it is not in the folder of the archive's first "
          "record"});
  CHECK(
      found_in(saved({{"a/data/0", "1"}})) ==
      Lines{
          "unknown a/data/0: cannot tell what a reader does with it: no pickle of the archive refers to it"});
  const Lines away =
      found_in(fuzz::stored_zip({{"a/../../b", ""}, {"/etc/x", ""}, {"C:\\x", ""}, {"a/..b", ""}}));
  CHECK(std::ranges::count_if(away, [](const std::string& line) { return line.starts_with("path "); }) == 3);
  std::string elf(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  elf.resize(64, '\0');
  elf[16] = 3;
  elf[18] = 62;
  CHECK(found_in(saved({{"a/data/0", elf}})).front() ==
        "code a/data/0: machine code: ELF shared library for x86-64");
}

TEST_CASE("security: sizes and guards are arithmetic", "[security]") {
  for (const char* text :
       {"Symbol('s77', positive=True, integer=True)", "s0*2 + 1", "2*s0 + s1**2",
        "Add(Mul(Integer(2), Symbol('s0')), Integer(1))", "FloorDiv(Symbol('s0', integer=True), Integer(2))",
        "Max(1, s0)", "Eq(s0, 1)", "(s0 > 1) & (s1 < 2)", "Float('1.5', precision=53)",
        "-9223372036854775807", "Piecewise((1, s0 > 2), (s0, True))"}) {
    CAPTURE(text);
    CHECK(problem_of_size_text(text).value_or("") == "");
  }
  for (const char* text :
       {"__import__('os')", "s0.x", "[s0][0]", "9**9**9", "2**99999", "LShift(Integer(1), Integer(99999))",
        "f(s0)", "Symbol(__import__('os'))", "Symbol('a b')", "(s0 + s1)**99", "exp(Integer(99999))",
        "s0; s1", "lambda: 1", "'x'", "Integer(1)**Integer(9)**Integer(9)**Integer(9)",
        "Float('1e999999999')", "L['x'].size()[0]"}) {
    CAPTURE(text);
    CHECK(problem_of_size_text(text).has_value());
  }
  for (const char* text : {"L['x'].size()[0] % 8 == 0", "2 <= L['args'][0].size()[1] <= 64",
                           "not (L['x'].stride()[0] == 1)", "L['x'].y.size()[0] + 1 == math.floor(s0/2)"}) {
    CAPTURE(text);
    CHECK(problem_of_guard_text(text).value_or("") == "");
  }
  for (const char* text :
       {"L['x'].tolist()", "L['x'].__class__ == 1", "os.system('x') == 0", "L[\"a'b\"] == 1", "L[s0] == 1",
        "L['x'].size()[L['y'].item()]", "x if y else z"}) {
    CAPTURE(text);
    CHECK(problem_of_guard_text(text).has_value());
  }
}

TEST_CASE("security: trees of arguments import nothing", "[security]") {
  const auto tree = [](const std::string& context) {
    return R"([1, {"type": "builtins.dict", "context": )" + context + R"(, "children_spec": []}])";
  };
  CHECK(problem_of_tree_text(tree(R"("[\"a\"]")"), false).value_or("") == "");
  CHECK(
      problem_of_tree_text(
          tree(
              R"("{\"default_factory_module\": \"builtins\", \"default_factory_name\": \"list\", \"dict_context\": []}")"),
          false)
          .value_or("") == "");
  CHECK(problem_of_tree_text(
      tree(R"("{\"default_factory_module\": \"os\", \"default_factory_name\": \"list\"}")"), false));
  CHECK(problem_of_tree_text(tree(R"("[{\"__enum__\": true}]")"), false));
  CHECK(problem_of_tree_text(tree(R"([{"__enum__": true}])"), false));
  CHECK(problem_of_tree_text("{", false));
}

TEST_CASE("security: operators that reach beyond tensors", "[security]") {
  CHECK(operator_reach("aten::save") == "files");
  CHECK(operator_reach("aten::from_file.out") == "files");
  CHECK(operator_reach("inductor::anything") == "raw memory");
  CHECK(operator_reach("profiler::_record_function_exit") == "raw memory");
  CHECK(operator_reach("profiler::_record_function_exit._RecordFunction").empty());
  CHECK(operator_reach("prim::FusionGroup") == "raw memory");
  CHECK(operator_reach("prim::Print").empty());
  CHECK(operator_reach("aten::add.Tensor").empty());
  CHECK(operator_reach("profiler::_record_function_enter_new").empty());
  CHECK(operator_reach("export::access_subclass_inner_tensor").empty());
  CHECK(operator_reach("torchvision::nms").empty());
  // Namespaces of torch without an operator on the list, and names that torch does not have yet.
  for (const auto* name : {"mkldnn::_linear_pointwise", "onednn::qlinear_pointwise", "sparse::qlinear",
                           "prepacked::conv2d_clamp_run", "aten::of_a_later_torch"})
    CHECK_FALSE(operator_reach(name).empty());
  CHECK(higher_order_reach("cond").empty());
  CHECK(higher_order_reach("print") == "the process");
}
