// Writes the JSON records of a program's archive.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "convert/lower/written_program.h"

namespace fxtrace::internal {

// The version of torch/_export/serde/schema.py that the JSON follows: the lowest that torch 2.9 reads.
inline constexpr int kProgramSchemaMajor = 8, kProgramSchemaMinor = 14;

// Writes the record of the program itself: models/NAME.json.
void write_program_json(const WrittenProgram& program, std::ostream& out);

// Writes the record with the places of the tensors: data/weights/NAME_weights_config.json, or that of the
// constants.  `path_of` gives the name of the record of a storage in its folder.
void write_tensor_places(const std::vector<WrittenTensor>& tensors,
                         const std::function<std::string(const WrittenTensor&)>& path_of, std::ostream& out);

}  // namespace fxtrace::internal
