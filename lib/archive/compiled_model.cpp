#include "archive/compiled_model.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "archive/zip_archive.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/text/numbers.h"

namespace fxtrace::internal {
namespace {

constexpr std::string_view kFolder = "data/aotinductor/";
constexpr std::size_t kMaxSource = 64'000'000;  // bytes of generated code; the largest have some megabytes
constexpr std::size_t kMaxNotes = 64'000'000;   // bytes of a JSON beside the code
constexpr std::size_t kMaxDeclared = 100'000;   // constants, inputs and outputs
constexpr std::size_t kMaxMetadata = 100;       // fields of metadata; the compiler writes five
constexpr std::size_t kMaxSizes = 64;           // dimensions of one constant
constexpr std::size_t kHeader = 1'024;          // first bytes of a library, which name its machine

// --- headers of machine code ---

struct Machine {
  std::uint32_t number;
  const char* name;
};
constexpr std::array<Machine, 13> kElfMachines{{{3, "x86"},
                                                {8, "MIPS"},
                                                {20, "PowerPC"},
                                                {21, "PowerPC 64"},
                                                {22, "S390"},
                                                {40, "ARM"},
                                                {62, "x86-64"},
                                                {183, "ARM64"},
                                                {190, "NVIDIA CUDA"},
                                                {224, "AMD GPU"},
                                                {243, "RISC-V"},
                                                {247, "BPF"},
                                                {258, "LoongArch"}}};
constexpr std::array<Machine, 4> kMachOMachines{
    {{7, "x86"}, {0x01000007, "x86-64"}, {12, "ARM"}, {0x0100000c, "ARM64"}}};
constexpr std::array<Machine, 4> kPeMachines{
    {{0x14c, "x86"}, {0x8664, "x86-64"}, {0x1c4, "ARM"}, {0xaa64, "ARM64"}}};

template <std::size_t N>
std::string machine_name(const std::array<Machine, N>& table, std::uint32_t number) {
  const auto* found = std::ranges::find(table, number, &Machine::number);
  return found != table.end() ? found->name : "machine " + std::to_string(number);
}

std::uint32_t unsigned_at(std::string_view bytes, std::size_t at, std::size_t size, bool big_endian) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t byte = at + (big_endian ? i : size - 1 - i);
    value = (value << 8) | static_cast<unsigned char>(bytes[byte]);
  }
  return value;
}

std::string describe_elf(std::string_view head) {
  const bool big_endian = head[5] == 2;
  const std::uint32_t type = unsigned_at(head, 16, 2, big_endian);
  const char* what = type == 1 ? "object" : type == 2 ? "program" : type == 3 ? "shared library" : "file";
  return std::string("ELF ") + what + " for " +
         machine_name(kElfMachines, unsigned_at(head, 18, 2, big_endian));
}

std::string describe_mach_o(std::string_view head) {
  const std::uint32_t type = unsigned_at(head, 12, 4, false);
  const char* what = type == 1 ? "object" : type == 6 || type == 8 ? "shared library" : "file";
  return std::string("Mach-O ") + what + " for " +
         machine_name(kMachOMachines, unsigned_at(head, 4, 4, false));
}

std::string describe_pe(std::string_view head) {
  const std::uint32_t at = unsigned_at(head, 0x3c, 4, false);
  const bool is_pe =
      at <= kHeader - 6 && head.size() >= at + 6 && head.substr(at, 4) == std::string_view("PE\0\0", 4);
  return is_pe ? "PE library for " + machine_name(kPeMachines, unsigned_at(head, at + 4, 2, false)) : "";
}

// --- generated code ---

// A statement of this form: `inputs_info_[0].name = "arg3_1";`.
struct Statement {
  std::string_view table, field, value;  // value: without the semicolon
  std::size_t index = 0;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::optional<Statement> statement_in(std::string_view line) {
  line = trimmed(line);
  Statement statement;
  for (const std::string_view table : {"constants_info_[", "inputs_info_[", "outputs_info_["}) {
    if (line.starts_with(table)) statement.table = table;
  }
  if (statement.table.empty() || !line.ends_with(';')) return std::nullopt;
  line.remove_prefix(statement.table.size());
  const std::size_t bracket = line.find("].");
  const std::size_t equals = line.find(" = ");
  if (bracket == std::string_view::npos || equals == std::string_view::npos || equals < bracket + 2)
    return std::nullopt;
  const auto index = number_in<std::size_t>(line.substr(0, bracket));
  if (!index) return std::nullopt;
  statement.index = *index;
  statement.field = line.substr(bracket + 2, equals - bracket - 2);
  statement.value = trimmed(line.substr(equals + 3, line.size() - equals - 4));
  return statement;
}

// Returns the text of a string literal: "lin.weight" -> lin.weight.
std::string string_literal(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return {};
  std::string result;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    result += text[i];
  }
  return result;
}

