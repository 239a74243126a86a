// The entry of an operator: all facts about one overload in one record, for the code that asks about it.
//
// Facts are in three places: schemas and traits that LibTorch registers for each overload
// (operators/operators.h); rows of families, which name all overloads ("add") or one ("add.Tensor", or
// "all." for the one without a name); and schemas that an archive or an option declares.  An entry joins
// them, so that nobody else has to know which row wins.  Invariants:
//
// 1. entry_of() makes the entry of a row of the operator table when it is first asked for.  The entry is
//    never changed or freed.  When several threads make the same entry, the first one stays.
// 2. `defaults` has one value for each argument of the schema.
// 3. `traits` are the registered ones and those of the row that names all overloads; `shape` is of that
//    row.  A row that names one overload changes neither.
// 4. `value`, `batch`, `sizes`, `identity` and `inverse` are each of the row that names the overload; if
//    it lacks the field, of the row that names all overloads, unless the overload writes to `out`.
// 5. Where no row has a batching rule, `batch` is kBroadcast for a pointwise operator, and that of its
// signature
//    (opinfo/operator_row.h) for another that does not write to `out`.
// 6. Rows are looked up by the exact name, so the entry of add_ has no fact of the row "add".  Code that
//    needs them asks for the name without "_" (infer_shapes(), check_call()) or for the entry of the
//    functional twin (BatchCall in passes/remove_batch_dims).
// 7. A declared entry has a name and a schema, and no row, target, traits, aliases or rules.
//    infer_shapes() still finds the shape rule of a row by the name.
//
// Example: LibTorch registers, with the traits kKnown and kPointwise,
//   aten::add.Tensor (Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// and operators/elementwise.cpp has the row
//   {"add", {.traits = kPlain | ..., .shape = binary, .value = values::add, ...}}
// - aten::add.Tensor: the traits of both; no aliases; `twin` is itself; defaults (unknown, unknown, 1);
//   `shape` and `value` of the row; `macs` is no_macs, as it is pointwise; `batch` is kBroadcast by 5.
// - aten::add_.Tensor: no row names it, so `shape` and `value` are null.  The result aliases self, and
//   `twin` is aten::add.Tensor.  infer_shapes() takes binary() by 6.
// - aten::add.out: `shape` and traits of the row, but no `value` by 4.
// - aten::slice.Tensor: `batch`, `identity` and `inverse` of the row "slice.Tensor", and `shape` and
//   `value` of the row "slice".
#pragma once

#include <string>
#include <vector>

#include "operators/operators.h"
#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_rules.h"
#include "opinfo/traits.h"
#include "shapes/abstract_value.h"

namespace fxtrace::internal {

struct OperatorEntry {
  const Operator* row = nullptr;  // null for a declared operator
  std::string name;               // without the overload: "aten::cat"
  std::string target;             // "aten.cat.default"
  Schema schema;
  Traits traits = 0;
  std::vector<Alias> aliases;
  const Operator* twin = nullptr;       // functional_twin(): the operator itself if it is functional
  std::vector<AbstractValue> defaults;  // by argument; unknown for an argument without a default
  ShapeRule shape = nullptr;
  ValueRule value = nullptr;
  CostRule macs = nullptr;  // null: the cost is unknown
  Counted counted = Counted::kNever;
  BatchingRule batch;        // empty: there is no rule
  std::string_view renamed;  // what rules call the arguments (OperatorFacts::renamed)
  std::string_view sizes;    // the argument that lists the sizes of the result; empty: none
  IdentityRule identity;
  ViewInverse inverse;
};

// Returns the entry of a row of the operator table.  Thread-safe.
const OperatorEntry& entry_of(const Operator& op);
// Makes the entry of an operator that is not in the table.
OperatorEntry declared_entry(std::string name, Schema schema);

// Parses the default of an argument in a schema: "1", "None", "[1, 1]"; returns an unknown value for others.
AbstractValue default_value(std::string_view text);

}  // namespace fxtrace::internal
