// Pickles and files that check --security accepts as harmless, and those that it does not:
// tests/python/test_security.py has many more.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "catch.h"
#include "exported/format/evaluated_text.h"
#include "folder.h"
#include "operators/names/allow_lists.h"
#include "security/archive_records.h"
#include "security/pickle_check.h"
#include "security/security_scan.h"
#include "security/sparse_check.h"
#include "tests/fuzz/stored_zip.h"

using namespace fxtrace::internal;

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
  // Keys of arguments stand in a message; those of a result do not.
  for (const char* key : {R"("[\"it's\"]")", R"("[\"a\\\"b\"]")"}) {
    CHECK(problem_of_tree_text(tree(key), true));
    CHECK_FALSE(problem_of_tree_text(tree(key), false));
  }
  CHECK_FALSE(problem_of_tree_text(tree(R"("[\"a\\\\b\\n\"]")"), true));
}

TEST_CASE("security: what calls allocate is bounded by the file", "[security]") {
  const std::string count("\x8a\x05\x00\xbc\xa0\x65\x01", 7);  // LONG1 6000000000
  const std::string bytearray = "cbuiltins\nbytearray\n", proto("\x80\x02", 2), proto4("\x80\x04", 2);
  const std::string zero(1, '\0'), untyped = "ctorch.storage\nUntypedStorage\n";
  for (const std::string& pickle : std::vector<std::string>{
           proto + bytearray + count + "\x85R.",                                                 // REDUCE
           proto + "(" + bytearray + count + "o.",                                               // OBJ
           "(L6000000000L\nibuiltins\nbytearray\n.",                                             // INST
           proto + bytearray + count + "\x85\x81.",                                              // NEWOBJ
           proto4 + bytearray + count + "\x85}\x92.",                                            // NEWOBJ_EX
           proto4 + bytearray + ")}X\x06" + std::string(3, '\0') + "source" + count + "s\x92.",  // keywords
           proto + bytearray + "ctorch\nSize\n((" + count + "ttRR.",  // arguments that are a Size
           proto + bytearray + "](" + count + "eR.",                  // a list
           proto + bytearray + "(I6000000000\ntR.",                   // text
           proto + "(" + untyped + count + "o.",
           proto + untyped + ")R" + count + "b.",  // BUILD
           proto + "ctorch\nFloatTensor\n)R(" + count + "tb.",
           proto + "ctorch._utils\n_rebuild_tensor_v2\n(" + untyped + ")RK" + zero + "(" + count +
               "t(K\x01t\x89NtR.",
       }) {
    CAPTURE(pickle);
    CHECK(found_in(pickle).size() == 1);
  }
  // What Python's pickle writes for a bytearray.
  CHECK(found_in(std::string("\x80\x03", 2) + bytearray + "C\x02hi\x85R.").empty());
  CHECK(found_in(proto + bytearray + "X\x02" + std::string(3, '\0') + "hiX\x07" + std::string(3, '\0') +
                 "latin-1\x86R.")
            .empty());
  // One text of 60 KB, of which forty calls each make a copy.
  std::string copies = proto + "c__builtin__\nset\nq" + zero;
  copies += "X" + std::string("\x60\xea\0\0", 4) + std::string(60'000, 'a') + "q\x01";
  for (int i = 0; i < 40; ++i) copies += "h" + zero + "h\x01\x85R";
  CHECK(found_in(copies + ".") == Lines{"pickle : its pickle copies its values again and again"});
}

TEST_CASE("security: storages are records of exactly their names", "[security]") {
  const auto saved = [](const std::string& key, const std::string& record) {
    std::string pickle("\x80\x02", 2);
    pickle += "ctorch._utils\n_rebuild_tensor_v2\n((X\x07" + std::string(3, '\0') +
              "storagectorch\nFloatStorage\nX";
    pickle += std::string(1, static_cast<char>(key.size())) + std::string(3, '\0') + key + "X\x03" +
              std::string(3, '\0');
    pickle += "cpuK\x04tQK";
    pickle += std::string(1, '\0') + "K\x04\x85K\x01\x85\x89" + "ccollections\nOrderedDict\n)RtR.";
    return fuzz::stored_zip({{"a/data.pkl", pickle}, {"a/data/" + record, std::string(16, '\0')}});
  };
  CHECK(found_in(saved("0", "0")).empty());
  for (const auto& [key, record] : {std::pair<std::string, std::string>{"A", "a"},
                                    {"a", "A"},
                                    {"0", "00"},
                                    {std::string("0\0x", 3), "0"},
                                    {"./0", "0"}}) {
    CAPTURE(key, record);
    CHECK_FALSE(found_in(saved(key, record)).empty());
  }
  // A storage whose record is a part of a compiled model.
  const Lines compiled = found_in(saved("aotinductor/m/a.cpp", "aotinductor/m/a.cpp"));
  CHECK(std::ranges::any_of(
      compiled, [](const std::string& line) { return line.starts_with("code a/data/aotinductor/m/: "); }));
}

TEST_CASE("security: parts of compiled models are known by their names", "[security]") {
  using security::end_of_compiled_model;
  for (const char* name :
       {"data/aotinductor/model/a.wrapper.cpp", "data/aotinductor/x", "data/aotinductor2/x",
        "data/constants/tensor_1.cpp", "data/constants/a_compile_flags.json", "data/constants2/a.so",
        "data/constants/deep/custom_obj_0.o", "data\\constants\\a.cpp"}) {
    CAPTURE(name);
    CHECK(end_of_compiled_model(name) != 0);
  }
  for (const char* name : {"data/constants/tensor_0", "data/constants/custom_obj_12",
                           "data/constants/opaque_obj_0", "data/constants/model_constants_config.json",
                           "data/constants/model.pt", "data/weights/weight_0", "models/model.json"}) {
    CAPTURE(name);
    CHECK(end_of_compiled_model(name) == 0);
  }
}

TEST_CASE("security: indices of sparse tensors are held to their sizes", "[security]") {
  using security::SparseLayout;
  const auto bytes_of = [](const std::vector<std::int64_t>& numbers) {
    std::string bytes;
    for (const std::int64_t number : numbers) {
      for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift & 0xff);
    }
    return bytes;
  };
  const auto tensor = [](const std::string& storage, std::vector<std::int64_t> sizes) {
    std::vector<std::int64_t> strides(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    return StoredTensor{{}, storage, 0, std::move(sizes), std::move(strides), "int64", false, {}};
  };
  std::map<std::string, std::string> storages;
  const security::ReadStorage read = [&](const std::string& key,
                                         std::uint64_t count) -> std::optional<std::string> {
    const std::string& bytes = storages[key];
    return count > bytes.size() ? std::nullopt
                                : std::optional(bytes.substr(0, static_cast<std::size_t>(count)));
  };
  const auto problem = [&](const security::SparseTensor& of, std::uint64_t budget = security::kMaxIndices) {
    const auto found = problem_of_indices(of, read, budget);
    return found ? (found->is_unknown ? "? " : "") + found->what : std::string();
  };
  // COO: a matrix of 2 x 3 with two values.
  const auto coo = [&](const std::vector<std::int64_t>& indices, bool coalesced = false) {
    storages["i"] = bytes_of(indices);
    return problem({SparseLayout::kCoo, {2, 3}, {tensor("i", {2, 2})}, tensor("v", {2}), coalesced});
  };
  CHECK(coo({0, 1, 0, 2}).empty());
  CHECK(coo({0, 1, 0, 3}) == "the index 3 is out of range, expected 0 to 2");
  CHECK(coo({0, -1, 0, 2}) == "the index -1 is out of range, expected 0 to 1");
  CHECK(coo({0, std::int64_t{1} << 40, 0, 2}).starts_with("the index 1099511627776"));
  CHECK(coo({0, 0, 1, 2}, true).empty());
  CHECK_FALSE(coo({0, 0, 1, 1}, true).empty());
  storages["i"] = bytes_of({0, 1, 0, 2});
  CHECK(problem({SparseLayout::kCoo, {2, 3}, {tensor("i", {2, 2})}, tensor("v", {3}), false}) ==
        "it has not as many values as indices");
  CHECK(problem({SparseLayout::kCoo, {2, 3}, {tensor("i", {2, 2})}, tensor("v", {2}), false}, 10)
            .starts_with("? "));
  // CSR and CSC of 2 x 3, BSR of 2 x 4 in blocks of 1 x 2.
  const auto compressed = [&](SparseLayout layout, const std::vector<std::int64_t>& ends,
                              const std::vector<std::int64_t>& plain) {
    storages["e"] = bytes_of(ends);
    storages["p"] = bytes_of(plain);
    const bool has_blocks = layout == SparseLayout::kBsr || layout == SparseLayout::kBsc;
    const auto count = static_cast<std::int64_t>(plain.size());
    return problem({layout,
                    has_blocks ? std::vector<std::int64_t>{2, 4} : std::vector<std::int64_t>{2, 3},
                    {tensor("e", {static_cast<std::int64_t>(ends.size())}), tensor("p", {count})},
                    has_blocks ? tensor("v", {count, 1, 2}) : tensor("v", {count}),
                    false});
  };
  CHECK(compressed(SparseLayout::kCsr, {0, 1, 3}, {2, 0, 1}).empty());
  CHECK_FALSE(compressed(SparseLayout::kCsr, {0, 1, 3}, {2, 1, 0}).empty());
  CHECK_FALSE(compressed(SparseLayout::kCsr, {0, 1, 3}, {3, 0, 1}).empty());
  CHECK_FALSE(compressed(SparseLayout::kCsr, {0, std::int64_t{1} << 40, 3}, {2, 0, 1}).empty());
  CHECK_FALSE(compressed(SparseLayout::kCsr, {0, 1, 2}, {2, 0, 1}).empty());
  CHECK_FALSE(compressed(SparseLayout::kCsr, {0, 1, 1, 3}, {2, 0, 1}).empty());
  CHECK(compressed(SparseLayout::kCsc, {0, 1, 1, 3}, {1, 0, 1}).empty());
  CHECK_FALSE(compressed(SparseLayout::kCsc, {0, 1, 1, 3}, {2, 0, 1}).empty());
  CHECK(compressed(SparseLayout::kBsr, {0, 1, 3}, {1, 0, 1}).empty());
  CHECK_FALSE(compressed(SparseLayout::kBsr, {0, 1, 3}, {2, 0, 1}).empty());
  CHECK(compressed(SparseLayout::kBsc, {0, 1, 3}, {1, 0, 1}).empty());
  // Samples of 2 x 2 and 1 x 2 over six numbers.
  const auto nested = [&](const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& starts) {
    storages["s"] = bytes_of(sizes);
    storages["t"] = bytes_of({2, 1, 2, 1});
    storages["o"] = bytes_of(starts);
    return problem({SparseLayout::kNested,
                    {},
                    {tensor("s", {2, 2}), tensor("t", {2, 2}), tensor("o", {2})},
                    tensor("v", {6}),
                    false});
  };
  CHECK(nested({2, 2, 1, 2}, {0, 4}).empty());
  CHECK_FALSE(nested({2, 2, 2, 2}, {0, 4}).empty());
  CHECK_FALSE(nested({2, 2, 1, 2}, {0, std::int64_t{1} << 40}).empty());
  CHECK_FALSE(nested({2, 2, 1, -2}, {0, 4}).empty());
  // Three samples over five rows.
  const auto jagged = [&](const std::vector<std::int64_t>& offsets, std::int64_t ragged = 1) {
    storages["o"] = bytes_of(offsets);
    return problem({SparseLayout::kJagged, {}, {tensor("o", {4})}, tensor("v", {5, 2}), false, ragged});
  };
  CHECK(jagged({0, 1, 3, 5}).empty());
  CHECK_FALSE(jagged({0, 1, 3, 6}).empty());
  CHECK_FALSE(jagged({0, 3, 1, 5}).empty());
  CHECK_FALSE(jagged({0, 1, 3, 5}, 4).empty());
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
  CHECK(higher_order_reach("print").empty());
  CHECK(higher_order_reach("inline_asm_elementwise") == "the process");
}
