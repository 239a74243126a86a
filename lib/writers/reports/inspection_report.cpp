// The answer of `fxtrace inspect` as text.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "graph/analysis/text_form.h"
#include "operators/names/modules.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "writers/formats/document.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMostConstants = 40;  // rows of the text; JSON has all
constexpr std::size_t kMostLibraries = 10;
constexpr std::size_t kMostListText = 300;  // characters of names in a row

// An entry of AOTInductor's metadata, and the title of its row.
struct KnownNote {
  const char* key;
  const char* row;  // null: its text is appended to the row before
};
constexpr std::array<KnownNote, 5> kNotes{{{"AOTI_DEVICE_KEY", "device"},
                                           {"AOTI_PLATFORM", "platform"},
                                           {"AOTI_MACHINE", nullptr},
                                           {"AOTI_CPU_ISA", nullptr},
                                           {"AOTI_COMPUTE_CAPABILITY", "compute capability"}}};

std::string status_text(const ModuleRecord& module) {
  std::string text = to_string(module.status);
  if (module.alias_of) {
    text = "the same as ";
    text += module.alias_of->empty() ? "the root" : *module.alias_of;
  } else if (module.rule) {
    text += " (" + *module.rule + ")";
  } else if (module.failure) {
    text += " (" + module.failure->message + ")";
  }
  return text;
}

// Returns "Tensor", "float32[1, batch]" or "0.5 (fixed)".
std::string port_text(const PortInfo& port) {
  if (port.fixed) return print_argument(*port.fixed) + " (fixed)";
  return value_or_type(port.meta, "unknown");
}

std::string signature_text(const MethodInfo& method) {
  std::string text = method.name + "(";
  for (const auto& input : method.inputs) {
    if (!text.ends_with('(')) text += ", ";
    text += input.name + ": " + port_text(input);
    if (input.default_value) text += " = " + print_argument(*input.default_value);
  }
  text += ") -> ";
  if (method.outputs.size() == 1) return text + port_text(method.outputs.front());
  return text + "(" + joined(method.outputs, port_text) + ")";
}

// Returns "a, b", of bounded length.
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    if (text.size() > kMostListText)
      return text + ", ... (" + with_separators(static_cast<std::int64_t>(names.size())) + ")";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string constant_text(const CompiledModel::Constant& constant) {
  if (!constant.shape) return constant.dtype;
  return (constant.dtype.empty() ? "?" : constant.dtype) + shape_text(*constant.shape);
}

class InspectionText : Document {
 public:
  explicit InspectionText(std::ostream& out) : Document(out, {}) {}

  void model(const Inspection& inspection) {
    line(headline(inspection.collection.model.file, inspection.file) +
         (inspection.producer.empty() ? "" : ", written by " + one_line(inspection.producer)));
    if (inspection.loads_with) loads_with(*inspection.loads_with);
    const ModuleSizes total = inspection.sizes.empty() ? ModuleSizes{} : inspection.sizes.front();
    this->total("parameters", total.parameters);
    this->total("buffers", total.buffers);
    if (inspection.constants_total.tensors != 0) this->total("constants", inspection.constants_total);
    line();
    methods(inspection);
    constants(inspection);
    modules(inspection);
    for (const CompiledModel& model : inspection.compiled) compiled(model);
  }

  void file(const FileInspection& inspection) {
    line(headline(inspection.name, inspection.file));
    if (!inspection.to_choose_from.empty()) {
      line("it holds " + std::to_string(inspection.to_choose_from.size()) +
           " models; --model NAME shows one:");
      for (const std::string& model : inspection.to_choose_from) line("  " + one_line(model));
    }
    for (const CompiledModel& model : inspection.compiled) compiled(model);
    if (inspection.compiled_only) {
      line(
          "\nTo trace what was compiled, save the exported program it was made of: torch.export.save(program, "
          "\"model.pt2\")");
    }
  }

