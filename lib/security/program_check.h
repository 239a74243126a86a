// The check of an exported program's JSON: the texts in it that torch runs (exported/format/inert_texts.h),
// and what the operators that it calls reach.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "security/pickle_check.h"
#include "support/json_document.h"

namespace fxtrace::internal::security {

// Checks the JSON of a program.  Throws Error(kInput) for a text that is not JSON.
void check_program(const JsonValue& program, const Tell& tell);

// Checks what an operator reaches: "torch.ops.aten.add.Tensor".  Other targets are left to check_texts().
void check_reach(std::string_view target, const Tell& tell);

// The entry of a record in the configuration of weights or constants.
struct Payload {
  bool is_pickled = false;
  bool is_tensor = true;  // the record has a tensor's bytes, unless it is pickled
};
// Returns the entries by the names of their records.  Throws Error(kInput).
std::map<std::string, Payload, std::less<>> read_payloads(const JsonValue& config, const Tell& tell);

}  // namespace fxtrace::internal::security
