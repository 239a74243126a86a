// Writes a collection as Python source that can be read and run, like the code that torch.fx generates for a
// graph.
//
//   class Net(torch.nn.Module):
//       def __init__(self, model):
//           super().__init__()
//           self.conv1 = _find(model, "conv1")  # torch.nn.modules.conv.Conv2d
//
//       def forward(self, x):
//           # File: net.py:12 in forward, code: x = torch.relu(self.conv1(x))
//           conv1 = self.conv1(x)  # float32[1, 64, 112, 112]
//           relu = torch.ops.aten.relu.default(conv1)  # float32[1, 64, 112, 112]
//           return relu
//
// There is a class for each graph, the root's first; bodies of control flow are further methods.  Each node
// is a line, with its name as in the JSON, followed by the type and shape of its value as a comment.  As in
// torch.fx's print_readable(), a line of the source precedes the first of the nodes that come from it, and
// the module is named when another one's forward continues.  torch.fx also sets variables to None after their
// last use, to free memory early; that is left out for readability.
//
// The file imports only torch and Python's own modules.  Modules and attributes are taken from a live model
// by their qualified names.  Constants are literals; those whose values are not in the collection are read
// from the model's file (TorchScript) or taken from the model (exported programs).
//
// Text of the model never becomes code: it is written only as a checked name, a quoted literal or one line of
// a comment.  Anything that graphs of torch.fx would not call (functions of unknown modules, methods like
// __reduce__, invalid names) becomes a function or statement that raises NotImplementedError, which says what
// is missing.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Writes UTF-8; the same collection gives the same bytes.
void write_fx(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace::internal
