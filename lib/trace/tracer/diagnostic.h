// Diagnostics of a trace as data: warnings and notes whose text is made only when they are shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fxtrace::internal {

// A message and its subjects.  Diagnostics with one id say the same of different subjects: "{} is beyond the
// range of {}".
struct Diagnostic {
  std::string id;                          // the message, with a "{}" for each subject
  std::vector<std::string> subjects = {};  // names, places and numbers

  // Appends to the message.
  void add(const std::string& what, const std::vector<std::string>& about = {}) {
    id += what;
    subjects.insert(subjects.end(), about.begin(), about.end());
  }
  std::string text() const {
    std::string text;
    std::size_t from = 0;
    for (const std::string& subject : subjects) {
      const std::size_t at = id.find("{}", from);
      text.append(id, from, at - from).append(subject);
      from = at + 2;
    }
    return text.append(id, from);
  }
  bool operator==(const Diagnostic&) const = default;
};

}  // namespace fxtrace::internal
