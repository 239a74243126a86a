// Graph collections: the result of a trace.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fxtrace/graph.h"
#include "fxtrace/listener.h"
#include "fxtrace/reports.h"
#include "fxtrace/trace_options.h"

namespace fxtrace {

namespace internal {
struct ModuleRecord;
struct ParameterRecord;
}  // namespace internal

// A module of the model; a view, as Graph.
class Module {
 public:
  const std::string& path() const;  // "" is the root
  const std::string& type() const;  // "torch.nn.modules.linear.Linear"
  ModuleStatus status() const;
  std::optional<std::string> alias_of() const;  // the first name of a shared module, under a later one
  std::optional<std::string> rule() const;      // the rule that made it a leaf: "default", "--max-depth"
  std::int64_t calls() const;                   // in all graphs together
  std::optional<Failure> failure() const;       // why it could not be traced
  // Attributes with plain values: {"in_features", 10}.
  const std::vector<std::pair<std::string, Argument>>& attributes() const;

  Module(internal::Owner owner, const internal::ModuleRecord& record)
      : owner_(std::move(owner)), record_(&record) {}

 private:
  internal::Owner owner_;
  const internal::ModuleRecord* record_;
};

// A parameter, a buffer or a custom object of the model; a view, as Graph.
class Parameter {
 public:
  const std::string& name() const;  // from the model's root
  ParameterKind kind() const;
  const std::vector<std::int64_t>& shape() const;
  const std::string& dtype() const;             // "float32"; empty for a custom object
  std::optional<std::string> alias_of() const;  // the first name of a tied tensor, under a later one
  std::string device() const;                   // where it was saved

  Parameter(internal::Owner owner, const internal::ParameterRecord& record)
      : owner_(std::move(owner)), record_(&record) {}

 private:
  internal::Owner owner_;
  const internal::ParameterRecord* record_;
};

// A part of a graph: a call of a module, or all nodes on paths between some nodes.
struct Part {
  std::optional<std::string> module = {};       // the path of the module whose call it is
  std::optional<std::int64_t> call = {};        // the number of the call in the graph, from 1
  std::vector<std::string> from = {}, to = {};  // or names of nodes; empty: from the inputs, to the output
  std::string graph = {};                       // the module of the graph that has them; "" is the root's
};

enum class CollectionFormat { kJson, kText, kFx, kDot, kMermaid, kHtml, kModelExplorer, kGraph };

// The graphs of a model, its modules and its parameters.  A value: copies share what they have, and it never
// changes.
class GraphCollection {
 public:
  // Reads the JSON that write() or `fxtrace trace` wrote.  Throws Error(kInput).
  static GraphCollection open(const std::string& file, const Listener& listener = {});
  static GraphCollection of_json(const std::string& text, const std::string& name = "collection");

  const std::string& file() const;    // the model's file: "model.pt2"
  const std::string& kind() const;    // "torchscript", "exported_program"
  const std::string& type() const;    // the type of the root module
  const std::string& method() const;  // "forward"

  // The graph of the root, and those of submodules of modules that failed.
  std::vector<Graph> graphs() const;
  // Throws Error(kInput) for a collection without graphs.  A root that failed is a graph with one node.
  Graph root() const;
  std::optional<Graph> find_graph(const std::string& module) const;

  std::vector<Module> modules() const;  // shared ones under each of their names
  std::optional<Module> find_module(const std::string& path) const;
  std::vector<Module> failed() const;  // the modules that could not be traced
  std::vector<Parameter> parameters() const;
  const std::vector<std::string>& unused_parameters() const;
  TraceOptions options() const;  // those that it was traced with

  void write(std::ostream& out, CollectionFormat format = CollectionFormat::kJson) const;

  // Return what the passes make of it, and a part of it.  Throw Error(kUsage) for names that do not exist.
  GraphCollection with_passes(const std::vector<std::string>& passes, const Listener& listener = {}) const;
  GraphCollection extract(const Part& part) const;
  Summary summary(const SummaryOptions& how = {}) const;
  Order order() const;

  explicit GraphCollection(internal::Owner owner) : owner_(std::move(owner)) {}
  const internal::Owner& owner() const { return owner_; }  // for the library

 private:
  internal::Owner owner_;
};

}  // namespace fxtrace
