// Models that AOTInductor compiled, as their archive describes them: sources, JSON and the headers of
// libraries are read, and nothing of them is run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"

namespace fxtrace {

struct CompiledModel {
  // A record in the model's folder.
  struct File {
    std::string name;  // without the folder
    std::uint64_t size = 0;
    std::string format;  // of machine code: "ELF shared library for x86-64"; empty for what is none
  };
  // A tensor or object that is compiled in or stands beside the code.
  struct Constant {
    std::string name;   // its qualified name in the model
    std::string kind;   // "parameter", "buffer", "constant", "folded", "custom_object"; empty: unknown
    std::string dtype;  // empty: unknown
    std::optional<std::vector<std::int64_t>> shape;
    std::optional<std::int64_t> bytes;
  };

  std::string name;
  // What the compiler noted of the platform, in its order: ("AOTI_DEVICE_KEY", "cpu"), ...
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<File> files;                   // in the order of the archive
  std::vector<std::string> inputs, outputs;  // names in the generated code; flat
  std::vector<Constant> constants;
  std::vector<std::string> operators;  // that PyTorch runs for it, as they stand; sorted

  // A value of the metadata; empty when it is not there.
  std::string find_metadata(const std::string& key) const;
};

// Those of an archive of PyTorch, by name; none when it has none.  `info` is what identify_file() found. What
// the archive does not tell is left out.  Throws Error(kInput) for records that are damaged.
std::vector<CompiledModel> read_compiled_models(const ModelFile& file, const FileInfo& info);

// What the first bytes of a file of machine code say: "ELF shared library for x86-64", "Mach-O shared library
// for ARM64", "PE library for x86-64".  Empty for other files.
std::string describe_machine_code(std::string_view head);

// What is declared in the C++ that AOTInductor writes for a model: constants, inputs and outputs.  `record`
// is its name in errors.  Throws Error(kInput).
void read_generated_source(std::string_view source, const std::string& record, CompiledModel& model);

}  // namespace fxtrace
