// Completion scripts for bash, zsh and fish.
#include "app/documents/documents.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/text/words.h"

namespace fxtrace::internal::cli {
namespace {

constexpr char kCommandOfFiles[] = "summary";

// Returns the first words of a help text, up to the first stop.
std::string brief(const OptionText& option) {
  std::size_t end = option.help.size();
  for (const char* stop : {". ", "; ", ": "}) end = std::min(end, option.help.find(stop));
  return option.help.substr(0, end);
}

// Puts text in single quotes, with a backslash before each character of `special`.
std::string quoted(const std::string& text, const std::string& special, const std::string& quote) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += quote;
      continue;
    }
    if (special.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result + "'";
}

std::vector<OptionText> options_of(const CommandText& command) {
  std::vector<OptionText> options;
  for (const auto& group : command.groups) {
    options.insert(options.end(), group.options.begin(), group.options.end());
  }
  return options;
}

std::vector<std::string> command_words(const CommandText& program) {
  std::vector<std::string> words;
  for (const CommandText& command : program.commands) words.push_back(command.word);
  return words;
}

// --- bash ---

void write_bash_values(const CommandText& command, std::ostream& out) {
  std::vector<std::string> files, others;
  for (const OptionText& option : options_of(command)) {
    if (option.value.empty()) continue;
    if (option.is_file || option.choices.empty()) {
      auto& list = option.is_file ? files : others;
      for (const std::string& name : option.names) list.push_back(name);
      continue;
    }
    out << "        " << joined(option.names, {}, "|") << ")\n"
        << "          COMPREPLY=($(compgen -W '" << joined(option.choices, {}, " ") << "' -- \"$word\"))\n"
        << "          return ;;\n";
  }
  if (!files.empty()) out << "        " << joined(files, {}, "|") << ")\n          return ;;\n";
  // Values of other options are neither known nor files.
  if (!others.empty()) {
    out << "        " << joined(others, {}, "|") << ")\n"
        << "          compopt +o default 2>/dev/null\n          return ;;\n";
  }
}

std::string bash_options(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : options_of(command)) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return joined(names, {}, " ");
}

// --- zsh ---

std::string zsh_quoted(const std::string& text, const std::string& special = "") {
  return quoted(text, special, R"('\'')");
}

std::string zsh_value(const OptionText& option) {
  std::string action = " ";  // a value without completions
  if (option.is_file) action = "_files";
  if (!option.choices.empty()) action = "(" + joined(option.choices, {}, " ") + ")";
  std::string name = option.value;
  std::ranges::replace(name, '|', ' ');
  return ":" + name + ":" + action;
}

void write_zsh_option(const OptionText& option, std::ostream& out) {
  const std::string help = zsh_quoted("[" + brief(option) + "]", ":\\");
  // Brackets inside the description need a backslash of their own.
  std::string text;
  for (std::size_t i = 0; i < help.size(); ++i) {
    const bool is_inner = i > 1 && i + 2 < help.size();
    if (is_inner && (help[i] == '[' || help[i] == ']')) text += '\\';
    text += help[i];
  }
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    const char* with_value = name.starts_with("--") ? "=" : "+";
    names.push_back(name + (option.value.empty() ? "" : with_value));
  }
  out << "    ";
  if (option.is_repeatable) {
    out << "'*'";
  } else {
    out << "'(" << joined(option.names, {}, " ") << ")'";
  }
  out << (names.size() > 1 ? "{" + joined(names, {}, ",") + "}" : names.front()) << text;
  if (!option.value.empty()) out << zsh_quoted(zsh_value(option));
  out << " \\\n";
}

// --- fish ---

std::string fish_quoted(const std::string& text) { return quoted(text, "\\", "\\'"); }

void write_fish_option(const OptionText& option, const std::string& condition, std::ostream& out) {
  out << "complete -c fxtrace -n " << fish_quoted(condition);
  for (const std::string& name : option.names) {
    out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
  }
  if (option.is_file) {
    out << " -r -F";
  } else if (!option.choices.empty()) {
    out << " -x -a " << fish_quoted(joined(option.choices, {}, " "));
  } else if (!option.value.empty()) {
    out << " -x";
  }
  out << " -d " << fish_quoted(brief(option)) << "\n";
}

}  // namespace

