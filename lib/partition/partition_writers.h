// Writes the answer of `fxtrace partition`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "partition/gate.h"
#include "partition/partition.h"
#include "writers/formats/text_layout.h"

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
// Write the graphs of the collection with the marks of mark_parts() (partition_marks.h).
void write_partition_dot(const PartitionAnswer& answer, std::ostream& out);
void write_partition_html(const PartitionAnswer& answer, std::ostream& out);
// Writes CSV, one row a part and one a call that is left.
void write_partition_csv(const PartitionAnswer& answer, std::ostream& out);

}  // namespace fxtrace::internal