 private:
  static std::string headline(const std::string& name, const FileInfo& file) {
    return one_line(name + ": " + file.what +
                    (file.producer_version.empty() ? "" : ", version " + file.producer_version));
  }

  // Writes "loads with torch >= 2.9, because of the layout of the archive".
  void loads_with(const Inspection::LoadsWith& releases) {
    line("loads with torch >= " + releases.since + (releases.until ? " and < " + *releases.until : "") +
         (releases.because.empty() ? "" : ", because of " + one_line(names_text(releases.because))));
  }

  void table(TextTable table) {
    table.is_ragged = true;
    Document::table(std::move(table));
  }

  void more(std::size_t count) {
    if (count > kMostConstants)
      line("... and " + std::to_string(count - kMostConstants) + " more, which --json lists");
  }

  // Writes "parameters: 1,024 elements in 2 tensors, 4,096 bytes (float32 on cpu)".
  void total(const std::string& what, const TensorTotal& total) {
    if (total.tensors == 0) return line(what + ": none");
    line(what + ": " + counted(total.elements, "element") + " in " + counted(total.tensors, "tensor") + ", " +
         with_separators(total.bytes) + " bytes (" + one_line(joined(total.dtypes)) +
         (total.devices.empty() ? "" : " on " + one_line(joined(total.devices))) + ")");
  }

  void method(const MethodInfo& method) {
    TextTable inputs{{{"input"}, {"type"}}};
    if (std::ranges::any_of(method.inputs, [](const auto& input) { return input.default_value.has_value(); }))
      inputs.columns.push_back({"default"});
    for (const PortInfo& input : method.inputs) {
      inputs.rows.push_back({input.name, port_text(input)});
      if (input.default_value) inputs.rows.back().emplace_back(print_argument(*input.default_value));
    }
    if (method.inputs.empty()) inputs.rows.push_back({"(none)", ""});
    table(inputs);
    line();
    TextTable outputs{{{"output"}, {"type"}}};
    for (const PortInfo& output : method.outputs) {
      const std::string& name = output.label.empty() ? output.name : output.label;
      outputs.rows.push_back({name.empty() ? "(result)" : name, port_text(output)});
    }
    if (method.outputs.empty()) outputs.rows.push_back({"(none)", ""});
    table(outputs);
    line();
  }

  void methods(const Inspection& inspection) {
    if (inspection.method) method(inspection.methods[*inspection.method]);
    if (inspection.methods.size() < 2 && inspection.method) return;
    line(inspection.methods.empty() ? "no methods" : inspection.method ? "other methods:" : "methods:");
    for (std::size_t i = 0; i < inspection.methods.size(); ++i) {
      if (i != inspection.method) line("  " + one_line(signature_text(inspection.methods[i])));
    }
    line();
  }

  void constants(const Inspection& inspection) {
    if (inspection.constants.empty()) return;
    TextTable table{{{"constant"}, {"type"}, {"bytes", true}}};
    for (const ConstantInfo& constant : inspection.constants) {
      if (table.rows.size() == kMostConstants) break;
      if (constant.dtype.empty()) {
        const std::int64_t stored = byte_count(constant.stored);
        table.rows.push_back({constant.name, constant.type, stored == 0 ? "" : with_separators(stored)});
      } else {
        table.rows.push_back(
            {constant.name, constant.dtype + shape_text(constant.shape), byte_count(constant)});
      }
    }
    this->table(table);
    more(inspection.constants.size());
    line();
  }

