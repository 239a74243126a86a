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

#include "app/command_line.h"
#include "app/command_text.h"
#include "app/documents/documents.h"

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
