#include "app/cli.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include <CLI/CLI.hpp>

#include "app/commands/inspect.h"
#include "app/commands/trace.h"
#include "app/console.h"
#include "app/help.h"
#include "app/output.h"
#include "support/error.h"
#include "support/log.h"
#include "support/nearest.h"

namespace fxtrace::cli {
namespace {

constexpr int kWrongUsage = 2;
constexpr int kBadInput = 3;
constexpr int kDefect = 70;

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kWrongUsage;
    case ErrorKind::kInput:
      return kBadInput;
    case ErrorKind::kInternal:
      return kDefect;
  }
  return kDefect;
}

class CommandLine {
 public:
  CommandLine() : app_("Trace PyTorch models into torch.fx graphs, without Python.", "fxtrace") {
    app_.formatter(std::make_shared<CLI::FormatterLambda>(
        [](const CLI::App* app, const std::string&, CLI::AppFormatMode) { return format_help(app); }));
    app_.footer(
        "  fxtrace trace model.pt --leaf torch.nn.Linear -o model.json\n"
        "  fxtrace inspect model.pt\n");
    app_.set_help_flag("-h,--help", "show this help");
    app_.set_version_flag("--version", std::string("fxtrace ") + FXTRACE_VERSION, "show the version");
    app_.require_subcommand(1);
    // The one list of commands; the help is made from it.
    commands_ = {make_trace_command(app_), make_inspect_command(app_)};
  }

  int run(const std::vector<std::string>& args, Console& console) {
    check_command(args);
    try {
      app_.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes them last first
    } catch (const CLI::CallForHelp&) {
      write_stdout(console, [&](std::ostream& out) { out << format_help(chosen()); });
      return kDone;
    } catch (const CLI::CallForVersion& version) {
      write_stdout(console, [&](std::ostream& out) { out << version.what() << "\n"; });
      return kDone;
    } catch (const CLI::ParseError& error) {
      throw wrong_usage(error);
    }
    const auto command = std::find_if(commands_.begin(), commands_.end(),
                                      [](const Command& candidate) { return candidate.app->parsed(); });
    return command->run(console);
  }

 private:
  void check_command(const std::vector<std::string>& args) const {
    const std::string hint = "fxtrace --help lists the commands";
    if (args.empty()) throw usage_error("a command is missing", {hint});
    if (args.front().starts_with("-")) return;
    std::vector<std::string> names;
    for (const Command& command : commands_) names.push_back(command.app->get_name());
    if (std::find(names.begin(), names.end(), args.front()) != names.end()) return;
    const std::string nearest = find_nearest(args.front(), names);
    throw usage_error("unknown command '" + args.front() + "'" +
                          (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"),
                      {hint});
  }

  // The command whose name was seen, or fxtrace itself.
  const CLI::App* chosen() const {
    for (const Command& command : commands_) {
      if (command.app->parsed()) return command.app;
    }
    return &app_;
  }

  Error wrong_usage(const CLI::ParseError& error) const {
    const CLI::App* app = chosen();
    const std::string hint =
        (app == &app_ ? "fxtrace" : "fxtrace " + app->get_name()) + " --help shows the options";
    for (const std::string& left : app->remaining(true)) {
      if (left.size() < 2 || left.front() != '-') {
        return usage_error("unexpected argument '" + left + "'", {hint});
      }
      const std::string name = left.substr(0, left.find('='));
      std::vector<std::string> known;
      for (const CLI::Option* option : app->get_options()) {
        for (const auto& part : option->get_lnames()) known.push_back("--" + part);
      }
      const std::string nearest = name.starts_with("--") ? find_nearest(name, known) : "";
      return usage_error(
          "unknown option '" + name + "'" + (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"),
          {hint});
    }
    return usage_error(error.what(), {hint});
  }

  CLI::App app_;
  std::vector<Command> commands_;
};

}  // namespace

int run(const std::vector<std::string>& args, std::istream& in, std::ostream& out, std::ostream& err) {
  int code = kDefect;
  try {
    Console console(in, out, err);
    try {
      code = CommandLine().run(args, console);
    } catch (const Error& error) {
      console.error(error);
      code = exit_code(error.kind());
    } catch (const std::bad_alloc&) {
      console.error(input_error("there is not enough memory for this model"));
      code = kBadInput;
    } catch (const std::exception& error) {
      console.error({ErrorKind::kInternal,
                     std::string("a defect in fxtrace: ") + error.what(),
                     {"please report it, with the command line and, if you can, the model"}});
    }
  } catch (...) {
    // Nothing can be said any more.
  }
  log::set_up(err, {});
  return code;
}

}  // namespace fxtrace::cli
