// The JSON of `fxtrace partition` (schemas/partition.schema.json); graph/collection_fields.h says what a
// description is.
#pragma once

#include <optional>

#include "graph/collection_fields.h"
#include "partition/partition_writers.h"

namespace fxtrace::internal {

void describe(auto& io, const Coverage& coverage) {
  io.field("taken", coverage.taken);
  io.field("all", coverage.all);
}

void describe(auto& io, const PartValue& value) {
  io.field("name", value.name);
  io.nullable("type", value.meta.type);
  io.dtype("dtype", value.meta);
  io.nullable("shape", value.meta.shape);
  io.nullable("bytes", value.bytes);
}

void describe(auto& io, const PartitionAnswer& answer) {
  const Partition& partition = answer.partition;
  io.field("model", partition.model);
  io.lines("sets", partition.sets, [&](const OperatorSet& set) {
    io.field("name", set.name);
    io.nullable("title", set.title);
    io.nullable("source", set.source);
    io.nullable("date", set.date);
    io.nullable("note", set.note);
  });
  io.block("totals", [&] {
    io.field("regions", partition.regions());
    io.field("calls", partition.calls);
    io.field("operators", partition.operators);
    io.field("modules", partition.modules);
    io.object("macs", [&] {
      io.nullable("taken", partition.taken_macs);
      io.nullable("all", partition.macs);
      io.field("unknown_calls", partition.unknown);
    });
    io.object("cut", [&] {
      io.field("edges", partition.cut_edges);
      io.nullable("bytes", partition.cut_bytes);
      io.field("unknown_edges", partition.cut_unknown);
    });
  });
  io.lines("requirements", answer.gates, [&](const GateResult& result) {
    io.field("text", result.gate.text);
    io.nullable("actual", result.actual);
    io.field("holds", result.holds());
  });
  io.lines("parts", partition.parts, [&](const Part& part) {
    io.field("graph", part.graph);
    io.nullable("set", part.set ? std::optional(partition.sets[*part.set].name) : std::nullopt);
    io.field("calls", part.calls);
    io.nullable("macs", part.macs);
    io.field("unknown_calls", part.unknown);
    io.field("parameter_bytes", part.parameter_bytes);
    io.field("nodes", part.names);
    io.field("inputs", part.inputs);
    io.field("outputs", part.outputs);
  });
  io.lines("left", partition.left, [&](const LeftCall& call) {
    io.field("graph", call.graph);
    io.field("node", call.node);
    io.field("target", call.target);
    io.field("module", call.module);
    io.nullable("type", call.type);
    io.field("reason", call.reason);
    io.nullable("source", call.source);
  });
  io.lines("reasons", partition.reasons, [&](const LeftReason& reason) {
    io.field("target", reason.target);
    io.field("text", reason.text);
    io.field("calls", reason.calls);
    io.nullable("macs", reason.macs);
    io.field("modules", reason.modules);
    io.field("outermost_modules", reason.outermost);
  });
}

}  // namespace fxtrace::internal
