// A program as torch.export.load takes it (torch/_export/serde/schema.py), as plain data: what is written
// into a .pt2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "archive/zip_archive.h"
#include "exported/program/tree_spec.h"
#include "graph/graph.h"
#include "operators/schema.h"
#include "symbolic/shape_env.h"
#include "trace/modules/program_graph.h"

namespace fxtrace {

// The strides of a tensor that lies row by row.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape);

// A tensor of the model, and its bytes.
struct WrittenTensor {
  std::string name;  // qualified
  bool is_parameter = false, requires_grad = false;
  std::string dtype, device;
  std::vector<std::int64_t> shape, stride;
  std::int64_t storage_offset = 0;
  std::string record;   // of the model's file; tensors with equal ones share a storage.  Empty: `content`
  std::string content;  // the bytes of its storage

  std::int64_t count() const;  // elements
  std::int64_t span() const;   // elements in memory from the first to the last
  // Where it lies; of tied weights the same.  Only where there is a record.
  auto place() const { return std::tie(record, dtype, storage_offset, shape, stride); }
};

// A symbol of sizes, by the name that the trace has for it.
struct WrittenSymbol {
  std::string name;  // in the program: "s0", or "u0" where it depends on data
  Range range;
  std::optional<std::int64_t> hint;  // an example
};

struct WrittenProgram {
  ProgramGraph graph;
  std::vector<std::string> stacks;     // nn_module_stack, by CallId
  std::deque<std::string> traces;      // owns Operation::stack_trace
  GraphSignature signature;            // the inputs are graph.inputs, the outputs graph.outputs
  TreeSpec in_spec, out_spec;          // in_spec: a tuple of the positional and the keyword arguments
  std::vector<std::string> arguments;  // names of the positional ones
  std::map<std::string, WrittenSymbol> symbols;
  std::vector<std::string> guards;  // Python over L['x'].size()[0]
  std::vector<WrittenTensor> weights, constants;
  std::map<std::string, Schema> schemas;  // of operators that fxtrace does not know, by target
  bool is_functional = false;             // no operation writes to its arguments

  std::optional<Schema> schema_of(const Target& target) const;  // nothing where it is not known
};

}  // namespace fxtrace
