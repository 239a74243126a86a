// Options that name an input by the name that forward has for it, though the program has its parts only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "exported/program/exported_program.h"
#include "trace/options/options.h"

namespace fxtrace {

// An argument of forward.
struct NestedArgument {
  std::string name;
  const TreeSpec* spec = nullptr;
  std::size_t first = 0;  // of its leaves among the user inputs
};
// Returns those whose names the program tells.
std::vector<NestedArgument> nested_arguments(const ExportedProgram& program);

// Returns the options with the program's own inputs in --concrete and --input-names: d={"a": "$PH"} is
// d_a="$PH".  Throws Error(kUsage) for a value that is not nested as the input is.
TraceOptions by_own_inputs(const TraceOptions& options, const ExportedProgram& program);

}  // namespace fxtrace
