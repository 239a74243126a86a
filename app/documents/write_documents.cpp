// Writes manual pages and shell completions into a folder, laid out as share/ of an installation.  Runs in
// the build:
//   fxtrace_documents FOLDER
//   fxtrace_documents --options     writes the options as JSON to stdout, for scripts/reference
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/command_text.h"
#include "app/documents/documents.h"
#include "support/json_emitter.h"
#include "trace/options/option_table.h"

namespace {

using fxtrace::internal::cli::CommandText;

void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  write(file);
  file.close();
}

void write_man_pages(const CommandText& command, const std::filesystem::path& folder) {
  std::string name = command.name + ".1";
  std::ranges::replace(name, ' ', '-');
  write_file(folder / name, [&](std::ostream& out) {
    fxtrace::internal::cli::write_man_page(command, FXTRACE_VERSION, out);
  });
  for (const CommandText& other : command.commands) write_man_pages(other, folder);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fxtrace_documents FOLDER|--options\n";
    return 2;
  }
  try {
    const CommandText program = fxtrace::internal::cli::describe(fxtrace::internal::cli::CommandLine().app());
    if (argv[1] == std::string("--options")) {
      fxtrace::internal::cli::write_options_json(program, std::cout);
      return 0;
    }
    const std::filesystem::path folder = argv[1];
    write_man_pages(program, folder / "man/man1");
    write_file(folder / "bash-completion/completions/fxtrace",
               [&](std::ostream& out) { fxtrace::internal::cli::write_bash_completion(program, out); });
    write_file(folder / "zsh/site-functions/_fxtrace",
               [&](std::ostream& out) { fxtrace::internal::cli::write_zsh_completion(program, out); });
    write_file(folder / "fish/vendor_completions.d/fxtrace.fish",
               [&](std::ostream& out) { fxtrace::internal::cli::write_fish_completion(program, out); });
  } catch (const std::exception& error) {
    std::cerr << "fxtrace_documents: " << error.what() << "\n";
    return 1;
  }
}

namespace fxtrace::internal::cli {

// Writes the options of all commands as JSON, from which scripts/reference writes what is generated in the
// source.

namespace {

// By OptionKind.
constexpr const char* kKinds[] = {"flag",      "integer", "choice",  "text",         "names", "repeatable",
                                  "libraries", "rule",    "by_name", "json_by_name", "rules", "config_file"};

void write_options(const std::string& title, const std::vector<OptionText>& options, JsonEmitter& json) {
  json.key(title).objects(options, [&](const OptionText& option) {
    json.field("names", option.names);
    json.field("value", option.value);
    json.field("help", option.help);
    json.field("is_repeatable", option.is_repeatable);
  });
}

}  // namespace

void write_options_json(const CommandText& program, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    json.key("commands").objects(program.commands, [&](const CommandText& command) {
      json.field("name", command.name);
      json.field("help", command.help);
      json.field("usage", command.usage());
      json.key("groups").object([&] {
        write_options("argument", command.arguments, json);
        for (const OptionGroupText& group : command.groups) write_options(group.title, group.options, json);
      });
    });
    json.key("trace").objects(option_table(), [&](const OptionRow& row) {
      json.field("key", row.key);
      json.field("name", row.name);
      json.field("kind", kKinds[static_cast<std::size_t>(row.kind)]);
      json.field("help", row.help);
      json.field("least", row.least);
      json.field("choices", row.choices);
      json.field("given", row.given);
      json.field("not_for", row.not_for);
    });
  });
}

}  // namespace fxtrace::internal::cli
