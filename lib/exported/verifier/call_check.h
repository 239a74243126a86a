// The check of the calls in an exported program: arguments and results against the operators' schemas, and
// the shapes and dtypes that the program states against the shape rules.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/program_operations.h"
#include "graph/program_view.h"
#include "operators/schema.h"
#include "shapes/abstract_value.h"
#include "support/json_document.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {

class CallCheck {
 public:
  using Tell = std::function<void(ProgramFaultKind kind, const std::string& message)>;

  // `dimensions`: the program's symbolic sizes and their ranges.  `opaque`: by value, whether the shape rules
  // know nothing of it, as for sparse tensors.  All must outlive this.
  CallCheck(const ProgramView& graph, ShapeEnv& dimensions, const std::vector<bool>& opaque);

  // Checks a call.  `node`: the JSON of the operation.  `is_cast`: autocast is on, so that dtypes are not
  // known.
  void check(const Node& operation, const JsonValue& node, bool is_cast, const Tell& tell);

 private:
  bool arguments(const Node& operation, const Schema& schema, const JsonValue& node, const Tell& tell) const;
  bool results(const Schema& schema, const JsonValue& node, const Tell& tell) const;
  void shapes(const Node& operation, bool is_cast, const Tell& tell);
  void function(const Node& operation, const Tell& tell) const;
  void bodies(const Node& operation, const Tell& tell) const;
  static bool may_be(const ProgramView& graph, const Argument& value, const ProgramView& other,
                     const Argument& said);
  bool fits(const Argument& value, const SchemaType& type) const;
  bool fits(const Argument& value, const SchemaArgument& formal) const;
  bool fits_name(const Argument& value, std::string_view type) const;
  std::string kind_of(const Argument& value) const;
  const AbstractValue& known(NodeId value);
  void compare(const AbstractValue& inferred, NodeId value, bool is_cast, const Tell& tell) const;

  const ProgramView graph_;
  ShapeEnv& dimensions_;
  std::vector<AbstractValue> known_;  // by value
};

}  // namespace fxtrace::internal
