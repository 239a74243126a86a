// The check of positions in sources (`*.debug_pkl`), which messages of TorchScript's errors show, and which
// the lite interpreter's loader reads.
#pragma once

#include <string_view>

#include "security/pickle_check.h"

namespace fxtrace::internal::security {

// Reports texts that a source names and that are not in the table of texts, and rows that lack parts:
// LibTorch checks neither.
void check_sources(std::string_view pickle, const Tell& tell);

}  // namespace fxtrace::internal::security
