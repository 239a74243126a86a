// Check: finds the offences of a model against rules, the data of `fxtrace check`.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/model_file.h"
#include "graph/graph_collection.h"
#include "rules/rule.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {

struct OffencePlace {
  std::optional<std::string> module;  // path; absent for the file itself
  std::optional<std::string> node;    // name
  std::optional<std::string> graph;   // graph of the node: the module, and after each ":" a subgraph
  std::string record;                 // record of the archive, without a module; empty: none
  auto operator<=>(const OffencePlace&) const = default;
};

// An offence against a rule, with all its places.  Places in modules whose paths differ only in numbers are
// one offence.  Texts are as in the file, of any length.
struct Offence {
  std::size_t rule = 0;       // in CheckReport::rules
  bool is_undecided = false;  // it is not known whether the rule holds
  std::string message;
  std::string subject;  // operator, type, or the function that a pickle calls; empty for the whole model
  std::optional<SourceLocation> source;  // the same for all places
  std::vector<OffencePlace> places;      // empty for the whole model
  std::int64_t amount = 1;  // for the whole model: the cost that is too large, or the number that is missing
  bool is_known = false;    // the baseline has it, so it does not count
};

// A known offence of which the model has fewer places than the baseline.
struct GoneOffence {
  std::string rule, subject;
  bool is_undecided = false;
  std::optional<std::string> module, record;
  std::int64_t known = 0, now = 0;
};

struct CheckReport {
  GraphCollection::Model model;
  std::string path;  // path of the file as it was given
  std::vector<Rule> rules;
  std::vector<Offence> offences;  // in the order of the rules, then of the model

  // A name in a rule that neither the model nor torch has.  Such a rule checks nothing.
  struct Unknown {
    std::size_t rule = 0;  // index into rules
    std::string name;
    bool is_path = false;
    std::vector<std::string> nearest;  // what was likely meant; for the first names only
  };
  std::vector<Unknown> unknown;

  bool has_baseline = false;  // apply_baseline() was called
  std::vector<GoneOffence> gone;

  // Return the number of offences of a rule, or of all rules of a severity, without known ones; and the
  // number of known ones.
  std::size_t count(std::size_t rule) const;
  std::size_t count(Severity severity) const;
  std::size_t count_known(std::size_t rule) const;
  std::size_t count_known() const;
  bool holds() const { return count(Severity::kError) == 0; }
};

// The reports of all models, in the order given.
struct CheckReports {
  struct Unread {
    std::string path;
    std::string message;  // the error
  };
  std::vector<CheckReport> models;
  std::vector<Unread> unread;

  std::size_t count(Severity severity) const;
  std::size_t count_known() const;
  bool has_baseline() const;
  bool holds() const { return count(Severity::kError) == 0 && unread.empty(); }
};

// A call that a backend does not take.
struct BackendFinding {
  std::string rule;  // name of the rule
  std::string message, subject;
  OffencePlace place;
  std::optional<SourceLocation> source;
};

struct CheckedModel {
  GraphCollection::Model model;
  std::string path;                             // as it was given
  const GraphCollection* collection = nullptr;  // null if no rule needs it
  ShapeEnv dimensions;                          // ranges from options and guards
  std::vector<SecurityFinding> findings;
  std::vector<ProgramFault> faults;
  std::vector<ContentFault> content;
  std::vector<BackendFinding> left;
  std::vector<std::string> declared;  // targets of the operators that options declare
};

// Adds the conditions on dimensions from the guards of the model's own graph: 2 <= batch <= 64.
void add_guards(const GraphCollection& collection, ShapeEnv& dimensions);

// Finds all offences.  A limit on a cost must hold for all values of its dimensions, so the largest value in
// their ranges is compared.  An offence is undecided when a part of the cost is unknown or the cost has no
// largest value, and when a leaf or a failed module may hide the operators that a rule asks about.  Takes
// time linear in the model, for each rule.
CheckReport check(std::vector<Rule> rules, const CheckedModel& model);

}  // namespace fxtrace::internal