void write_bash_completion(const CommandText& program, std::ostream& out) {
  const std::string words = joined(command_words(program), {}, "|");
  out << "# bash completion for fxtrace, made from the command line's own table\n"
         "_fxtrace() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
         "  COMPREPLY=()\n"
         "  # --option=value comes in three words.\n"
         "  if [[ $word == = ]]; then\n"
         "    word=\n"
         "  elif [[ $before == = ]] && ((COMP_CWORD > 2)); then\n"
         "    before=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  fi\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    if [[ $word == -* ]]; then\n"
         "      COMPREPLY=($(compgen -W '"
      << bash_options(program)
      << "' -- \"$word\"))\n"
         "    else  # files are the default where none of these fits\n"
         "      COMPREPLY=($(compgen -W '"
      << joined(command_words(program), {}, " ")
      << "' -- \"$word\"))\n"
         "    fi\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n"
         "    "
      << words << ") ;;\n    *) command=" << kCommandOfFiles << " ;;\n  esac\n  case $command in\n";
  for (const CommandText& command : program.commands) {
    out << "    " << command.word << ")\n      case $before in\n";
    write_bash_values(command, out);
    out << "      esac\n"
           "      if [[ $word == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W '"
        << bash_options(command) << "' -- \"$word\"))\n      fi ;;\n";
  }
  out << "  esac\n}\ncomplete -o default -F _fxtrace fxtrace\n";
}

void write_zsh_completion(const CommandText& program, std::ostream& out) {
  out << "#compdef fxtrace\n# Made from the command line's own table.\n";
  for (const CommandText& command : program.commands) {
    out << "\n_fxtrace_" << command.word << "() {\n  _arguments -s -S : \\\n";
    for (const OptionText& option : options_of(command)) write_zsh_option(option, out);
    out << "    '1:" << command.arguments.front().names.front() << ":_files'\n}\n";
  }
  out << "\n_fxtrace() {\n"
         "  local context state state_descr line\n"
         "  typeset -A opt_args\n"
         "  _arguments -C -S : \\\n";
  for (const OptionText& option : options_of(program)) write_zsh_option(option, out);
  out << "    '1: :->first' \\\n    '*:: :->others' && return\n"
         "  case $state in\n"
         "    first)\n"
         "      local -a commands=(\n";
  for (const CommandText& command : program.commands) {
    out << "        " << zsh_quoted(command.word + ":" + command.headline) << "\n";
  }
  out << "      )\n"
         "      _alternative 'commands:command:{_describe command commands}' 'files:MODEL:_files' ;;\n"
         "    others)\n"
         "      case $words[1] in\n"
         "        "
      << joined(command_words(program), {}, "|") << ") _fxtrace_$words[1] ;;\n        *) _fxtrace_"
      << kCommandOfFiles << " ;;\n      esac ;;\n  esac\n}\n\n_fxtrace \"$@\"\n";
}

void write_fish_completion(const CommandText& program, std::ostream& out) {
  out << "# fish completion for fxtrace, made from the command line's own table\n";
  const std::string begins = "__fish_use_subcommand";
  for (const CommandText& command : program.commands) {
    out << "complete -c fxtrace -n " << begins << " -a " << command.word << " -d "
        << fish_quoted(command.headline) << "\n";
  }
  for (const OptionText& option : options_of(program)) write_fish_option(option, begins, out);
  for (const CommandText& command : program.commands) {
    std::string condition = "__fish_seen_subcommand_from " + command.word;
    if (command.word == kCommandOfFiles) {
      auto others = command_words(program);
      std::erase(others, command.word);
      condition = "not " + begins + "; and not __fish_seen_subcommand_from " + joined(others, {}, " ");
    }
    for (const OptionText& option : options_of(command)) write_fish_option(option, condition, out);
  }
}

}  // namespace fxtrace::internal::cli
