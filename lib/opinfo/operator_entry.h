// Everything that is known of an operator, in one place: made once, when it is first asked for.
#pragma once

#include <string>
#include <vector>

#include "operators/operators.h"
#include "opinfo/aliases.h"
#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_rules.h"
#include "shapes/abstract_value.h"

namespace fxtrace {

struct OperatorEntry {
  const Operator* row = nullptr;  // null for an operator that an archive or an option declares
  std::string name;               // without overload: "aten::cat"
  std::string target;             // "aten.cat.default"
  Schema schema;
  Traits traits = 0;
  std::vector<Alias> aliases;
  const Operator* twin = nullptr;       // functional_twin()
  std::vector<AbstractValue> defaults;  // by argument; unknown when there is none
  ShapeRule shape = nullptr;
  ValueRule value = nullptr;
  CostRule macs = nullptr;  // null: its cost is unknown
  BatchingRule batch;       // kBroadcast for a pointwise operator without a rule in its row
  std::string_view sizes;   // the argument that lists the sizes of the result; empty: none
  IdentityRule identity;
  ViewInverse inverse;
};

// Returns the entry of a row of the table, which lives as long as the process.
const OperatorEntry& entry_of(const Operator& op);
// Makes the entry of an operator that the table does not have.
OperatorEntry declared_entry(std::string name, Schema schema);

// Returns the value of a default as it stands in a schema: "1", "None", "[1, 1]"; unknown for other texts.
AbstractValue default_value(std::string_view text);

}  // namespace fxtrace
