// The check of the code in a TorchScript archive: the operators that it calls, and the code that runs when
// the archive is loaded.
#pragma once

#include <string>

#include "archive/file_kind.h"
#include "security/pickle_check.h"

namespace fxtrace::security {

// Reports an offence in a record of code.  `record` is the record's name without the archive's folder.
using TellOfCode = std::function<void(const std::string& record, SecurityKind kind,
                                      const std::string& subject, const std::string& message)>;

// Compiles all code of a TorchScript archive and checks every operator in it.  __setstate__ runs while the
// archive is loaded: it may assign, branch, raise and pack weights, and nothing else.
void check_script(const FileInfo& info, const TellOfCode& tell);

}  // namespace fxtrace::security
