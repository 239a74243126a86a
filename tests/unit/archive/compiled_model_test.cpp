// Reading models that AOTInductor compiled.  Whole files are in tests/golden (inspect_compiled*).
#include "archive/compiled_model.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "catch.h"
#include "folder.h"
#include "support/error.h"

using namespace fxtrace::internal;
using namespace std::string_literals;

namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

const std::string kPlace = "m/data/aotinductor/model/";

std::vector<CompiledModel> read(const Folder& folder, Records records) {
  records.emplace_back("m/archive_format", "pt2");
  const ModelFile file(folder.zip(records));
  return read_compiled_models(identify_file(file));
}

std::string error_of(const Folder& folder, const std::string& name, const std::string& content) {
  try {
    read(folder, {{kPlace + name, content}});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    return error.place() + ": " + error.what();
  }
  return "no error";
}

std::string constant_text(const CompiledModel::Constant& constant) {
  std::string text = constant.name + " " + constant.kind + " " + constant.dtype;
  if (constant.shape) {
    text += " [";
    for (const auto size : *constant.shape) text += std::to_string(size) + ",";
    text += "]";
  }
  return text + (constant.bytes ? " " + std::to_string(*constant.bytes) : "");
}

std::string elf(char type, char machine) {
  return "\x7f"
         "ELF\2\1\1"s +
         std::string(9, '\0') + type + '\0' + machine + std::string(45, '\0');
}

}  // namespace

TEST_CASE("compiled model: machine code by its header", "[compiled_model]") {
  CHECK(describe_machine_code(elf(3, 62)) == "ELF shared library for x86-64");
  CHECK(describe_machine_code(elf(3, static_cast<char>(183))) == "ELF shared library for ARM64");
  CHECK(describe_machine_code(elf(1, static_cast<char>(190))) == "ELF object for NVIDIA CUDA");
  CHECK(describe_machine_code(elf(9, 9)) == "ELF file for machine 9");
  std::string big_endian = elf(0, 0);
  big_endian[5] = 2;
  big_endian[17] = 3;
  big_endian[19] = 22;
  CHECK(describe_machine_code(big_endian) == "ELF shared library for S390");
  CHECK(describe_machine_code("\xcf\xfa\xed\xfe\x0c\0\0\x01\0\0\0\0\x06\0\0\0"s) ==
        "Mach-O shared library for ARM64");
  std::string pe = "MZ" + std::string(126, '\0') + "PE\0\0\x64\x86"s;
  pe[0x3c] = static_cast<char>(128);
  CHECK(describe_machine_code(pe) == "PE library for x86-64");
  for (std::size_t size = 0; size < pe.size(); ++size)
    CHECK(describe_machine_code(pe.substr(0, size)).empty());
  for (const std::string& place : {"\xff\xff\xff\xff"s, "\xfb\x03\0\0"s}) {
    pe.replace(0x3c, 4, place);
    CHECK(describe_machine_code(pe).empty());
  }
  const std::string header = elf(3, 62);
  for (std::size_t size = 0; size < 20; ++size) CHECK(describe_machine_code(header.substr(0, size)).empty());
  CHECK(describe_machine_code("#include <vector>").empty());
}

TEST_CASE("compiled model: what generated code declares", "[compiled_model]") {
  CompiledModel model;
  read_generated_source(R"x(
    constants_info_[1].name = "scale";
    constants_info_[1].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::Buffer);
    constants_info_[1].shape = {};
    constants_info_[0].name = "lin_weight";
    constants_info_[0].dtype = cached_torch_dtype_bfloat16;
    constants_info_[0].data_size = 128;
    constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::Parameter);
    constants_info_[0].shape = {8L, 4};
    constants_info_[0].original_fqn = "lin.\"weight\"";
    inputs_info_[1].name = "y";
    inputs_info_[0].name = "x";
    outputs_info_[0].name = "output0";
    // Not a model, and not a number.
    constants_info_[-1].name = "a";
    constants_info_[99999999999999999999].name = "a";
    constants_info_[2.name = "a";
    constants_info_[3].name
    constants_info_[4].shape = {1, -1};
    constants_info_[4].name = "four";
    constants_info_[4].data_size = 1e3;
    constants_info_[4].data_size = -8;
    int constants_info_[5].name = "a";
    inputs_info_[)x",
                        "it", model);
  std::vector<std::string> constants;
  for (const auto& constant : model.constants) constants.push_back(constant_text(constant));
  CHECK(constants == std::vector<std::string>{"lin.\"weight\" parameter bfloat16 [8,4,] 128",
                                              "scale buffer  []", "four  "});
  CHECK(model.inputs == std::vector<std::string>{"x", "y"});
  CHECK(model.outputs == std::vector<std::string>{"output0"});
}