  void modules(const Inspection& inspection) {
    TextTable table{{{"module"}, {"type"}, {"own", true}, {"total", true}, {"bytes", true}, {"status"}}};
    std::int64_t hidden = 0;
    for (std::size_t i = 0; i < inspection.collection.modules.size(); ++i) {
      const ModuleRecord& module = inspection.collection.modules[i];
      const QualifiedName path(module.path);
      const std::size_t depth = path.parts().size();
      if (inspection.max_depth && static_cast<std::int64_t>(depth) > *inspection.max_depth) {
        ++hidden;
        continue;
      }
      std::string status = status_text(module);
      const auto& methods = inspection.module_methods[i];
      if (!methods.empty() && std::ranges::find(methods, "forward") == methods.end())
        status += "; methods: " + joined(methods);
      constexpr std::size_t kMostDepth = 30;  // deeper rows are not indented further
      const ModuleSizes& sizes = inspection.sizes[i];
      table.rows.push_back({std::string(2 * std::min(depth, kMostDepth), ' ') +
                                (module.path.empty() ? path_text("") : name_of_part(path.last())),
                            module.type.empty() ? "-" : public_alias(module.type),
                            sizes.own_parameters.elements, sizes.parameters.elements, sizes.parameters.bytes,
                            status});
    }
    this->table(table);
    if (hidden != 0) {
      line("... and " + std::to_string(hidden) + (hidden == 1 ? " module" : " modules") +
           " below --max-depth " + std::to_string(*inspection.max_depth));
    }
  }

  // --- models that AOTInductor compiled ---

  void compiled(const CompiledModel& model) {
    std::int64_t bytes = 0;
    for (const auto& file : model.files) bytes += static_cast<std::int64_t>(file.size);
    line("\ncompiled model '" + one_line(model.name) + "': " + std::to_string(model.files.size()) +
         (model.files.size() == 1 ? " file, " : " files, ") + with_separators(bytes) + " bytes");
    TextTable rows{.columns = {{""}, {""}}, .is_ragged = true};
    for (const auto& [label, text] : facts(model)) rows.rows.push_back({label, text});
    rows.fit();
    rows.write_rows(out_);
    if (model.constants.empty()) return;
    TextTable table{{{"constant"}, {"kind"}, {"type"}, {"bytes", true}}};
    for (const auto& constant : model.constants) {
      if (table.rows.size() == kMostConstants) break;
      table.rows.push_back({constant.name, constant.kind.empty() ? "-" : constant.kind,
                            constant_text(constant),
                            constant.bytes ? with_separators(*constant.bytes) : "-"});
    }
    line();
    this->table(table);
    more(model.constants.size());
  }

  static std::vector<Line> facts(const CompiledModel& model) {
    std::vector<Line> lines;
    for (const auto& [key, row] : kNotes) {
      const std::string text = model.find_metadata(key);
      if (text.empty()) continue;
      if (row == nullptr && !lines.empty() && lines.back().first == "platform") {
        lines.back().second += ", " + text;
      } else {
        lines.emplace_back(row != nullptr ? row : "platform", text);
      }
    }
    for (const auto& [key, text] : model.metadata) {
      if (std::ranges::find(kNotes, key, &KnownNote::key) == kNotes.end()) lines.emplace_back(key, text);
    }
    std::size_t libraries = 0;
    for (const auto& file : model.files) {
      if (file.format.empty() || ++libraries > kMostLibraries) continue;
      lines.emplace_back("machine code", file.format + ", " +
                                             with_separators(static_cast<std::int64_t>(file.size)) +
                                             " bytes: " + file.name);
    }
    if (libraries > kMostLibraries)
      lines.emplace_back("machine code", "... and " + std::to_string(libraries - kMostLibraries) + " more");
    if (!model.inputs.empty()) lines.emplace_back("inputs", names_text(model.inputs));
    if (!model.outputs.empty()) lines.emplace_back("outputs", names_text(model.outputs));
    if (!model.operators.empty()) lines.emplace_back("calls of PyTorch", names_text(model.operators));
    return lines;
  }
};

}  // namespace

void write_inspection_text(const Inspection& inspection, std::ostream& out) {
  InspectionText(out).model(inspection);
}

void write_file_text(const FileInspection& inspection, std::ostream& out) {
  InspectionText(out).file(inspection);
}

}  // namespace fxtrace::internal
