// The records of a collection's JSON, each described once: the fields in their order, where they are kept,
// and when a field is null or left out.  writers/formats/field_writer.h writes by these descriptions and
// readers/collection_reader.cpp reads.  schemas/graph_collection.schema.json says the same to others, with
// the meaning of each field; tests/unit/readers/collection_fields_test.cpp compares them.
//
// `io` writes or reads these fields:
//
//   field     always there
//   nullable  always there, null when it is unknown: an absent value, "" or 0
//   optional  left out when it is absent, empty, 0 or false
//   added     always written, but files of earlier versions do not have it
//   null      always null
//   mark      a flag that is a word when it is set: null or left out otherwise
//   derived   always there, and follows from others, so that nobody reads it
//   named     the item with that index in a list, by its name
//   object    an object whose fields f() describes; block: with each on a line of its own
//   list      a list of objects, of which f(item) describes each; lines: with each on a line of its own
//
// A number behind the value is the least that it may be; sizes and counts are at least 0.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

template <class T, class Record>
concept Like = std::same_as<std::remove_const_t<T>, Record>;

// Whether the fields of a record, and the records of its lists, each stand on a line of their own.
template <class Record>
inline constexpr bool kOnLines = false;
template <>
inline constexpr bool kOnLines<GraphSignature> = true;
template <>
inline constexpr bool kOnLines<Execution> = true;
template <>
inline constexpr bool kOnLines<ModuleGraph> = true;

void describe(auto& io, Like<SourceLocation> auto& source) {
  io.field("file", source.file);
  io.nullable("line", source.line, 1);
  io.field("function", source.function);
  io.field("text", source.text);
}

void describe(auto& io, Like<GraphCollection::Model> auto& model) {
  io.field("file", model.file);
  io.field("kind", model.kind);
  io.nullable("type", model.type);
  io.field("method", model.method);
}

void describe(auto& io, Like<StoredPart> auto& part) {
  io.field("name", part.name);
  io.field("shape", part.shape);
  io.field("dtype", part.dtype);
}

void describe(auto& io, Like<Failure> auto& failure) {
  io.field("kind", failure.kind);
  io.field("message", failure.message);
  io.field("module", failure.module);
  io.nullable("op", failure.op);
  io.nullable("source", failure.source);
}

// A tensor that a module returns.
void describe(auto& io, Like<Meta> auto& meta) {
  io.nullable("shape", meta.shape);
  io.dtype("dtype", meta);
}

void describe(auto& io, Like<Cost> auto& cost) {
  io.nullable("macs", cost.macs);
  io.optional("uncounted_macs", cost.uncounted_macs);
  io.optional("parameter_bytes", cost.parameter_bytes);
  io.nullable("activation_bytes", cost.activation_bytes);
  io.optional("peak_bytes", cost.peak_bytes);
  io.optional("unknown", cost.unknown);
  io.optional("unsized", cost.unsized);
}

void describe(auto& io, Like<ModuleRecord> auto& module) {
  io.field("path", module.path);
  io.nullable("type", module.type);
  io.field("status", module.status);
  io.nullable("alias_of", module.alias_of);
  io.mark("alias", module.is_assumed, "assumed", true);
  io.nullable("rule", module.rule);
  io.field("calls", module.calls);
  io.plain("attributes", module.attributes);
  io.optional("outputs", module.outputs);
  io.nullable("failure", module.failure);
}

void describe(auto& io, Like<ParameterRecord> auto& parameter) {
  io.field("name", parameter.name);
  io.field("kind", parameter.kind);
  if (parameter.kind == ParameterKind::kCustomObject) {
    io.null("shape");
    io.null("dtype");
    io.field("type", parameter.type);
  } else {
    io.field("shape", parameter.shape);
    io.field("dtype", parameter.dtype);
    io.optional("type", parameter.type);
  }
  io.optional("stored", parameter.stored);
  io.optional("device", parameter.device);
  io.nullable("alias_of", parameter.alias_of);
}

void describe(auto& io, Like<Scope> auto& scope) {
  io.field("module_path", scope.module_path);
  io.nullable("module_type", scope.module_type);
  io.field("call", scope.call, 1);
  io.method("method", scope.method);
}

void describe(auto& io, Like<ProgramPart::Place> auto& place) {
  io.field("value", place.value);
  io.field("path", place.path);
}

