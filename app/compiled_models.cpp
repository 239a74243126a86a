#include "app/compiled_models.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "app/table.h"
#include "support/columns.h"
#include "support/printable.h"
#include "support/words.h"

namespace fxtrace::cli {
namespace {

constexpr std::size_t kMaxShownConstants = 40;  // in text; JSON has them all
constexpr std::size_t kMaxShownLibraries = 10;
constexpr std::size_t kMaxList = 300;  // characters of names in a row

struct KnownNote {
  const char* key;
  const char* row;  // null: the row before it says it, too
};
constexpr std::array<KnownNote, 5> kNotes{{{"AOTI_DEVICE_KEY", "device"},
                                           {"AOTI_PLATFORM", "platform"},
                                           {"AOTI_MACHINE", nullptr},
                                           {"AOTI_CPU_ISA", nullptr},
                                           {"AOTI_COMPUTE_CAPABILITY", "compute capability"}}};

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    if (text.size() > kMaxList)
      return text + ", ... (" + with_separators(static_cast<std::int64_t>(names.size())) + ")";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

void add_platform(const CompiledModel& model, std::vector<TableRow>& rows) {
  for (const auto& [key, row] : kNotes) {
    const std::string text = model.find_metadata(key);
    if (text.empty()) continue;
    if (row == nullptr && !rows.empty() && rows.back().front() == "platform") {
      rows.back().back() += ", " + text;
    } else {
      rows.push_back({row != nullptr ? row : "platform", text});
    }
  }
  for (const auto& [key, text] : model.metadata) {
    const bool is_known = std::ranges::any_of(kNotes, [&](const KnownNote& note) { return key == note.key; });
    if (!is_known) rows.push_back({key, text});
  }
}

std::string type_text(const CompiledModel::Constant& constant) {
  if (!constant.shape) return constant.dtype;
  const auto size_text = [](std::int64_t size) { return std::to_string(size); };
  return (constant.dtype.empty() ? "?" : constant.dtype) + "[" + joined(*constant.shape, size_text) + "]";
}

void write_constants_of(const CompiledModel& model, std::ostream& out) {
  if (model.constants.empty()) return;
  std::vector<TableRow> rows{{"constant", "kind", "type", "bytes"}};
  for (const auto& constant : model.constants) {
    if (rows.size() > kMaxShownConstants) break;
    rows.push_back({constant.name, constant.kind.empty() ? "-" : constant.kind, type_text(constant),
                    constant.bytes ? with_separators(*constant.bytes) : "-"});
  }
  out << "\n";
  write_table(out, rows, {false, false, false, true});
  if (model.constants.size() > kMaxShownConstants) {
    out << "... and " << model.constants.size() - kMaxShownConstants << " more, which --json lists\n";
  }
}

void write_compiled_model(const CompiledModel& model, std::ostream& out) {
  std::int64_t bytes = 0;
  for (const auto& file : model.files) bytes += static_cast<std::int64_t>(file.size);
  out << "\ncompiled model '" << one_line(model.name) << "': " << model.files.size()
      << (model.files.size() == 1 ? " file, " : " files, ") << with_separators(bytes) << " bytes\n";
  std::vector<TableRow> rows;
  add_platform(model, rows);
  std::size_t libraries = 0;
  for (const auto& file : model.files) {
    if (file.format.empty() || ++libraries > kMaxShownLibraries) continue;
    rows.push_back({"machine code", file.format + ", " +
                                        with_separators(static_cast<std::int64_t>(file.size)) +
                                        " bytes: " + file.name});
  }
  if (libraries > kMaxShownLibraries) {
    rows.push_back({"machine code", "... and " + std::to_string(libraries - kMaxShownLibraries) + " more"});
  }
  if (!model.inputs.empty()) rows.push_back({"inputs", list_text(model.inputs)});
  if (!model.outputs.empty()) rows.push_back({"outputs", list_text(model.outputs)});
  if (!model.operators.empty()) rows.push_back({"calls of PyTorch", list_text(model.operators)});
  write_table(out, rows, {false, false});
  write_constants_of(model, out);
}

}  // namespace

void write_compiled_models(const std::vector<CompiledModel>& models, std::ostream& out) {
  for (const CompiledModel& model : models) write_compiled_model(model, out);
}

void write_compiled_models(const std::vector<CompiledModel>& models, JsonEmitter& json) {
  if (models.empty()) return;
  json.key("compiled_models").objects(models, [&](const CompiledModel& model) {
    json.field("name", model.name);
    json.text_or_null("device", model.find_metadata("AOTI_DEVICE_KEY"));
    json.text_or_null("platform", model.find_metadata("AOTI_PLATFORM"));
    json.text_or_null("machine", model.find_metadata("AOTI_MACHINE"));
    json.field("metadata", model.metadata);
    json.field("inputs", model.inputs);
    json.field("outputs", model.outputs);
    json.field("operators", model.operators);
    json.key("constants").objects(model.constants, [&](const CompiledModel::Constant& constant) {
      json.field("name", constant.name);
      json.text_or_null("kind", constant.kind);
      json.field("shape", constant.shape);
      json.text_or_null("dtype", constant.dtype);
      json.field("bytes", constant.bytes);
    });
    json.key("files").objects(model.files, [&](const CompiledModel::File& file) {
      json.field("name", file.name);
      json.field("size", file.size);
      json.text_or_null("format", file.format);
    });
  });
}

}  // namespace fxtrace::cli
