// What a function has to say while it works.
#pragma once

#include <functional>
#include <string>

namespace fxtrace {

// Each function receives messages of one sort, without a line break at their end; names in them are the
// model's, and not sanitised.
struct Listener {
  using Receive = std::function<void(const std::string&)>;
  static void ignore(const std::string&) {}

  Receive progress = ignore;  // steps that are done, with their times
  Receive warning = ignore;   // what is probably not as the user thinks
  Receive note = ignore;      // assumptions about inputs, and what a pass left as it was
  Receive hint = ignore;      // options that would help
  Receive status = ignore;    // what begins now, or came of it, for whoever waits
};

}  // namespace fxtrace
