// Pieces: the parts of a model's own graph as programs of torch.export, and the plan that joins them.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "convert/lower/lowering.h"
#include "convert/write/program_archive.h"
#include "partition/partition.h"

namespace fxtrace::internal {

struct Piece {
  std::optional<std::size_t> set;  // as Part::set
  // Names of nodes of the whole graph: the values that the program takes and returns, in its order.
  std::vector<std::string> inputs, outputs;
  ProgramRecords records;
};

struct Pieces {
  // Values of inputs above that are parameters or buffers, which an earlier piece may have written: name of
  // the node, and qualified name.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Piece> pieces;  // by part of the model's own graph, in order of execution
  std::vector<Refusal> refusals;
  std::vector<std::string> notes;
};

// Returns the number of parts of the model's own graph.
std::size_t count_pieces(const Partition& partition);

// Makes a program of each part; `partition` is that of the collection.  Where something cannot be expressed
// (Pieces::refusals), nothing may be written.  Throws Error(kInput).
Pieces make_pieces(const Partition& partition, const GraphCollection& collection, const Program& model,
                   const LoweringOptions& options);

// Writes the plan (schemas/plan.schema.json); `files` are the names of the pieces' files.
void write_plan(const Partition& partition, const GraphCollection& collection, const Program& model,
                const Pieces& pieces, const std::vector<std::string>& files, std::ostream& out);

}  // namespace fxtrace::internal