// Returns the sizes in a literal of the form {8, 4}.
std::optional<std::vector<std::int64_t>> sizes_literal(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('{') || !text.ends_with('}')) return std::nullopt;
  text = trimmed(text.substr(1, text.size() - 2));
  std::vector<std::int64_t> sizes;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = trimmed(text.substr(0, comma));
    while (item.ends_with('L')) item.remove_suffix(1);
    const auto size = number_in<std::int64_t>(item);
    if (!size || *size < 0 || sizes.size() == kMaxSizes) return std::nullopt;
    sizes.push_back(*size);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return sizes;
}

std::string_view behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

std::string kind_of_constant(std::string_view value) {
  std::string_view name = behind(value, "ConstantType::");
  while (name.ends_with(')')) name.remove_suffix(1);
  if (name == "Parameter") return "parameter";
  if (name == "Buffer") return "buffer";
  if (name == "TensorConstant") return "constant";
  if (name == "FoldedConstant") return "folded";
  return {};
}

void declare(const Statement& statement, CompiledModel::Constant& constant) {
  const auto& [table, field, value, index] = statement;
  if (field == "name" && constant.name.empty()) constant.name = string_literal(value);
  if (field == "original_fqn") {
    if (std::string name = string_literal(value); !name.empty()) constant.name = std::move(name);
  }
  if (field == "dtype") constant.dtype = behind(value, "cached_torch_dtype_");
  if (field == "type") constant.kind = kind_of_constant(value);
  if (field == "shape") constant.shape = sizes_literal(value);
  if (field == "data_size") {
    if (const auto bytes = number_in<std::int64_t>(value); bytes >= 0) constant.bytes = bytes;
  }
}

// --- records ---

// Reads a JSON beside the code, and calls read() with its root.
void read_notes(const ZipArchive& zip, const std::string& record,
                const std::function<void(const JsonValue&)>& read) {
  const JsonDocument document(JsonText{zip.read(record, kMaxNotes)}, record);
  if (!document.root().is_object()) document.root().fail("expected an object");
  read(document.root());
}

template <class F>
void each_field(const JsonValue& object, F&& f) {
  for (const JsonValue field : object.fields()) f(field.key(), field);
}

void add_metadata(const JsonValue& notes, CompiledModel& model) {
  each_field(notes, [&](std::string_view key, const JsonValue& value) {
    const std::string_view text = value.string();
    const bool is_known =
        std::ranges::any_of(model.metadata, [&](const auto& known) { return known.first == key; });
    if (is_known) return;
    if (model.metadata.size() == kMaxMetadata) {
      value.fail("more than " + std::to_string(kMaxMetadata) + " fields of metadata");
    }
    model.metadata.emplace_back(key, text);
  });
}

// Adds the weights beside the code: {"lin.weight": ["weight_0", [64, 64], [64, 1], 0]}.
void add_weights(const JsonValue& notes, CompiledModel& model) {
  std::map<std::string, std::size_t, std::less<>> known;
  for (std::size_t i = 0; i < model.constants.size(); ++i) known.emplace(model.constants[i].name, i);
  each_field(notes, [&](std::string_view name, const JsonValue& weight) {
    std::vector<JsonValue> parts;
    for (const JsonValue part : weight.items()) {
      parts.push_back(part);
      if (parts.size() > 4) break;
    }
    if (parts.size() != 4) weight.fail("expected a record, a shape, strides and an offset");
    std::vector<std::int64_t> shape;
    for (const JsonValue size : parts[1].items()) {
      if (size.integer() < 0) size.fail("a size is negative");
      if (shape.size() == kMaxSizes)
        parts[1].fail("there are more than " + std::to_string(kMaxSizes) + " sizes");
      shape.push_back(size.integer());
    }
    const auto found = known.find(name);
    if (found == known.end() && model.constants.size() == kMaxDeclared) {
      weight.fail("there are more than " + std::to_string(kMaxDeclared) + " constants");
    }
    if (found != known.end()) {
      model.constants[found->second].shape = std::move(shape);
    } else {
      model.constants.push_back({std::string(name), {}, {}, std::move(shape), std::nullopt});
    }
  });
}

// Adds objects of C++ classes: {"_custom_obj_0": "custom_obj_0"}.
void add_objects(const JsonValue& notes, CompiledModel& model) {
  each_field(notes, [&](std::string_view name, const JsonValue& record) {
    static_cast<void>(record.string());
    if (model.constants.size() == kMaxDeclared) {
      record.fail("there are more than " + std::to_string(kMaxDeclared) + " constants");
    }
    model.constants.push_back({std::string(name), "custom_object", {}, std::nullopt, std::nullopt});
  });
}

