// The check of the code in a TorchScript archive: the operators that it calls, and the code that runs when
// the archive is loaded.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "archive/file_kind.h"
#include "security/pickle_check.h"

namespace fxtrace::internal::security {

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

}  // namespace fxtrace::internal::security
