// What is known to break rules: the file of `fxtrace check --baseline`, which people commit, and what a
// report has beyond it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/check.h"

namespace fxtrace {

// What stays the same when a model changes elsewhere: no line of its code and no name of a node is in it.
struct KnownOffence {
  std::string model;  // path_from_here()
  std::string rule;
  // Of the offence; of one of the file that has none its message, without numbers.
  std::string subject;
  bool is_undecided = false;
  std::optional<std::string> module, record;  // neither: the whole model
  auto operator<=>(const KnownOffence&) const = default;
};

struct Baseline {
  std::map<std::string, std::string> rules;  // of those that have offences: what each asks for
  // In how many places; of the whole model Offence::amount.  More than that is new.
  std::map<KnownOffence, std::int64_t> offences;
};

// Throws Error(kUsage) with the place in `file`.
Baseline read_baseline(std::string_view text, const std::string& file);

// Throws Error(kUsage) where it has offences of a rule that is not among these, or asked for something else:
// whether they still hold could not be told.
void check_is_for(const Baseline& baseline, const std::vector<Rule>& rules, const std::string& file);

// Marks what is known.  Of an offence in several modules, those where it is known become an offence of their
// own.  In a module that has more than is known all of it is new: nobody can tell which.  Says as well what
// is known and no longer there.
void apply_baseline(const Baseline& baseline, CheckReport& report);

// The offences of the reports, and of `before` those of models that are not among them and of which
// `is_there` says that they still exist.  Throws Error(kUsage) as check_is_for() if these have rules that are
// not among those of the reports.
Baseline baseline_of(const std::vector<CheckReport>& reports, const Baseline& before,
                     const std::vector<Rule>& rules, const std::string& file,
                     const std::function<bool(const std::string& model)>& is_there);

// The models of which it has offences, sorted.
std::vector<std::string> models_of(const Baseline& baseline);

// The path as a repository has it: without "./" and "a/..", and relative to the current folder if it is in
// there.
std::string path_from_here(const std::string& given);

}  // namespace fxtrace
