#include "app/cli.h"

#include <exception>
#include <new>

#include "app/command_line.h"
#include "app/commands/command.h"
#include "app/console.h"
#include "support/error.h"
#include "support/log.h"

namespace fxtrace::cli {
namespace {

constexpr int kWrongUsage = 2;
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

}  // namespace

int run(const std::vector<std::string>& args, std::istream& in, std::ostream& out, std::ostream& err) {
  int code = kDefect;
  try {
    Console console(in, out, err);
    try {
      code = CommandLine::run(args, console);
    } catch (const Error& error) {
      console.error(error);
      code = exit_code(error.kind());
    } catch (const std::bad_alloc&) {
      console.error(input_error("out of memory"));
      code = kBadInput;
    } catch (const std::exception& error) {
      console.error(
          {ErrorKind::kInternal,
           std::string("internal error: ") + error.what(),
           {"this is a bug in fxtrace; please report it with the command line and, if possible, the model"}});
    }
  } catch (...) {
    // Nothing can be said any more.
  }
  log::set_up(err, {});
  return code;
}

}  // namespace fxtrace::cli
