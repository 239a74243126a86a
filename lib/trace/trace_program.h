// From a program, of whichever front end, to what is known of it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trace/options.h"
#include "trace/program.h"
#include "trace/trace.h"

namespace fxtrace {

// What is wanted besides the graphs.
struct Wanted {
  bool description = false;
  bool hint = false;
  bool input_options = false;
  // Where no method is asked for and there is no forward, the modules and parameters will do.
  bool graphs_if_any = false;
};

// Is told what happens while it happens.
struct Listener {
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::function<void(const std::string&)> warning = [](const std::string&) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};  // what was assumed of inputs
};

// Calls listener.warning() for each; of more than a few that say the same of different things for the first,
// with how many there are, and listener.progress() for the others.
void warn_of(const std::vector<std::string>& warnings, const Listener& listener);

// Traces, works out costs, and describes.  The result keeps the program.
TraceResult trace_program(std::shared_ptr<const Program> program, const TraceOptions& options,
                          const Wanted& wanted, const Listener& listener);

}  // namespace fxtrace
