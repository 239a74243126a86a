// Values of a configuration: converts between JSON and Argument.  Functions that read throw the Error of
// JsonValue::fail(), with a message for users, when the value is of another kind.
#pragma once

#include "graph/argument.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/json_fields.h"

namespace fxtrace::internal {

// `depth` counts the arrays and objects around the value; at most 24 may be nested.
Argument read_plain(const JsonValue& value, int depth = 0);     // no objects
Argument read_argument(const JsonValue& value, int depth = 0);  // any JSON
void write_value(const Argument& value, JsonEmitter& json);

}  // namespace fxtrace::internal
