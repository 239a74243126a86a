// Copies an exported program unchanged into an archive of the newest layout, without pickled weights.
#pragma once

#include <vector>

#include "convert/lower/lowering.h"
#include "convert/write/program_archive.h"
#include "exported/program/exported_program.h"

namespace fxtrace::internal {

// Returns the records of the program: its JSON byte by byte, and the places of its tensors.  Parts that
// cannot be copied are added to `refusals`; then the records must not be written.
ProgramRecords copy_program(const ExportedProgram& program, bool example_inputs,
                            std::vector<Refusal>& refusals);

}  // namespace fxtrace::internal
