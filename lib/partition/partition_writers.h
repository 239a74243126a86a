// Writes the answer of `fxtrace partition`.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "graph/collection_fields.h"
#include "graph/graph_collection.h"
#include "partition/partition.h"
#include "writers/formats/text_layout.h"
#include "writers/pictures/marks.h"

namespace fxtrace::internal {

struct PartitionAnswer {
  Partition partition;
  std::string path;  // of the model's file, as it was given
  std::vector<GateResult> gates;
  const GraphCollection* collection = nullptr;  // which is partitioned, for pictures
};

std::string percent_text(double ratio);  // "84%"

// Writes text or Markdown.
void write_partition(const PartitionAnswer& answer, std::ostream& out, const TextLayout& layout);
// Writes JSON (schemas/partition.schema.json).
void write_partition_json(const PartitionAnswer& answer, std::ostream& out);
// Writes SARIF 2.1.0, as `fxtrace check` does for a rule that the sets take every operator.
void write_partition_sarif(const PartitionAnswer& answer, std::ostream& out);
// Write the graphs of the collection with the marks of mark_parts() (partition_writers.h).
void write_partition_dot(const PartitionAnswer& answer, std::ostream& out);
void write_partition_html(const PartitionAnswer& answer, std::ostream& out);
// Writes CSV, one row a part and one a call that is left.
void write_partition_csv(const PartitionAnswer& answer, std::ostream& out);

// Marks of a picture for a partition: what takes each call.

// Returns a style for each set, in colours that repeat after six; one for calls that are left, with "×" in
// front of titles; and "~" for boxes of several of these, with texts such as "parts 1 to 3, 2 left".
// The texts of other items are "npu, part 3" and "left, part 2: not in the set", with the numbers of the
// report. Both arguments must outlive the result, the collection unchanged since it was partitioned.
Marking mark_parts(const Partition& partition, const GraphCollection& collection);

// The JSON of `fxtrace partition` (schemas/partition.schema.json); graph/collection_fields.h says what a
// description is.

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
