// Options as JSON: values, rules of leaves, and conditions.
#pragma once

#include <string>
#include <vector>

#include "fxtrace/trace_options.h"
#include "graph/argument.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/json_fields.h"
#include "trace/options/options.h"

namespace fxtrace::internal {

// Values of a configuration: converts between JSON and Argument.  Functions that read throw the Error of
// JsonValue::fail(), with a message for users, when the value is of another kind.

// `depth` counts the arrays and objects around the value; at most 24 may be nested.
Argument read_plain(const JsonValue& value, int depth = 0);     // no objects
Argument read_argument(const JsonValue& value, int depth = 0);  // any JSON
void write_value(const Argument& value, JsonEmitter& json);

// Predicates: the conditions of a rule's `where`, comparisons of named properties with plain values.
//
// They compare as Python does: 1 == 1.0, lists and tuples alike, values of different kinds are unequal and
// have no order.

// Returns whether the actual value fulfils the predicate.
bool holds(const Predicate& predicate, const Argument& actual);

// Reads {"groups": {">": 1}}, or {"groups": 1} for "==".  Throws the Error of JsonValue::fail().
std::vector<Predicate> read_where(const JsonValue& value);
// Writes the form that read_where() reads, with the comparisons of one property in one object.
void write_where(const std::vector<Predicate>& where, JsonEmitter& json);

// Rules as JSON: the `rules` of a configuration, which are leaf rules with conditions and rules for
// functions.

// Adds a rule to `options`.  Throws the Error of JsonValue::fail().
void read_rule(const JsonValue& value, TraceOptions& options);

// Writes the rules as a field of that name, when there are any.
void write_rules(const TraceOptions& options, const char* name, JsonEmitter& json);

// Returns the rule as on the command line, followed by its conditions: "torch.nn.Conv2d where groups > 1".
std::string rule_text(const LeafRule& rule);

// Returns the keys of a rule, in the order of the schema.
std::vector<std::string> rule_keys();

}  // namespace fxtrace::internal
