// Writes a program as torch.export.save does: a .pt2.
#pragma once

#include <ostream>

#include "archive/model_file.h"
#include "convert/written_program.h"
#include "trace/program.h"

namespace fxtrace {

struct ProgramArchiveOptions {
  bool weights = true;         // without, all parameters and buffers are zero
  bool example_inputs = true;  // zeros, without which the program cannot be compiled
};

// Copies the bytes of tensors from the model's file, record by record, without reading them where the file
// says their checksum.  Throws Error(kInput) when they cannot be read.
void write_program_archive(const WrittenProgram& program, const Program& model, const ModelFile& file,
                           const ProgramArchiveOptions& options, std::ostream& out);

}  // namespace fxtrace
