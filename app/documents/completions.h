// What shells complete: commands, options, the values of those that have a list of them, and files.
#pragma once

#include <ostream>

#include "app/command_text.h"

namespace fxtrace::cli {

// Each a whole script for share/ of an installation.  `program` is fxtrace itself, with its commands, of
// which `fxtrace MODEL` alone means `summary`.
void write_bash_completion(const CommandText& program, std::ostream& out);
void write_zsh_completion(const CommandText& program, std::ostream& out);
void write_fish_completion(const CommandText& program, std::ostream& out);

}  // namespace fxtrace::cli
