// The modules whose forward runs an operation, as torch.export tells them (nn_module_stack).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/analysis/call_order.h"
#include "graph/graph_collection.h"
#include "trace/modules/program_graph.h"

namespace fxtrace {

// The stacks of one graph, each once.  A stack has the modules whose calls run, the outermost first, each
// with the number of its call, as torch.export.unflatten() tells calls of one module apart by it, and modules
// by what is before that:
//   L__self__,,pkg.Net;L__self___layers.0@1,layers.0,pkg.Block
class ModuleStacks {
 public:
  // `collection` and `graph`, its root's, must outlive this.
  ModuleStacks(const GraphCollection& collection, const ModuleGraph& graph);

  CallId find_call(const Scope& scope);
  // By CallId; the first is the root's.
  std::vector<std::string> take_result() { return std::move(texts_); }

 private:
  std::string entry(const std::string& path, std::size_t call) const;

  std::string root_type_;
  CallOrder order_;
  std::map<std::string, std::string, std::less<>> types_;               // by path
  std::map<std::string, std::vector<std::size_t>, std::less<>> calls_;  // by path, in order
  std::map<std::pair<std::string, std::size_t>, CallId> known_;         // by path and call
  std::vector<std::string> texts_;
};

}  // namespace fxtrace
