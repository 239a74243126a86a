// Baseline: the known offences in the file of `fxtrace check --baseline`, which people commit, and the new
// offences of a report.
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

namespace fxtrace::internal {

// An offence in a form that stays the same when a model changes elsewhere: without lines of code and names of
// nodes.
struct KnownOffence {
  std::string model;  // path_from_here()
  std::string rule;
  // The subject of the offence.  An offence of the file itself without a subject has its message, without
  // numbers.
  std::string subject;
  bool is_undecided = false;
  std::optional<std::string> module, record;  // neither: the whole model
  auto operator<=>(const KnownOffence&) const = default;
};

struct Baseline {
  std::map<std::string, std::string> rules;  // Rule::text by name, for rules with offences
  // The number of places of each offence, or Offence::amount for the whole model.  More than that is new.
  std::map<KnownOffence, std::int64_t> offences;
};

// Reads a baseline.  Throws Error(kUsage) with the place in `file`.
Baseline read_baseline(std::string_view text, const std::string& file);

// Checks that the baseline is for these rules.  Throws Error(kUsage) if it has offences of a rule that is not
// among them or has another text, because these offences cannot be compared.
void check_is_for(const Baseline& baseline, const std::vector<Rule>& rules, const std::string& file);

// Marks known offences.  For an offence in several modules, the modules where it is known become an offence
// of their own.  In a module with more places than are known, all of them are new, because it is not known
// which are the old ones.  Adds the known offences that are gone.
void apply_baseline(const Baseline& baseline, CheckReport& report);

// Returns a baseline with the offences of the reports, and those of `before` for other models that still
// exist according to `is_there`.  Throws Error(kUsage) as check_is_for() does for the rules of the latter.
Baseline baseline_of(const std::vector<CheckReport>& reports, const Baseline& before,
                     const std::vector<Rule>& rules, const std::string& file,
                     const std::function<bool(const std::string& model)>& is_there);

// Returns the models with offences, sorted.
std::vector<std::string> models_of(const Baseline& baseline);

// Returns the path as a repository has it: without "./" and "a/..", and relative to the current folder if it
// is inside.
std::string path_from_here(const std::string& given);

}  // namespace fxtrace::internal
