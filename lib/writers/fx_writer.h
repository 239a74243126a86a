// A collection as Python source: what torch.fx's generated code does for each graph, to be read and to be
// run.
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
// A class for each graph, the root's first; bodies of control flow are further methods.  A line is a node,
// with its name as in the JSON, and what is known of its value behind it.  As in torch.fx's print_readable(),
// a line of the source stands before the first of the nodes that come from it; so does the module when
// another one's forward goes on.  torch.fx sets every variable to None behind its last use, which frees
// memory early; that is left out here, because it stands in the reader's way.
//
// The file imports nothing but torch and Python's own modules.  Modules and attributes are taken from a live
// model by their qualified names.  Constants stand in the file; those whose values are not in the collection
// are read from the model's file (TorchScript) or taken from the model (exported programs).
//
// Text of the model is never code: it is a name that was checked, a quoted literal or one line of a comment.
// What graphs of torch.fx would not call (functions of no known module, methods as __reduce__, names that are
// no names) becomes a function or a statement that raises NotImplementedError and says what is missing.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace {

// Writes UTF-8; the same collection gives the same bytes.
void write_fx(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace
