// The result of a trace as plain data: a graph collection, the content of the JSON document.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fxtrace/trace_options.h"
#include "graph/graph.h"
#include "support/error.h"

namespace fxtrace::internal {

using fxtrace::CustomCost;
using fxtrace::Failure;
using fxtrace::FailureKind;
using fxtrace::Limit;
using fxtrace::ModuleStatus;
using fxtrace::ParameterKind;

struct ModuleRecord {
  std::string path;
  std::string type;
  ModuleStatus status = ModuleStatus::kUnvisited;
  std::optional<std::string> alias_of;
  std::optional<std::string> rule;  // the rule that made it a leaf
  std::int64_t calls = 0;           // entries in module_forward_order, all graphs together
  std::optional<Failure> failure;
  // Attributes with plain values.  For scripted and traced modules they come from the file, and rules can
  // test them; for exported programs they are inferred from the operations of torch.nn modules (see
  // trace/modules/leaf_attributes.h), and rules cannot test them.  Empty under a shared module's later
  // names.
  std::vector<std::pair<std::string, Argument>> attributes = {};
  // The tensors that the module's first call returns, in order, nested ones included; absent when the module
  // is not called.
  std::optional<std::vector<Meta>> outputs = std::nullopt;
  bool is_assumed = false;  // alias_of is assumed: the file may mean another module with the same tensors
};

struct ParameterRecord {
  std::string name;  // from the model's root
  ParameterKind kind = ParameterKind::kParameter;
  std::vector<std::int64_t> shape;  // a custom object has neither shape nor dtype
  std::string dtype;
  std::string type;                                  // the class of a custom object or of packed parameters
  std::optional<std::string> alias_of;               // for tied tensors, the first name
  std::optional<std::string> device = std::nullopt;  // where it was saved: "cuda:0"; absent for the CPU
  // ZipArchive::content_key(); most likely equal for tensors of equal bytes, and empty when the archive
  // gives none.  Not in the JSON.
  std::string content = {};
  // The tensors that the file stores when this is not one plain tensor.  For packed parameters, those that
  // the script object holds; shape and dtype are those of the first, its weight.  For a tensor subclass,
  // those that it consists of; the shape is its own, the dtype that of the largest.
  std::vector<StoredPart> stored = {};
  // The place of the bytes, as in Constant; empty when they are not one record.  Not in the JSON.
  std::string record = {};
  std::vector<std::int64_t> stride = {};
  std::int64_t storage_offset = 0;
  bool requires_grad = true;  // for parameters; not in the JSON

  bool is_packed() const { return !stored.empty() && !type.empty(); }
};

struct GraphCollection {
  struct Model {
    std::string file;              // the base name
    std::string kind;              // "torchscript", "exported_program"
    std::string type;              // the type of the root module
    std::string method;            // "forward"
    std::string producer_version;  // as Program::producer_version(); not in the JSON

    bool is_torchscript() const { return kind == "torchscript"; }
    const char* kind_text() const { return is_torchscript() ? "TorchScript" : "exported program"; }
  };
  Model model;
  std::string options_json = "{}";       // the trace's options, as a JSON object on one line
  std::vector<CustomCost> custom_costs;  // from these options; the last one with a name counts
  std::vector<ModuleRecord> modules;
  std::vector<ParameterRecord> parameters;
  // The tensors in plain attributes of modules, by the place of their bytes, which may be that of a buffer.
  // Not in the JSON.
  std::vector<ParameterRecord> tensor_attributes;
  std::vector<std::string> unused_parameters;
  std::vector<ModuleGraph> graphs;
};

// A traversal of a graph and its subgraphs.

// Calls f(graph) for the graph and all its subgraphs, outer graphs first. f must not add or remove
// subgraphs.
template <class Graph, class F>
  requires std::same_as<std::remove_const_t<Graph>, ModuleGraph>
void for_each_graph(Graph& root, F&& f) {
  std::vector<Graph*> pending{&root};
  while (!pending.empty()) {
    Graph& graph = *pending.back();
    pending.pop_back();
    for (std::size_t i = graph.subgraphs.size(); i-- > 0;) pending.push_back(&graph.subgraphs[i].graph);
    f(graph);
  }
}

// Lookup of modules by the paths that users type.

// Returns the paths of the modules that the text means: the module with exactly this path, or else those
// whose first path it matches as a pattern (support/text/glob.h).
std::vector<std::string> match_modules(const GraphCollection& collection, const std::string& text);

// Returns the path of the one module that the text means.  Throws Error(kUsage) when it means none or
// several, with suggestions.
std::string find_module(const GraphCollection& collection, const std::string& text);
Error no_such_module(const GraphCollection& collection, const std::string& text);

}  // namespace fxtrace::internal
