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

ValueKind Meta::kind() const {
  if (type == "Tensor") return ValueKind::kTensor;
  if (type == "int") return ValueKind::kInt;
  if (type == "float") return ValueKind::kFloat;
  if (type == "bool") return ValueKind::kBool;
  if (type == "str") return ValueKind::kString;
  return ValueKind::kOther;
}

}  // namespace fxtrace
