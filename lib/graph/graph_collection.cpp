#include "graph/graph_collection.h"

namespace fxtrace {

const char* to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::kDataDependentControlFlow:
      return "data_dependent_control_flow";
    case FailureKind::kUnsupportedOp:
      return "unsupported_op";
    case FailureKind::kRaised:
      return "raised";
    case FailureKind::kLimit:
      return "limit";
    case FailureKind::kOther:
      return "other";
  }
  return "other";
}

const char* to_string(ModuleStatus status) {
  switch (status) {
    case ModuleStatus::kTraced:
      return "traced";
    case ModuleStatus::kLeaf:
      return "leaf";
    case ModuleStatus::kFailed:
      return "failed";
    case ModuleStatus::kUnvisited:
      return "unvisited";
  }
  return "unvisited";
}

const char* to_string(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kParameter:
      return "parameter";
    case ParameterKind::kBuffer:
      return "buffer";
    case ParameterKind::kCustomObject:
      return "custom_object";
  }
  return "buffer";
}

}  // namespace fxtrace

namespace fxtrace::internal {}  // namespace fxtrace::internal
