// The check of an exported program's JSON: the texts in it that torch evaluates, imports or calls, and those
// that it writes into the code of the graph's module.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "security/pickle_check.h"
#include "support/json_document.h"

namespace fxtrace::security {

// Checks the JSON of a program.  Throws Error(kInput) for a text that is not JSON.
void check_program(const JsonValue& program, const Tell& tell);

// Checks a target, as the JSON of a program and of a compiled one has it: "torch.ops.aten.add.Tensor",
// "_operator.mul", "math.floor", "torch.sym_max".
void check_target(std::string_view target, const Tell& tell);

// The entry of a record in the configuration of weights or constants.
struct Payload {
  bool is_pickled = false;
  bool is_tensor = true;  // the record has a tensor's bytes, unless it is pickled
};
// Returns the entries by the names of their records.  Throws Error(kInput).
std::map<std::string, Payload, std::less<>> read_payloads(const JsonValue& config, const Tell& tell);

}  // namespace fxtrace::security
