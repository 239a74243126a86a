// Writes programs as archives of torch.export.save: a .pt2.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "archive/model_file.h"
#include "archive/zip_archive.h"
#include "convert/lower/lowering.h"
#include "convert/lower/written_program.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// The records of one program in an archive.
struct ProgramRecords {
  std::string name = "model";
  std::string json;
  std::vector<WrittenTensor> weights, constants;
  std::optional<RecordBytes> example_inputs;  // of torch.save; needed to compile the program
};

// The layouts of torch.export.save.  Each release reads those before its own, too.
enum class ArchiveLayout : std::uint8_t {
  kFlat,        // torch 2.6 and 2.7: one program, and its tensors as dicts of torch.save
  kPacked,      // torch 2.8: several programs, each with such dicts
  kOwnRecords,  // since torch 2.9: a record for each storage
};
// Returns the newest layout in which torch 2.`release` reads the tensors of the programs.
ArchiveLayout layout_for(int release, const std::vector<ProgramRecords>& programs);

// Returns the records of a program, with zeros as example inputs if `example_inputs`.
ProgramRecords records_of(const WrittenProgram& program, bool example_inputs);

// Returns what torch would run of the texts that the records are made of (exported/format/inert_texts.h):
// names and values of a model can be any text.
std::vector<Refusal> refused_texts(const ProgramRecords& program);

// Writes the archive.  Copies the bytes of tensors from the model's file, record by record, each once for all
// programs; does not read them if the file has their checksum.  Without `weights`, all parameters and buffers
// are zero.  Throws Error(kInput) if the bytes cannot be read.
void write_program_archive(const std::vector<ProgramRecords>& programs, const Program& model,
                           const ModelFile& file, bool weights, std::ostream& out,
                           ArchiveLayout layout = ArchiveLayout::kOwnRecords);

// Writes example inputs as an archive of torch.save.

// Returns an archive with a tuple of the positional and the keyword arguments.  Tensors are zeros, one
// element that is repeated (stride 0), in the sizes that the hints of symbols give; plain values are
// themselves.
std::string saved_example_inputs(const WrittenProgram& program);

}  // namespace fxtrace::internal
