// What an exported program requires of its inputs, as torch.export's own module checks it: how they are
// nested, their sizes, and what the file says of both besides.
#pragma once

#include <string>
#include <vector>

#include "exported/modules/bound_exported_program.h"
#include "symbolic/expression.h"

namespace fxtrace {

// Returns the conditions over the placeholders, and over the arguments of forward where these are nested.
// `placeholders` are their names, one for each input of the program's graph; empty for what is none.
std::vector<Expression> program_guards(const BoundExportedProgram& bound,
                                       const std::vector<std::string>& placeholders);

}  // namespace fxtrace
