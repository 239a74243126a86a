// Reads the graphs in the JSON of an exported program.
//
// The schema is torch/_export/serde/schema.py, major version 8; what a node's inputs and outputs mean is said
// by the deserializer beside it.
#pragma once

#include <string>
#include <string_view>

#include "exported/hierarchy.h"
#include "exported/program_graph.h"
#include "support/json_document.h"

namespace fxtrace {

// `hierarchy` learns of the module calls.  The text that `graph` is part of must outlive the result.  Throws
// Error(kInput).
ProgramGraph read_graph(const JsonValue& graph, Hierarchy& hierarchy);

// An argument that holds no value: a number, a string, None, ...  Throws Error(kInput) for others.
Operand read_constant(const JsonValue& argument);

// The name in an argument such as {"as_tensor": {"name": "x"}}; empty for a constant.
std::string_view value_name(const JsonValue& argument);

Meta read_tensor_meta(const JsonValue& meta);
// torch's name of a dtype from its number in the schema: 7 -> "float32".  Throws Error(kInput).
std::string dtype_name(const JsonValue& number);

}  // namespace fxtrace
