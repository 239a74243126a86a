// What every front end does: it takes a path and options, and hands over a TraceResult.
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

// Loads, traces, describes.
TraceResult trace_model(const std::function<std::unique_ptr<const Program>()>& load,
                        const TraceOptions& options, const Wanted& wanted, const Listener& listener);

}  // namespace fxtrace
