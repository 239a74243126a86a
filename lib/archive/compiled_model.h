// Descriptions of models compiled by AOTInductor, read from the sources, JSON and library headers in their
// archive without running anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"

namespace fxtrace::internal {

struct CompiledModel {
  // A record in the model's folder.
  struct File {
    std::string name;  // without the folder
    std::uint64_t size = 0;
    std::string format;  // kind of machine code: "ELF shared library for x86-64"; empty for other files
  };
  // A tensor or object that is compiled into the code or stored beside it.
  struct Constant {
    std::string name;   // its qualified name in the model
    std::string kind;   // "parameter", "buffer", "constant", "folded", "custom_object"; empty: unknown
    std::string dtype;  // empty: unknown
    std::optional<std::vector<std::int64_t>> shape;
    std::optional<std::int64_t> bytes;
  };

  std::string name;
  // The compiler's metadata about the platform, in its order: ("AOTI_DEVICE_KEY", "cpu"), ...
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<File> files;                   // in the order of the archive
  std::vector<std::string> inputs, outputs;  // names in the generated code; flat
  std::vector<Constant> constants;
  std::vector<std::string> operators;  // operators called through PyTorch's runtime, as written there; sorted

  // Returns a value of the metadata; empty when absent.
  std::string find_metadata(const std::string& key) const;
};

// Returns the compiled models of an archive, sorted by name, as far as the archive describes them.  `info` is
// the result of identify_file().  Throws Error(kInput) for damaged records.
std::vector<CompiledModel> read_compiled_models(const FileInfo& info);

// Identifies a file of machine code by its first bytes: "ELF shared library for x86-64", "Mach-O shared
// library for ARM64", "PE library for x86-64".  Empty for other files.
std::string describe_machine_code(std::string_view head);

// Reads constants, inputs and outputs from the C++ that AOTInductor generates for a model.  `record` is its
// name in errors.  Throws Error(kInput).
void read_generated_source(std::string_view source, const std::string& record, CompiledModel& model);

}  // namespace fxtrace::internal
