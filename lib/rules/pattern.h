// What a rule speaks of: operators and types of modules, by globs.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/text/name_pattern.h"

namespace fxtrace {

// One or more globs (support/text/glob.h), with "|" between them.  A glob stands for the operators and
// functions whose target, with or without its overload, it matches ("aten.add", "aten.add.*",
// "aten::add.Tensor"), and for the modules whose type or public alias it matches ("torch.nn.Linear").  The
// words placeholder and output stand for these nodes.  A bare name may be the last part of such names
// (support/text/name_pattern.h), of an operator that in front of its overload.
class Pattern {
 public:
  // Throws Error(kUsage) that shows the position of what is wrong in `whole`, where the text begins at
  // `offset`.
  explicit Pattern(std::string_view text) : Pattern(text, text, 0) {}
  Pattern(std::string_view text, std::string_view whole, std::size_t offset);

  // The names of one model.
  struct Names {
    std::vector<std::string> targets, types;
  };
  // Settles which names are meant.  Returns the globs that match neither a name of the model nor one that
  // torch has: misspelled, as a rule.
  std::vector<std::string> settle(const Names& model);

  const std::string& text() const { return text_; }
  bool matches_target(const std::string& target) const;  // of a call_function, or a word
  bool matches_type(const std::string& type) const;      // of a module; not empty
  // Returns whether it matches the target of any operator that torch registers.
  bool matches_registered() const;
  bool has_word() const;  // placeholder or output

 private:
  std::string text_;
  std::vector<NamePattern> globs_;
  mutable std::unordered_map<std::string, bool> targets_, types_;  // what was asked before
  mutable signed char registered_ = -1;                            // -1: not known yet
};

// The names that were likely meant by a text that matches nothing: those of the model, then torch's.
std::vector<std::string> nearest_names(const std::string& text, const Pattern::Names& model);

// "aten.add" for "aten.add.Tensor"; the target itself where it has no overload.
std::string_view without_overload(std::string_view target);

}  // namespace fxtrace
