// The `rules` of a configuration: leaf rules with conditions, and rules for functions.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "support/json_document.h"
#include "trace/options.h"

namespace fxtrace {

// Adds it to the options' rules.  Throws the Error of JsonValue::fail().
void read_rule(const JsonValue& value, TraceOptions& options);

// Null when there are none.
nlohmann::ordered_json rules_json(const TraceOptions& options);

// The keys of a rule, in the order of the schema.
std::vector<std::string> rule_keys();

}  // namespace fxtrace
