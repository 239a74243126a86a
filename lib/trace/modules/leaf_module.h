// Leaf module: a view of one torch.nn module by the operations of its calls and the shapes of its parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "graph/graph_collection.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

using LeafShape = std::vector<std::int64_t>;

// An operation of a module, and the graph that contains it.
struct LeafSite {
  ProgramView graph;
  NodeId operation;

  const Node& node() const { return graph.node(operation); }
  std::string_view name() const { return aten_name(node()); }

  // Returns an argument by name; null when it was left out, or the operator has no such argument.
  const Argument* given_argument(std::string_view argument) const;
  // Returns the argument or its default; nothing when it is not a plain value: a tensor, or a symbolic size.
  std::optional<Argument> plain(std::string_view argument) const;
  std::optional<std::int64_t> integer(std::string_view argument) const;
  std::optional<NodeId> value(std::string_view argument) const;
  const Meta& meta(NodeId value) const { return graph.meta(value); }
  // Returns the argument's metadata; null when it is not a tensor.
  const Meta* meta(std::string_view argument) const;
};

// The operations and parameter shapes of one module.
class LeafModule {
 public:
  LeafModule(std::string_view of, std::size_t over, const ModuleInfo& info,
             const std::vector<ModuleInfo>& modules, const std::vector<ParameterRecord>& parameters,
             std::span<const LeafSite> operations)
      : type(of), dims(over), sites(operations), info_(info), modules_(modules), parameters_(parameters) {}

  const std::string_view type;            // "Conv2d"
  const std::size_t dims;                 // spatial dimensions; 2 when the type's name does not say
  const std::span<const LeafSite> sites;  // the module's operations, in program order

  // Returns the shape of a parameter or buffer of the module itself; null when there is none.
  const LeafShape* shape(std::string_view name) const { return shape_in(info_, name); }
  const LeafShape* shape(std::string_view child, std::string_view name) const;
  std::size_t parameters() const { return info_.parameters.size(); }

  // Returns the operation of the module that makes the value; null when it is made elsewhere.
  const LeafSite* maker(const ProgramView& graph, NodeId value) const;

 private:
  const LeafShape* shape_in(const ModuleInfo& module, std::string_view name) const;

  const ModuleInfo& info_;
  const std::vector<ModuleInfo>& modules_;
  const std::vector<ParameterRecord>& parameters_;
  mutable std::map<std::pair<const ModuleGraph*, NodeId>, const LeafSite*> makers_;  // never iterated
};

}  // namespace fxtrace::internal
