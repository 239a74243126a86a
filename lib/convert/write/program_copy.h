// An exported program as it is, for an archive in the newest layout and without pickled weights.
#pragma once

#include <vector>

#include "convert/lower/lowering.h"
#include "convert/write/program_archive.h"
#include "exported/program/exported_program.h"

namespace fxtrace {

// Returns the records of the program: its JSON byte by byte, and where the tensors are.  What cannot be
// carried over is added to `refusals`; then they are not to be written.
ProgramRecords copy_program(const ExportedProgram& program, bool example_inputs,
                            std::vector<Refusal>& refusals);

}  // namespace fxtrace