// Adds calls that the code leaves to PyTorch: {"nodes": [{"name": "buf2", "node": {"target": "sample::pick",
// ...}}]}.
void add_calls(const JsonValue& notes, CompiledModel& model) {
  const auto nodes = notes.find("nodes");
  if (!nodes) return;
  std::set<std::string> targets(model.operators.begin(), model.operators.end());
  for (const JsonValue node : nodes->items()) targets.emplace(node.at("node").at("target").string());
  model.operators.assign(targets.begin(), targets.end());
}

void describe_model(const ZipArchive& zip, const std::string& folder, CompiledModel& model) {
  const auto each = [&](std::string_view suffix, const auto& f) {
    for (const auto& file : model.files) {
      if (file.name.ends_with(suffix)) f(folder + file.name);
    }
  };
  const auto metadata = [&](const std::string& record) {
    read_notes(zip, record, [&](const JsonValue& notes) { add_metadata(notes, model); });
  };
  // The whole model's metadata comes first, as each linked object has metadata, too.
  each("wrapper_metadata.json", metadata);
  each("_metadata.json", [&](const std::string& record) {
    if (!record.ends_with("wrapper_metadata.json")) metadata(record);
  });
  each(".cpp", [&](const std::string& record) {
    if (zip.size(record) > kMaxSource) {
      throw input_error(record + ": the generated code has more than " + std::to_string(kMaxSource) +
                        " bytes");
    }
    read_generated_source(zip.read(record, kMaxSource), record, model);
  });
  for (auto& file : model.files) {
    const std::string record = folder + file.name;
    if (file.name == "weights_config.json") {
      read_notes(zip, record, [&](const JsonValue& notes) { add_weights(notes, model); });
    } else if (file.name == "custom_objs_config.json") {
      read_notes(zip, record, [&](const JsonValue& notes) { add_objects(notes, model); });
    } else if (file.name.ends_with(".json")) {
      const bool is_call = !file.name.ends_with("_metadata.json") && !file.name.ends_with("_flags.json");
      if (is_call) read_notes(zip, record, [&](const JsonValue& notes) { add_calls(notes, model); });
    } else if (!file.name.ends_with(".cpp")) {
      file.format = describe_machine_code(zip.read(record, kHeader));
    }
  }
}

}  // namespace

std::string CompiledModel::find_metadata(const std::string& key) const {
  const auto found = std::ranges::find(metadata, key, &std::pair<std::string, std::string>::first);
  return found != metadata.end() ? found->second : std::string();
}

std::vector<CompiledModel> read_compiled_models(const FileInfo& info) {
  if (!info.zip) return {};
  const ZipArchive& zip = *info.zip;
  const std::string folder = (info.root.empty() ? "" : info.root + "/") + std::string(kFolder);
  std::map<std::string, CompiledModel> models;
  for (const auto& entry : zip.entries()) {
    if (!entry.name.starts_with(folder)) continue;
    const std::size_t slash = entry.name.find('/', folder.size());
    if (slash == std::string::npos || slash + 1 == entry.name.size()) continue;
    CompiledModel& model = models[entry.name.substr(folder.size(), slash - folder.size())];
    model.files.push_back({entry.name.substr(slash + 1), entry.size, {}});
  }
  std::vector<CompiledModel> result;
  for (auto& [name, model] : models) {
    model.name = name;
    describe_model(zip, folder + name + "/", model);
    result.push_back(std::move(model));
  }
  return result;
}

std::string describe_machine_code(std::string_view head) {
  if (head.size() >= 20 && head.starts_with("\x7f"
                                            "ELF"))
    return describe_elf(head);
  if (head.size() >= 16 && (head.starts_with("\xcf\xfa\xed\xfe") || head.starts_with("\xce\xfa\xed\xfe"))) {
    return describe_mach_o(head);
  }
  if (head.size() >= 64 && head.starts_with("MZ")) return describe_pe(head);
  return {};
}

void read_generated_source(std::string_view source, const std::string& record, CompiledModel& model) {
  std::map<std::size_t, CompiledModel::Constant> constants;
  std::map<std::size_t, std::string> inputs, outputs;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    const auto statement = statement_in(source.substr(0, end));
    source.remove_prefix(std::min(end + 1, source.size()));
    if (!statement) continue;
    if (statement->table.starts_with("constants")) {
      declare(*statement, constants[statement->index]);
    } else if (statement->field == "name") {
      (statement->table.starts_with("inputs") ? inputs : outputs)[statement->index] =
          string_literal(statement->value);
    }
    if (constants.size() + inputs.size() + outputs.size() > kMaxDeclared) {
      throw input_error(record + ": the generated code declares more than " + std::to_string(kMaxDeclared) +
                        " constants, inputs and outputs");
    }
  }
  for (auto& [index, constant] : constants) model.constants.push_back(std::move(constant));
  for (auto& [index, name] : inputs) model.inputs.push_back(std::move(name));
  for (auto& [index, name] : outputs) model.outputs.push_back(std::move(name));
}

}  // namespace fxtrace::internal
