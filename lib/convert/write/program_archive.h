// Writes programs as torch.export.save does: a .pt2.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "archive/model_file.h"
#include "archive/zip_archive.h"
#include "convert/lower/written_program.h"
#include "trace/tracer/program.h"

namespace fxtrace {

// What an archive has of one program.
struct ProgramRecords {
  std::string name = "model";
  std::string json;
  std::vector<WrittenTensor> weights, constants;
  std::optional<RecordBytes> example_inputs;  // of torch.save; without, the program cannot be compiled
};

// Returns the records of a program, with zeros as example inputs if they are wanted.
ProgramRecords records_of(const WrittenProgram& program, bool example_inputs);

// Copies the bytes of tensors from the model's file, record by record, without reading them where the file
// says their checksum; those of all programs once.  Without `weights`, all parameters and buffers are zero.
// Throws Error(kInput) when they cannot be read.
void write_program_archive(const std::vector<ProgramRecords>& programs, const Program& model,
                           const ModelFile& file, bool weights, std::ostream& out);

}  // namespace fxtrace
