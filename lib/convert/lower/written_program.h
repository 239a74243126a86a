// A program as torch.export.load takes it (torch/_export/serde/schema.py), as plain data: the content of a
// .pt2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "archive/zip_archive.h"
#include "exported/program/encoded_texts.h"
#include "graph/argument.h"
#include "graph/graph.h"
#include "graph/program_view.h"
#include "operators/schema.h"
#include "support/error.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {

// Returns the error of a program that names more items than it has.
Error too_few(std::string_view name, std::size_t count, std::size_t index);
// Returns items[index].  Throws Error(kInput) with the name of the items if there are fewer, as a program has
// several lists which have to be parallel.
template <class Items>
auto& checked_at(Items& items, std::size_t index, std::string_view name) {
  if (index >= items.size()) throw too_few(name, items.size(), index);
  return items[index];
}
// Returns the value that the operand is.  Throws Error(kInput) for an operand that is none.
NodeId value_of(const Argument& operand);

// Calls f(NodeId) for the values of a graph in the order in which they were made, which the file keeps.
template <class F>
void for_each_made_value(const ProgramView& graph, F&& f) {
  for (NodeId id{0}; id.index < graph.graph().id_count(); ++id.index) {
    const bool is_node = graph.graph().contains(id) && graph.node(id).op != Opcode::kOutput;
    if (is_node && graph.facts(id).gives_value) f(id);
  }
}

// A tensor of the model, with the place of its bytes.
struct WrittenTensor {
  std::string name;  // qualified
  bool is_parameter = false, requires_grad = false;
  std::string dtype, device;
  std::vector<std::int64_t> shape, stride;
  std::int64_t storage_offset = 0;
  std::string record;   // of the model's file; tensors with the same one share a storage; empty: `content`
  std::string content;  // the bytes of its storage, if there is no record

  std::int64_t count() const;  // the number of elements
  std::int64_t span() const;   // the number of elements in memory from the first to the last
  // Returns the place of its bytes, which tied weights share.  Only for tensors with a record.
  auto place() const { return std::tie(record, dtype, storage_offset, shape, stride); }
};

// A symbol of sizes; the key is its name in the trace.
struct WrittenSymbol {
  std::string name;  // its name in the program: "s0", or "u0" if it depends on data
  Range range;
  std::optional<std::int64_t> hint;  // an example value
};

struct WrittenProgram {
  // Every tensor has strides.  An input that is fixed has its value as its argument.
  ExportedGraph graph;
  std::vector<std::string> stacks;          // nn_module_stack, by CallId
  std::vector<std::string> modules = {""};  // paths of all modules, the root first
  GraphSignature signature;                 // of the graph, whose nodes its inputs name
  TreeSpec in_spec, out_spec;  // in_spec: a tuple of the positional arguments and the keyword arguments
  std::vector<std::string> arguments;  // names of the positional arguments
  std::map<std::string, WrittenSymbol> symbols;
  std::vector<std::string> guards;  // Python over L['x'].size()[0]
  std::vector<WrittenTensor> weights, constants;
  std::map<std::string, Schema> schemas;  // schemas of operators that fxtrace does not know, by target
  bool is_functional = false;             // no operation writes to its arguments

  // Returns the schema of an operator, whose row is null if fxtrace does not know it.  Returns nothing if the
  // schema is not known.
  std::optional<Schema> schema_of(const std::string& target, const Operator* op) const;
};

// Tree specs: the nesting of inputs and results, and its text (torch.utils._pytree.treespec_dumps).

std::string tree_text(const TreeSpec& spec);

// Returns the structure of nested values, and appends their leaves.  Everything but lists, tuples and dicts
// is a leaf, None included.
TreeSpec tree_of(const Argument& value, std::vector<Argument>& leaves);

// Bytes of tensors whose elements are known as numbers.

// Returns the elements as they lie in memory, little-endian, rounded as torch rounds.  Returns nothing for
// other dtypes than bool, integers and real numbers of at least 16 bits, and for elements that are not
// numbers.
std::optional<std::string> element_bytes(const std::vector<Argument>& elements, std::string_view dtype);

}  // namespace fxtrace::internal
