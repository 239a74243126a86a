// Operator sets: what a backend takes, as rows of operators or module types with conditions
// (schemas/ops.schema.json).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"
#include "opinfo/operator_entry.h"
#include "rules/matching.h"
#include "support/text/glob.h"
#include "trace/options/option_json.h"

namespace fxtrace::internal {

struct OperatorSet {
  // Takes the calls that the pattern matches, if all conditions hold.  A condition is on
  // - "dtype", "rank", "sizes_known" or "constant" of every tensor that enters, with "out." in front of
  //   every tensor that leaves, and with "ARGUMENT." in front of the tensors of one argument;
  // - an argument of the operator, by its name in the schema: its value; of a list each value, unless it is
  //   compared with a list;
  // - an attribute of the module, for a row that names its type.
  struct Row {
    Pattern operators;
    std::vector<Predicate> where;
    std::string note;
  };

  std::string name;   // "xnnpack"; for a plain list, the name of the file
  std::string title;  // for people; empty if the set has none
  std::string source, date, note;
  std::vector<Row> rows;
};

// Reads a set: JSON, or a plain list with an operator or glob a line and comments behind "#".  `name` is the
// name of the file.  Throws Error(kUsage) with line and column.
OperatorSet read_operator_set(std::string_view text, const std::string& name);

// The sets that the program contains, by name.
struct ShippedSet {
  std::string_view name, text;
};
const std::vector<ShippedSet>& shipped_sets();
const ShippedSet* find_shipped_set(std::string_view name);  // null when there is none

// Decides which calls of one model a set takes.
class SetMatcher {
 public:
  // Both must outlive this.
  SetMatcher(OperatorSet& set, const Pattern::Names& model);

  // The globs of the set that match neither a name of the model nor one of torch.
  const std::vector<std::string>& unknown() const { return unknown_; }

  // Returns why the set does not take the call: "not in the set", "kernel_size is 7, at most 5 is taken";
  // nothing when it takes it.  `constants` are inputs of a body of control flow that are constants.
  std::optional<std::string> refusal(const ModuleGraph& graph, const Node& node, const OperatorEntry* entry,
                                     const std::unordered_set<std::uint32_t>& constants);
  // Returns whether a row names the type of the module and its conditions hold.
  bool takes_module(const ModuleRecord& module);

 private:
  const std::vector<const OperatorSet::Row*>& rows_for(const std::string& target);

  const OperatorSet& set_;
  std::vector<std::string> unknown_;
  std::unordered_map<std::string, std::vector<const OperatorSet::Row*>> by_target_, by_type_;
};

// Verdicts: which sets of operators take a call, and what is kept together.

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