void describe(auto& io, Like<Node> auto& node) {
  io.field("name", node.name);
  io.field("op", node.op);
  io.field("target", node.target);
  io.field("args", node.args);
  io.field("kwargs", node.kwargs);
  io.field("users", node.users);
  io.field("scope", node.scope);
  io.meta("meta", node, [](auto& meta_io, auto& meta, auto& cost) {
    meta_io.nullable("type", meta.type);
    describe(meta_io, meta);
    meta_io.optional("device", meta.device);
    meta_io.optional("value", meta.value);
    meta_io.optional("cost", cost);
  });
  io.nullable("source", node.source);
  io.optional("method", node.method);
  io.optional("model_function", node.model_function);
  io.optional("recorded", node.is_recorded);
  io.mark("arguments", node.in_order_of_use, kInOrderOfUse);
  io.part("program_nodes", node.program, [&](auto& program) {
    io.optional("program_nodes", program.nodes);
    if (program.nodes.empty() || node.op == Opcode::kPlaceholder) return;
    io.added("program_inputs", program.inputs);
    io.added("program_results", program.results);
  });
}

void describe(auto& io, Like<Constant> auto& constant) {
  if (io.has("type", constant.object_type)) {
    io.field("type", constant.object_type);
    io.field("record", constant.record);
    io.field("index", constant.object_index);
    io.optional("stored", constant.stored);
    return;
  }
  io.field("dtype", constant.dtype);
  io.field("shape", constant.shape);
  if (io.elements("data", constant)) return;
  io.nullable("record", constant.record);
  if (constant.record.empty()) return;
  io.field("stride", constant.stride, INT64_MIN);
  io.field("storage_offset", constant.storage_offset, INT64_MIN);
}

void describe(auto& io, Like<Guard> auto& guard) {
  io.expression("expr", guard.expr);
  io.nullable("source", guard.source);
  io.added("reason", guard.reason);
}

void describe(auto& io, Like<Assignment> auto& assignment) {
  io.field("target", assignment.target);
  io.field("value", assignment.value);
  io.nullable("source", assignment.source);
}

void describe(auto& io, Like<GraphSignature::Entry> auto& entry) {
  io.field("role", entry.role);
  io.field("name", entry.name);
  io.optional("target", entry.target);
  io.optional("persistent", entry.persistent);
  // The only output of a model has an empty path.
  const bool is_user = entry.role == SignatureRole::kUserInput || entry.role == SignatureRole::kUserOutput;
  is_user ? io.added("path", entry.path) : io.optional("path", entry.path);
  io.optional("value", entry.value);
  io.nullable("node", entry.node);
  io.optional("named", entry.is_named);
}

void describe(auto& io, Like<GraphSignature> auto& signature) {
  io.field("inputs", signature.inputs);
  io.field("outputs", signature.outputs);
}

void describe(auto& io, Like<Execution::Use> auto& use) {
  io.field("module", use.module);
  io.field("params", use.params);
}

void describe(auto& io, Like<Execution::ModuleUses> auto& module) {
  io.field("module", module.module);
  io.field("uses", module.uses);
}

void describe(auto& io, Like<Execution::MethodCall> auto& call) {
  io.field("module", call.module);
  io.field("method", call.method);
  io.field("position", call.position);
}

void describe(auto& io, Like<Execution::CallValues> auto& call) {
  io.field("module", call.module);
  io.field("call", call.call, 1);
  io.method("method", call.method);
  io.field("inputs", call.inputs);
  if (!io.has("results", call.results)) return;
  io.nullable("type", call.type);
  io.field("results", call.results);
}

void describe(auto& io, Like<Execution> auto& execution) {
  io.field("module_forward_order", execution.module_forward_order);
  io.field("param_forward_order", execution.param_forward_order);
  io.field("module_param_usage", execution.module_param_usage);
  io.optional("method_calls", execution.method_calls);
  io.optional("call_values", execution.call_values);
}

void describe(auto& io, Like<ModuleGraph> auto& graph) {
  io.field("module", graph.module);
  io.nullable("type", graph.type);
  io.field("nodes", graph.graph);
  io.field("constants", graph.constants);
  io.field("subgraphs", graph.subgraphs);
  io.field("guards", graph.guards);
  io.assignments("assignments", graph.graph);
  io.optional("graph_signature", graph.signature);
  io.optional("execution", graph.execution);
  io.optional("cost", graph.cost);
}

}  // namespace fxtrace::internal
