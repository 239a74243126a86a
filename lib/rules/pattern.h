// Patterns of rules: globs over operators and types of modules.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"
#include "support/text/name_pattern.h"

namespace fxtrace::internal {

// One or more globs (support/text/glob.h), with "|" between them.  A glob stands for the operators and
// functions whose target, with or without its overload, it matches ("aten.add", "aten.add.*",
// "aten::add.Tensor"), and for the modules whose type or public alias it matches ("torch.nn.Linear").  The
// words placeholder and output stand for these nodes.  A bare name may be the last part of such names
// (support/text/name_pattern.h); for an operator, the part in front of its overload.
class Pattern {
 public:
  // Throws Error(kUsage) that shows the position of the mistake in `whole`, in which the text begins at
  // `offset`.
  explicit Pattern(std::string_view text) : Pattern(text, text, 0) {}
  Pattern(std::string_view text, std::string_view whole, std::size_t offset);

  // The names of one model.
  struct Names {
    std::vector<std::string> targets, types;
  };
  // Decides which names are meant.  Returns the globs that match neither a name of the model nor one of
  // torch, and so are probably misspelled.
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
  mutable std::unordered_map<std::string, bool> targets_, types_;  // earlier answers
  mutable signed char registered_ = -1;                            // earlier answer; -1: none
};

// Returns whether the node calls a function, a method or a module.
bool is_call(const Node& node);
// Returns the names of a model, and `declared` targets besides.
Pattern::Names names_of(const GraphCollection& collection, const std::vector<std::string>& declared = {});

// Returns the names that were likely meant by a text that matches nothing: names of the model, then of torch.
std::vector<std::string> nearest_names(const std::string& text, const Pattern::Names& model);

// Returns "aten.add" for "aten.add.Tensor"; the target itself when it has no overload.
std::string_view without_overload(std::string_view target);

}  // namespace fxtrace::internal
