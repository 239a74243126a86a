// Conversion of a model, or of a part of one, to programs of torch.export.
// A method is traced down to operators, lowered to the form of torch.export (lib/convert) and written as an
// archive with the weights copied.  Everything that a program cannot express is collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "convert/lower/lowering.h"
#include "convert/write/program_archive.h"
#include "convert/write/safetensors_file.h"
#include "extract/extract.h"
#include "pipelines/read_model.h"

namespace fxtrace::internal {

struct ConversionRequest {
  std::vector<std::string> methods;  // empty: that of the configuration; several become several programs
  // Methods that share the options of inputs: each takes those that name its own inputs.  Empty: `methods`.
  std::vector<std::string> sharing;
  ExtractRequest part;                        // empty: the whole method
  std::map<std::string, std::int64_t> hints;  // example sizes of dimensions
  bool has_example_inputs = true;
  bool grad = false;           // what the program assumes where the code asks whether gradients are enabled
  bool is_functional = false;  // no writes in place
  bool freezes_state = false;  // attributes that a run changes are what they are in the file
  bool decomposes_quantized = true;
  std::set<std::size_t> dropped_outputs;
  std::vector<std::string> taps;  // nodes of the root graph whose values become results
  std::vector<std::pair<std::string, std::string>> names;  // new names, behind the old ones
  std::optional<std::string> for_torch;                    // the release that has to load the programs: "2.7"
  bool has_external_weights = false;                       // in a safetensors file
  bool is_changed = false;  // options of the trace change what is written of an exported program

  bool has_part() const { return part.module || !part.from.empty() || !part.to.empty(); }
};

// The programs of a conversion, or what refuses it.
struct Conversion {
  std::vector<ProgramRecords> programs;
  std::vector<Refusal> refusals;  // empty: the programs can be written
  std::shared_ptr<const Program> model;
  std::optional<SafetensorsFile> weights;  // for has_external_weights
  ArchiveLayout layout = ArchiveLayout::kOwnRecords;

  // Write what is written of a conversion without refusals.  Throw Error(kInput) at the file.
  void write(const ModelFile& file, bool with_weights, std::ostream& out) const;
  void write_weights(const ModelFile& file, std::ostream& out) const;
};

// Throws Error: kUsage for a part that cannot be told, kInput at the file.
Conversion convert_model(const Config& config, const ConversionRequest& request, const NamedFile& file,
                         Run& run);

// Adds what is wrong with the programs of a written file, by its format.
void add_faults(const FileInfo& info, std::vector<Refusal>& refusals);

}  // namespace fxtrace::internal
