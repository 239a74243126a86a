// What rules match: operators and types by patterns, and the places of modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"
#include "support/text/glob.h"

namespace fxtrace::internal {

// Patterns of rules: globs over operators and types of modules.

// One or more globs (support/text/glob.h), with "|" between them.  A glob stands for the operators and
// functions whose target, with or without its overload, it matches ("aten.add", "aten.add.*",
// "aten::add.Tensor"), and for the modules whose type or public alias it matches ("torch.nn.Linear").  The
// words placeholder and output stand for these nodes.  A bare name may be the last part of such names
// (support/text/glob.h); for an operator, the part in front of its overload.
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

// Module places: the modules of a collection as a tree, to decide which module is inside of which.

// A place is a module, or a part of a path that no module has.  The collection must outlive the tree.  Each
// function takes time linear in its path, or in the depth of its places.
class ModulePlaces {
 public:
  using Place = std::uint32_t;
  static constexpr Place kNone = UINT32_MAX;  // outside of the model

  explicit ModulePlaces(const GraphCollection& collection);

  std::size_t size() const { return parents_.size(); }
  // Returns the innermost place whose path is `path` or above it.
  Place find_place(std::string_view path) const;
  Place parent(Place place) const { return parents_[place]; }                // kNone for the root's
  const ModuleRecord* record(Place place) const { return records_[place]; }  // null when there is none
  // Returns the innermost place that is equal to or around both; kNone when one of them is kNone.
  Place common(Place a, Place b) const;
  // Returns whether `marks` holds for the place or for one around it.
  bool is_within(Place place, const std::vector<bool>& marks) const;

 private:
  struct Key {
    Place parent;
    std::string_view part;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  Place child(Place parent, std::string_view part);

  std::vector<Place> parents_;
  std::vector<std::uint32_t> depths_;
  std::vector<const ModuleRecord*> records_;
  std::unordered_map<Key, Place, Hash> children_;
};

}  // namespace fxtrace::internal
