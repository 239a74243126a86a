// Progress messages for people, on stderr.  Nothing of the product and no error goes through here.
#pragma once

#include <iosfwd>
#include <string>

namespace fxtrace::log {

struct Settings {
  bool enabled = false;  // the caller's choice: -v
  bool colour = false;   // a terminal, and NO_COLOR is not set
  bool timings = false;  // --timings
};

// Where progress goes until the next set_up(); `err` must live as long.  Before the first call nothing is
// written.
void set_up(std::ostream& err, const Settings& settings);

// One line of progress, printable.  Cheap when logging is off.
void info(const std::string& message);
// What --timings asks for.
void timings(const std::string& message);

}  // namespace fxtrace::log
