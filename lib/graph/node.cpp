#include "graph/node.h"

namespace fxtrace {

const char* to_string(Opcode op) {
  switch (op) {
    case Opcode::kPlaceholder:
      return "placeholder";
    case Opcode::kGetAttr:
      return "get_attr";
    case Opcode::kCallFunction:
      return "call_function";
    case Opcode::kCallMethod:
      return "call_method";
    case Opcode::kCallModule:
      return "call_module";
    case Opcode::kOutput:
      return "output";
  }
  return "";
}

}  // namespace fxtrace
