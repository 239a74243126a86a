// The reader of the graphs in the JSON of an exported program.
//
// The schema is torch/_export/serde/schema.py, major version 8; the deserializer beside it defines the
// meaning of a node's inputs and outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "exported/program/hierarchy.h"
#include "graph/program_view.h"
#include "support/json_document.h"

namespace fxtrace::internal {

using TokenNames = std::unordered_set<std::string_view>;

// Reads a graph and adds its module calls to `hierarchy`.  `tokens`: the names of inputs that only order
// effects; the result has neither these inputs nor the outputs that they become.  `document`: the document of
// `graph`, of which the result owns a share.  Throws Error(kInput).
ExportedGraph read_graph(const std::shared_ptr<const JsonDocument>& document, const JsonValue& graph,
                         Hierarchy& hierarchy, const TokenNames& tokens);

// Reads an argument that refers to no value: a number, a string, None, ...  Throws Error(kInput) for others.
Argument read_constant(const JsonValue& argument);

// Returns the name in an argument such as {"as_tensor": {"name": "x"}}; empty for a constant.
std::string_view value_name(const JsonValue& argument);

// Returns torch's name of the dtype with this number in the schema: 7 -> "float32".  Throws Error(kInput).
std::string dtype_name(const JsonValue& number);

// Return the schema's numbers for torch's names: "float32" -> 7, "strided" -> 7, "channels_last" -> 2; 0 for
// others.
std::int64_t dtype_number(std::string_view name);
std::int64_t layout_number(std::string_view name);
std::int64_t memory_format_number(std::string_view name);

}  // namespace fxtrace::internal
