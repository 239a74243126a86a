// Nested arguments of forward: options name them as forward does, while the program only has their leaves as
// inputs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "exported/program/exported_program.h"
#include "trace/options/options.h"

namespace fxtrace::internal {

// An argument of forward.
struct NestedArgument {
  std::string name;
  const TreeSpec* spec = nullptr;
  std::size_t first = 0;  // position of its first leaf among the user inputs
};
// Returns the arguments of forward whose names the program has.
std::vector<NestedArgument> nested_arguments(const ExportedProgram& program);

// Returns the options with the program's own inputs in --concrete and --input-names: d={"a": "$PH"} becomes
// d_a="$PH".  Throws Error(kUsage) for a value that is not nested like the input.
TraceOptions by_own_inputs(const TraceOptions& options, const ExportedProgram& program);

}  // namespace fxtrace::internal
