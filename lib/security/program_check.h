// The JSON of an exported program: what torch evaluates, imports or calls of it, and what it writes into the
// code of the graph's module.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "security/pickle_check.h"
#include "support/json_document.h"

namespace fxtrace::security {

// Checks the JSON of a program.  Throws Error(kInput) for a text that is none.
void check_program(const JsonValue& program, const Tell& tell);

// Checks a target, as the JSON of a program and of a compiled one has it: "torch.ops.aten.add.Tensor",
// "_operator.mul", "math.floor", "torch.sym_max".
void check_target(std::string_view target, const Tell& tell);

// What the configuration of weights or constants says of a record.
struct Payload {
  bool is_pickled = false;
  bool is_tensor = true;  // its bytes are those of a tensor, unless it is pickled
};
// Returns the records by the name that the configuration has for each.  Throws Error(kInput).
std::map<std::string, Payload, std::less<>> read_payloads(const JsonValue& config, const Tell& tell);

}  // namespace fxtrace::security
