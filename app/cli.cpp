#include "app/cli.h"

#include <new>

#include "app/command_line.h"
#include "app/console.h"
#include "support/log.h"

namespace fxtrace::internal::cli {

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

Error internal_error(const std::exception& defect) {
  return {ErrorKind::kInternal,
          std::string("internal error: ") + defect.what(),
          {"this is a bug in fxtrace; please report it with the command line and, if possible, the model"}};
}

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
      console.error(internal_error(error));
    }
  } catch (...) {
    // Not even the error could be written.
  }
  log::set_up(err, {});
  return code;
}

}  // namespace fxtrace::internal::cli
