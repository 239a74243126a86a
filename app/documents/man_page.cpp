// Manual pages, in the macros of man(7).
#include "app/documents/documents.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "support/text/words.h"

namespace fxtrace::internal::cli {
namespace {

// Escapes text so that it means nothing to roff, wherever it stands in a line.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':  // a plain one would be set as a hyphen, which cannot be pasted into a shell
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

// Sets text in bold, which is text to be typed, without hyphenation at the end of a line.
std::string bold(const std::string& text) { return "\\fB\\%" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

// Writes one sentence per line, as roff wants it.
void write_escaped(const std::string& text, std::ostream& out) {
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = text.find(". ", start);
    end = end == std::string::npos ? text.size() : end + 1;
    out << escaped(text.substr(start, end - start)) << "\n";
    start = end + 1;
  }
}

// Lowers the first letter, as the section NAME has it, except that of an abbreviation.
std::string uncapitalized(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string page_name(std::string command) {
  std::ranges::replace(command, ' ', '-');
  return command;
}

void write_options(const std::vector<OptionText>& options, std::ostream& out) {
  for (const OptionText& option : options) {
    out << ".TP\n";
    const auto styled = [](const std::string& name) {
      return name.starts_with('-') ? bold(name) : italic(name);
    };
    out << joined(option.names, styled) << (option.value.empty() ? "" : " " + italic(option.value)) << "\n";
    write_escaped(option.help, out);
  }
}

struct Row {
  const char* what;
  const char* text;
};

constexpr Row kExitCodes[] = {
    {"0",
     "Done. Modules that failed to trace are part of a good result, and one line on stderr says how many."},
    {"2", "Wrong usage."},
    {"3",
     "The input cannot be read or is not supported, or the output cannot be written: one line says what it "
     "is and what to do."},
    {"4", "With --strict: some module failed to trace. The output is written all the same."},
    {"70", "A defect in fxtrace itself."},
};

constexpr Row kEnvironment[] = {
    {"FXTRACE_LIBTORCH",
     "The folder of a torch package, or its lib folder: the LibTorch that verify and --op-library use; "
     "nothing else needs one. Without it, that is the one that fxtrace was built with, if it is still "
     "there, else a torch in the virtual environment that fxtrace is in, else the one that the system's "
     "loader finds (LD_LIBRARY_PATH)."},
    {"NO_COLOR", "If set, output and messages have no colours; nor have they where TERM is dumb."},
    {"TMPDIR", "The folder of the temporary file for input from a pipe."},
};

template <std::size_t N>
void write_rows(const char* title, const Row (&rows)[N], std::ostream& out) {
  out << ".SH " << title << "\n";
  for (const Row& row : rows) {
    out << ".TP\n" << bold(row.what) << "\n";
    write_escaped(row.text, out);
  }
}

void write_examples(const std::string& examples, std::ostream& out) {
  out << ".SH EXAMPLES\n.EX\n";
  std::istringstream lines(examples);
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start != std::string::npos) out << escaped(line.substr(start)) << "\n";
  }
  out << ".EE\n";
}

}  // namespace

void write_man_page(const CommandText& command, const std::string& version, std::ostream& out) {
  const std::string page = page_name(command.name);
  std::string title = page;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  out << ".\\\" Made from the command line's own table: see app/documents.\n";
  out << ".TH " << escaped(title) << R"( 1 "" "fxtrace )" << version << R"(" "User Commands")" << "\n";
  out << ".SH NAME\n" << escaped(page) << " \\- " << escaped(uncapitalized(command.headline)) << "\n";
  out << ".SH SYNOPSIS\n" << bold(command.name) << " [" << italic("OPTIONS") << "]";
  for (const OptionText& argument : command.arguments) {
    const std::string name = italic(argument.names.front());
    out << " " << (argument.is_optional ? "[" + name + "]" : name) << (argument.is_repeatable ? "..." : "");
  }
  if (!command.commands.empty()) {
    out << " " << italic("COMMAND") << " ...\n.br\n" << bold(command.name) << " " << italic("MODEL");
  }
  out << "\n.SH DESCRIPTION\n";
  write_escaped(command.help, out);
  if (!command.arguments.empty()) {
    out << ".SH ARGUMENTS\n";
    write_options(command.arguments, out);
  }
  if (!command.commands.empty()) {
    out << ".SH COMMANDS\n";
    for (const CommandText& other : command.commands) {
      out << ".TP\n"
          << bold(other.word) << "\n"
          << escaped(other.headline) << ":\n"
          << "see " << bold(page_name(other.name)) << "(1).\n";
    }
    out << ".PP\n"
        << bold(command.name) << " " << italic("MODEL") << " alone does what "
        << bold(command.name + " summary") << " does.\n";
  }
  out << ".SH OPTIONS\n";
  for (const auto& [group, options] : command.groups) {
    if (group != "Options") out << ".SS " << escaped(group) << "\n";
    // The group Options holds the options that all commands have.
    if (group == "Options" && command.groups.size() > 1) out << ".SS Help\n";
    write_options(options, out);
  }
  write_examples(command.examples, out);
  write_rows("EXIT STATUS", kExitCodes, out);
  write_rows("ENVIRONMENT", kEnvironment, out);
  out << ".SH SEE ALSO\n";
  if (command.commands.empty()) {
    out << bold("fxtrace") << "(1), " << bold("dot") << "(1)\n";
  } else {
    std::string separator;
    for (const CommandText& other : command.commands) {
      out << separator << bold(page_name(other.name)) << "(1)";
      separator = ", ";
    }
    out << ", " << bold("dot") << "(1)\n";
  }
}

}  // namespace fxtrace::internal::cli