TEST_CASE("compiled model: the records of a package", "[compiled_model]") {
  const Folder folder;
  const auto models =
      read(folder, {{kPlace + "b.kernel_metadata.json", R"({"AOTI_DEVICE_KEY": "other", "K": "k"})"},
                    {kPlace + "a.wrapper_metadata.json", R"({"AOTI_DEVICE_KEY": "cuda", "EMPTY": ""})"},
                    {kPlace + "a.wrapper.cpp", "constants_info_[0].name = \"w\";\n"},
                    {kPlace + "a.wrapper.so", elf(3, 62)},
                    {kPlace + "a.wrapper.json",
                     R"({"nodes": [{"node": {"target": "b::two"}}, {"node": {"target": "a::one"}},
                                    {"node": {"target": "b::two"}}]})"},
                    {kPlace + "weights_config.json",
                     R"({"w": ["weight_0", [2, 3], [3, 1], 0], "v": ["weight_1", [], [], 0]})"},
                    {kPlace + "custom_objs_config.json", R"({"o": "custom_obj_0"})"},
                    {"m/data/aotinductor/other/x.cubin", "not ELF"},
                    {"m/data/aotinductor/loose", ""},
                    {"m/data/weights/weight_0", ""}});
  REQUIRE(models.size() == 2);
  const CompiledModel& model = models[0];
  CHECK(model.name == "model");
  CHECK(model.metadata == std::vector<std::pair<std::string, std::string>>{
                              {"AOTI_DEVICE_KEY", "cuda"}, {"EMPTY", ""}, {"K", "k"}});
  CHECK(model.find_metadata("AOTI_DEVICE_KEY") == "cuda");
  CHECK(model.operators == std::vector<std::string>{"a::one", "b::two"});
  REQUIRE(model.constants.size() == 3);
  CHECK(constant_text(model.constants[0]) == "w   [2,3,]");
  CHECK(constant_text(model.constants[1]) == "v   []");
  CHECK(constant_text(model.constants[2]) == "o custom_object ");
  REQUIRE(model.files.size() == 7);
  CHECK(model.files[3].name == "a.wrapper.so");
  CHECK(model.files[3].size == 64);
  CHECK(model.files[3].format == "ELF shared library for x86-64");
  CHECK(models[1].name == "other");
  CHECK(models[1].files[0].format.empty());
}

TEST_CASE("compiled model: damaged records are one error that names them", "[compiled_model]") {
  const Folder folder;
  const auto many = [](const std::string& item, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + ("\"" + std::to_string(i) + "\": " + item);
    return "{" + text + "}";
  };
  const std::pair<std::string, std::string> cases[] = {
      {"a_metadata.json", "{"},
      {"a_metadata.json", ""},
      {"a_metadata.json", "[]"},
      {"a_metadata.json", R"({"AOTI_DEVICE_KEY": 5})"},
      {"a_metadata.json", many("\"x\"", 200)},
      {"a_metadata.json", std::string(100'000, '[')},
      {"weights_config.json", R"({"w": "weight_0"})"},
      {"weights_config.json", R"({"w": ["weight_0"]})"},
      {"weights_config.json", R"({"w": ["weight_0", [-1], [1], 0]})"},
      {"weights_config.json", R"({"w": ["weight_0", [99999999999999999999], [1], 0]})"},
      {"weights_config.json", R"({"w": ["weight_0", [1.5], [1], 0]})"},
      {"weights_config.json", R"({"w": ["weight_0", 5, [1], 0]})"},
      {"weights_config.json", many(R"(["weight_0", [], [], 0])", 100'001)},
      {"custom_objs_config.json", R"({"o": null})"},
      {"a.wrapper.json", R"({"nodes": 5})"},
      {"a.wrapper.json", R"({"nodes": [{}]})"},
      {"a.wrapper.json", R"({"nodes": [{"node": {"target": []}}]})"},
      {"a.wrapper.json", "null"},
  };
  for (const auto& [name, content] : cases) {
    CAPTURE(name, content.substr(0, 100));
    CHECK_THAT(error_of(folder, name, content), ContainsSubstring(kPlace + name));
  }
  std::string source;
  for (int i = 0; i < 100'001; ++i) source += "inputs_info_[" + std::to_string(i) + "].name = \"a\";\n";
  CHECK_THAT(error_of(folder, "a.cpp", source), ContainsSubstring(kPlace + "a.cpp: "));
  CHECK(error_of(folder, "a_compile_flags.json", "{") == "no error");
}

TEST_CASE("compiled model: many models, and long sources, take no time", "[compiled_model]") {
  const Folder folder;
  const auto start = std::chrono::steady_clock::now();
  Records records;
  for (int i = 0; i < 20'000; ++i)
    records.emplace_back("m/data/aotinductor/" + std::to_string(i) + "/x.so", std::string());
  CHECK(read(folder, std::move(records)).size() == 20'000);
  CompiledModel model;
  read_generated_source(std::string(20'000'000, '\n'), "it", model);
  read_generated_source("constants_info_[0].shape = {" + std::string(20'000'000, '1') + "};", "it", model);
  read_generated_source("constants_info_[0].name = \"" + std::string(20'000'000, '\\') + "\";", "it", model);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}
