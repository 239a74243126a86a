// Generates documents from the descriptions of commands: manual pages, shell completions, and JSON
// for scripts/reference.
#pragma once

#include <ostream>
#include <string>

#include "app/command_text.h"

namespace fxtrace::internal::cli {

// Writes a command's page for section 1, with the macros of man(7).  The page of fxtrace itself describes
// what all commands share.
void write_man_page(const CommandText& command, const std::string& version, std::ostream& out);

// Writes the commands of `program` with all their options, and the table of the options of a trace, as JSON.
void write_options_json(const CommandText& program, std::ostream& out);

// Write completion scripts for commands, options, listed values of options, and files.  `program` is fxtrace
// itself with its commands; `fxtrace MODEL` alone means `summary`.
void write_bash_completion(const CommandText& program, std::ostream& out);
void write_zsh_completion(const CommandText& program, std::ostream& out);
void write_fish_completion(const CommandText& program, std::ostream& out);

}  // namespace fxtrace::internal::cli
