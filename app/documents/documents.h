// What an installation's share/ says of the program: manual pages, and completions of shells.
#pragma once

#include <ostream>
#include <string>

#include "app/command_text.h"

namespace fxtrace::cli {

// A command's page for the section 1, in the macros of man(7).  The page of fxtrace itself says what all
// commands share.
void write_man_page(const CommandText& command, const std::string& version, std::ostream& out);

// What shells complete: commands, options, the values of those that have a list of them, and files.  Each is
// a whole script.  `program` is fxtrace itself, with its commands, of which `fxtrace MODEL` alone means
// `summary`.
void write_bash_completion(const CommandText& program, std::ostream& out);
void write_zsh_completion(const CommandText& program, std::ostream& out);
void write_fish_completion(const CommandText& program, std::ostream& out);

}  // namespace fxtrace::cli
