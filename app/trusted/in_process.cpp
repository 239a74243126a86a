// The program as a function of a shared library, for fxtrace.trusted in Python: no process is started, and
// none protects the caller from what the files of models hold.
#include <cstddef>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli.h"

// Receives what the run wrote to a stream: 1 is stdout, 2 is stderr.
using FxtraceReceive = void (*)(int stream, const char* bytes, std::size_t size);

// Runs the program with these arguments, without its name, and with `input` as its stdin; returns its exit
// code.  Several threads may do so at the same time.
extern "C" __attribute__((visibility("default"))) int fxtrace_run(std::size_t count,
                                                                  const char* const* arguments,
                                                                  const char* input, std::size_t input_size,
                                                                  FxtraceReceive receive) {
  try {
    std::istringstream in(std::string(input, input_size));
    std::ostringstream out, err;
    const int code = fxtrace::internal::cli::run({arguments, arguments + count}, in, out, err);
    receive(1, out.view().data(), out.view().size());
    receive(2, err.view().data(), err.view().size());
    return code;
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    receive(2, text.data(), text.size());
    return fxtrace::internal::cli::exit_code(fxtrace::ErrorKind::kInternal);
  }
}
