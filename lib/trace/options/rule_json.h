// Rules as JSON: the `rules` of a configuration, which are leaf rules with conditions and rules for
// functions.
#pragma once

#include <string>
#include <vector>

#include "support/json_document.h"
#include "support/json_emitter.h"
#include "trace/options/options.h"

namespace fxtrace::internal {

// Adds a rule to `options`.  Throws the Error of JsonValue::fail().
void read_rule(const JsonValue& value, TraceOptions& options);

// Writes the rules as a field of that name, when there are any.
void write_rules(const TraceOptions& options, const char* name, JsonEmitter& json);

// Returns the rule as on the command line, followed by its conditions: "torch.nn.Conv2d where groups > 1".
std::string rule_text(const LeafRule& rule);

// Returns the keys of a rule, in the order of the schema.
std::vector<std::string> rule_keys();

}  // namespace fxtrace::internal
