// Verdicts: which sets of operators take a call, and what is kept together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"
#include "partition/operator_set.h"
#include "rules/module_places.h"
#include "support/text/name_pattern.h"

namespace fxtrace::internal {

struct Verdict {
  std::uint64_t takers = 0;  // a bit for each set that takes the call
  std::string reason;        // why none does
  bool is_free = false;      // it computes sizes or asserts: anybody takes it
  bool is_refused() const { return takers == 0; }
};

// Patterns over paths of modules, and without "@" in front over types and operators too.
class NamePatterns {
 public:
  // Appends to `unmatched` what neither the model nor torch has.  Throws Error(kUsage) for a wrong pattern.
  NamePatterns(const std::vector<std::string>& texts, const GraphCollection& collection,
               const Pattern::Names& names, std::vector<std::string>& unmatched);

  bool matches_module(const ModuleRecord& module) const;
  bool matches_target(const std::string& target) const;

 private:
  struct Entry {
    NamePattern path;
    std::optional<Pattern> names = std::nullopt;
  };
  std::vector<Entry> entries_;
};

// The verdicts on the calls of a collection.
class Verdicts {
 public:
  using Place = ModulePlaces::Place;

  // `unmatched` gets the names of sets and options that neither the model nor torch has.  The collection and
  // the sets must outlive this.  Throws Error(kUsage) for a wrong pattern.
  Verdicts(const GraphCollection& collection, std::vector<OperatorSet>& sets,
           const std::vector<std::string>& exclude, const std::vector<std::string>& keep_together,
           std::vector<std::string>& unmatched);

  Effects effects(const ModuleGraph& graph, const Node& node) { return semantics_.effects(graph, node); }
  Semantics& semantics() { return semantics_; }
  Verdict judge(const ModuleGraph& graph, const Node& node, const Effects& effects);
  // Notes which inputs of a body of control flow are constants; judge() has to be asked about its call
  // before.
  void note_constants(const ModuleGraph& graph, const Node& call, const ModuleGraph& body);

  const ModulePlaces& tree() const { return tree_; }
  // Returns the module of a call: that which it calls, or whose code makes it.
  Place place_of(const Node& node) const;
  // By place: the sets that name the module's type, and whether it is taken as a whole or not at all.
  const std::vector<std::uint64_t>& takers() const { return takers_; }
  const std::vector<bool>& is_whole() const { return is_whole_; }

 private:
  struct BodyVerdict {
    std::uint64_t takers = 0;
    std::string reason;
  };
  const BodyVerdict& judge_body(const ModuleGraph& body);

  Semantics semantics_;
  ModulePlaces tree_;
  const std::vector<OperatorSet>& sets_;
  Pattern::Names names_;
  NamePatterns excluded_;
  std::vector<SetMatcher> matchers_;
  std::unordered_map<const ModuleGraph*, BodyVerdict> bodies_;
  // By body of control flow: its inputs that are constants.
  std::unordered_map<const ModuleGraph*, std::unordered_set<std::uint32_t>> constants_;
  std::vector<std::uint64_t> takers_;
  std::vector<bool> is_whole_, is_excluded_;
};

}  // namespace fxtrace::internal
