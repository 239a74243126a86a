// nn_module_stack: the modules whose forward runs an operation, as torch.export writes them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/analysis/call_order.h"
#include "graph/graph_collection.h"
#include "graph/program_view.h"

namespace fxtrace::internal {

// The stacks of one graph, each once.  A stack lists the modules whose calls run, the outermost first.  The
// key of an entry ends with the number of the call, by which torch.export.unflatten() tells calls of one
// module apart; before it is what tells modules apart:
//     L__self__,,pkg.Net;L__self___layers.0@1,layers.0,pkg.Block
class ModuleStacks {
 public:
  // `collection` and `graph`, that of its root, must outlive this.
  ModuleStacks(const GraphCollection& collection, const ModuleGraph& graph);

  CallId find_call(const Scope& scope);
  // Returns the stacks by CallId; the first is the root's.
  std::vector<std::string> take_result() { return std::move(texts_); }

 private:
  std::string entry(const std::string& path, std::size_t call) const;

  std::string root_type_;
  CallOrder order_;
  std::map<std::string, std::string, std::less<>> types_;               // types, by path
  std::map<std::string, std::vector<std::size_t>, std::less<>> calls_;  // by path, in order
  std::map<std::pair<std::string, std::size_t>, CallId> known_;         // CallIds, by path and call
  std::vector<std::string> texts_;
};

}  // namespace fxtrace::internal
