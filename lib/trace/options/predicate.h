// Predicates: the conditions of a rule's `where`, comparisons of named properties with plain values.
//
// They compare as Python does: 1 == 1.0, lists and tuples alike, values of different kinds are unequal and
// have no order.
#pragma once

#include <vector>

#include "fxtrace/trace_options.h"
#include "support/json_document.h"
#include "support/json_emitter.h"

namespace fxtrace::internal {

// Returns whether the actual value fulfils the predicate.
bool holds(const Predicate& predicate, const Argument& actual);

// Reads {"groups": {">": 1}}, or {"groups": 1} for "==".  Throws the Error of JsonValue::fail().
std::vector<Predicate> read_where(const JsonValue& value);
// Writes the form that read_where() reads, with the comparisons of one property in one object.
void write_where(const std::vector<Predicate>& where, JsonEmitter& json);

}  // namespace fxtrace::internal
