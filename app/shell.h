// Words of a command line, for hints that can be typed.
#pragma once

#include <string>

namespace fxtrace::cli {

// As it can be typed into a shell.
std::string shell_word(const std::string& text);

}  // namespace fxtrace::cli
