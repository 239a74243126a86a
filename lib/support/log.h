// Progress messages for people, on stderr.  Neither products nor errors are written here.
#pragma once

#include <iosfwd>
#include <string>

namespace fxtrace::internal::log {

struct Settings {
  bool enabled = false;  // -v
  bool colour = false;   // stderr is a terminal and NO_COLOR is not set
  bool timings = false;  // --timings
};

// Sets where progress of this thread is written until the next set_up(); `err` must live as long.  Nothing is
// written before the first call.
void set_up(std::ostream& err, const Settings& settings);

bool is_enabled();

// Writes one line of progress, with unprintable characters escaped.  Cheap when logging is off.
void info(const std::string& message);
// Writes a line that --timings asks for.
void timings(const std::string& message);

}  // namespace fxtrace::internal::log
