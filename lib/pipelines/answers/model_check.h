// The check of a model's file against rules.
#pragma once

#include <vector>

#include "costs/graph_costs.h"
#include "pipelines/read_model.h"
#include "rules/check.h"
#include "security/checkpoint_check.h"

namespace fxtrace::internal {

struct CheckRequest {
  std::vector<Rule> rules;
  bool has_default_rules = false;  // those about files do not apply to a collection
  bool is_for_programs = false;    // rules about programs are skipped where a file holds none
  bool has_trace_options = false;  // see read_saved_collection()
  bool must_trace = false;     // a model that cannot be traced is an error, even if no rule needs the trace
  std::vector<GivenSizes> at;  // see apply_costs()
  const security::CheckpointShards* shards = nullptr;  // of the metadata of a distributed checkpoint
};

// Throws Error: kUsage for rules that do not apply to the file, kInput at the file.  If only rules about the
// file are checked, a file that cannot be read is a finding.
CheckReport check_model(const Config& config, CheckRequest request, const NamedFile& file, Run& run);

// Throws Error(kUsage) for a name in a rule that neither a model nor torch has: it is misspelled, and the
// rule would match nothing.
void refuse_unknown_names(const CheckReports& reports);

// Return whether the rule is about the safety of a file, the format of a program, or one of both or the
// content: such rules need no trace.
bool is_about_safety(const Rule& rule);
bool is_about_the_program(const Rule& rule);
bool is_about_the_file(const Rule& rule);

}  // namespace fxtrace::internal
