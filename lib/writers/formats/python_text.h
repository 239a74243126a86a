// Writes text into Python source.  Names and strings of a model may contain anything; text written by these
// functions cannot end a literal, a name or a comment early.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace fxtrace::internal {

// Returns a string literal in double quotes.  Unprintable characters (controls, direction marks) are escaped;
// malformed UTF-8 becomes U+FFFD.
std::string python_string(std::string_view text);

// Returns whether the text is an ASCII identifier that is valid everywhere in Python: not a keyword, and
// without two leading underscores, which are mangled in a class.
bool is_python_name(std::string_view text);

// Makes unique names for one Python scope.
class PythonNames {
 public:
  // `outer` is the enclosing scope, whose names are taken here too; it must live as long.
  explicit PythonNames(const PythonNames* outer = nullptr) : outer_(outer) {}

  // Reserves a name, which create() then never returns.
  void reserve(std::string_view name) { taken_.emplace(name); }

  // Returns `candidate` if it is a valid name and not taken; otherwise a name made from it: invalid
  // characters become "_", and a number is appended.  Takes constant time, however many names are taken.
  std::string create(std::string_view candidate);

 private:
  bool try_reserve(const std::string& name) {
    return (outer_ == nullptr || !outer_->taken_.contains(name)) && taken_.insert(name).second;
  }

  const PythonNames* outer_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::int64_t> count_;  // last number used, by the name's prefix
};

}  // namespace fxtrace::internal
