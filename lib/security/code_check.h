// Checks of code: in TorchScript archives, in programs, and of sources that torch compiles.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "archive/file_kind.h"
#include "security/pickle_check.h"
#include "support/json_document.h"

namespace fxtrace::internal::security {

// The check of the code in a TorchScript archive: the operators that it calls, and the code that runs when
// the archive is loaded.

// Reports an offence in a record of code.  `record` is the record's name without the archive's folder.
using TellOfCode = std::function<void(const std::string& record, SecurityKind kind,
                                      const std::string& subject, const std::string& message)>;

// Compiles all code of a TorchScript archive and checks every operator in it.  __setstate__ runs while the
// archive is loaded: it may assign, branch, raise and pack weights, and nothing else.
void check_script(const FileInfo& info, const TellOfCode& tell);

// Returns whether the operator ("aten::add.Tensor") may run in __setstate__: those that unpack the state and
// pack weights may.
bool may_run_on_load(std::string_view name);
// Returns whether its result is larger than its arguments: thirty of such calls can fill a memory.
bool grows(std::string_view name);
constexpr std::size_t kMaxGrowths = 12;  // of such calls in __setstate__

// The check of positions in sources (`*.debug_pkl`), which messages of TorchScript's errors show, and which
// the lite interpreter's loader reads.

// Reports texts that a source names and that are not in the table of texts, and rows that lack parts:
// LibTorch checks neither.
void check_sources(std::string_view pickle, const Tell& tell);

// The check of an exported program's JSON: the texts in it that torch runs (exported/format/inert_texts.h),
// and what the operators that it calls reach.

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
