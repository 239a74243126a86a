// Text as Python source has it.  Names and strings of a model may hold anything; nothing that is written
// through these functions can end a literal, a name or a comment early.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace fxtrace {

// A string literal in double quotes.  What would not stand there as it is (controls, direction marks) is
// escaped; bytes that are no UTF-8 become U+FFFD.
std::string python_string(std::string_view text);

// Whether the text is a name in ASCII that Python takes everywhere: no keyword, and no two underscores in
// front, which mean something else in a class.
bool is_python_name(std::string_view text);

// Unique names for one scope of Python.
class PythonNames {
 public:
  // `outer`: the scope around it, whose names are taken here too; it must live as long.
  explicit PythonNames(const PythonNames* outer = nullptr) : outer_(outer) {}

  // A name that create() never gives.
  void reserve(std::string_view name) { taken_.emplace(name); }

  // `candidate` when it is a name and not taken; else one made of it: characters that no name has become "_",
  // and a number follows.  The time does not depend on how many names are taken.
  std::string create(std::string_view candidate);

 private:
  bool take(const std::string& name) {
    return (outer_ == nullptr || !outer_->taken_.contains(name)) && taken_.insert(name).second;
  }

  const PythonNames* outer_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::int64_t> count_;  // numbers that are used up, by what stands before
};

}  // namespace fxtrace
