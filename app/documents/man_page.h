// A command's manual page.
#pragma once

#include <ostream>
#include <string>

#include "app/command_text.h"

namespace fxtrace::cli {

// For the section 1, in the macros of man(7).  The page of fxtrace itself says what all commands share.
void write_man_page(const CommandText& command, const std::string& version, std::ostream& out);

}  // namespace fxtrace::cli
