// Holds a model to rules: the data of `fxtrace check`.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "rules/rule.h"
#include "symbolic/shape_env.h"

namespace fxtrace {

struct OffencePlace {
  std::string module;               // path; empty: the root, or none
  std::optional<std::string> node;  // name
  std::optional<std::string>
      graph;  // of the node: module of its graph, and behind ":" the bodies that it is in
  std::optional<std::string> record;  // of the archive
  auto operator<=>(const OffencePlace&) const = default;
};

// What breaks a rule: all places of which the same is to be said, modules that differ in numbers of their
// paths alone among them.  Texts are as the file has them, of any length.
struct Offence {
  std::size_t rule = 0;       // in CheckReport::rules
  bool is_undecided = false;  // it cannot be told whether the rule holds
  std::string message;
  std::string
      subject;  // the operator, the type, what a pickle calls; empty where it is about the whole model
  std::optional<SourceLocation> source;  // of all places
  std::vector<OffencePlace> places;      // empty where it is about the whole model
  std::int64_t amount = 1;  // of one about the whole model: the cost that is too much, how many are missing
  bool is_known = false;    // the baseline has it, so that it breaks nothing
};

// What the baseline has more of than the model.
struct GoneOffence {
  std::string rule, subject;
  bool is_undecided = false;
  std::optional<std::string> module, record;
  std::int64_t known = 0, now = 0;
};

struct CheckReport {
  GraphCollection::Model model;
  std::string path;  // of the file as it was given
  std::vector<Rule> rules;
  std::vector<Offence> offences;  // in the order of the rules, then of the model

  // What rules speak of and neither the model nor torch has.  Such a rule says nothing of the model.
  struct Unknown {
    std::string rule, name;
    bool is_path = false;
    std::vector<std::string> nearest;
  };
  std::vector<Unknown> unknown;

  bool has_baseline = false;  // apply_baseline() was called
  std::vector<GoneOffence> gone;

  // Offences of a rule, and of all rules of that severity, without those that are known; those.
  std::size_t count(std::size_t rule) const;
  std::size_t count(Severity severity) const;
  std::size_t count_known(std::size_t rule) const;
  std::size_t count_known() const;
  bool holds() const { return count(Severity::kError) == 0; }
};

// Of all models that were asked about, in the order given.
struct CheckReports {
  struct Unread {
    std::string path;
    std::string message;  // why it could not be read
  };
  std::vector<CheckReport> models;
  std::vector<Unread> unread;

  std::size_t count(Severity severity) const;
  std::size_t count_known() const;
  bool has_baseline() const;
  bool holds() const { return count(Severity::kError) == 0 && unread.empty(); }
};

struct CheckedModel {
  GraphCollection::Model model;
  std::string path;                             // as it was given
  const GraphCollection* collection = nullptr;  // null: rules about it are not among the rules
  ShapeEnv dimensions;                          // what options and guards say of them
  std::vector<SecurityFinding> findings;
  std::vector<ProgramFault> faults;
  std::vector<std::string> declared;  // targets of operators that options declare
};

// Adds what the guards of the model's own graph say of dimensions: 2 <= batch <= 64.
void add_guards(const GraphCollection& collection, ShapeEnv& dimensions);

// Finds everything that breaks a rule.  Limits of costs compare the cost for every value of its dimensions;
// where that has a largest value in their ranges, that value.  Where a part of the cost is not known, or a
// dimension without an end decides, the offence is undecided; so it is where a leaf or a failed module may
// hide the operators that a rule asks about.  Takes time linear in the model, for each rule.
CheckReport check(std::vector<Rule> rules, const CheckedModel& model);

}  // namespace fxtrace
