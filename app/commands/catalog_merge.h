// `fxtrace catalog --merge`: makes one catalog of several.
#pragma once

#include <string>
#include <vector>

#include "app/console.h"
#include "app/process/isolation.h"

namespace fxtrace::internal::cli {

// Adds the rows of the catalogs in `names` to that in `output`, as if one run had read all files.  Of a file
// in several, the state with the latest time counts, of equal ones the last.  A run that was killed can be
// started again.  Returns how many files could not be read.  Throws Error.
std::size_t merge_catalogs(const std::vector<std::string>& names, const std::string& output,
                           const IsolationArguments& isolation, Console& console);

}  // namespace fxtrace::internal::cli
