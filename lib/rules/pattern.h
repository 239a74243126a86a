// What a rule speaks of: operators and types of modules, by globs.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/glob.h"

namespace fxtrace {

// One or more globs (support/glob.h), with "|" between them.  A glob stands for the operators and functions
// whose target, with or without its overload, it matches ("aten.add", "aten.add.*", "aten::add.Tensor"), and
// for the modules whose type or public alias it matches ("torch.nn.Linear").  The words placeholder and
// output stand for these nodes.
class Pattern {
 public:
  // Throws Error(kUsage) that shows the position of what is wrong in `whole`, where the text begins at
  // `offset`.
  explicit Pattern(std::string_view text) : Pattern(text, text, 0) {}
  Pattern(std::string_view text, std::string_view whole, std::size_t offset);

  const std::string& text() const { return text_; }
  bool matches_target(const std::string& target) const;  // of a call_function, or a word
  bool matches_type(const std::string& type) const;      // of a module; not empty
  // Returns whether it matches the target of any operator that torch registers.
  bool matches_registered() const;
  bool has_word() const;  // placeholder or output

 private:
  bool matches(const std::string& text) const;

  std::string text_;
  std::vector<Glob> globs_;
  mutable std::unordered_map<std::string, bool> targets_, types_;  // what was asked before
  mutable signed char registered_ = -1;                            // -1: not known yet
};

// "aten.add" for "aten.add.Tensor"; the target itself where it has no overload.
std::string_view without_overload(std::string_view target);

}  // namespace fxtrace
