// The code of a TorchScript archive: the operators that it calls, and what runs when the archive is loaded.
#pragma once

#include <string>

#include "archive/file_kind.h"
#include "security/pickle_check.h"

namespace fxtrace::security {

// Reports an offence in a record of code; the name of the record first, without the archive's folder.
using TellOfCode = std::function<void(const std::string& record, SecurityKind kind,
                                      const std::string& subject, const std::string& message)>;

// Compiles all code of a TorchScript archive and looks at every operator in it.  What __setstate__ does runs
// while the archive is loaded: it may assign, choose, raise and pack weights, and nothing else.
void check_script(const FileInfo& info, const TellOfCode& tell);

}  // namespace fxtrace::security
