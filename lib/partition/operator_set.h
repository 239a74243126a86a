// Operator sets: what a backend takes, as rows of operators or module types with conditions
// (schemas/ops.schema.json).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph_collection.h"
#include "opinfo/operator_entry.h"
#include "rules/pattern.h"
#include "trace/options/predicate.h"

namespace fxtrace::internal {

struct OperatorSet {
  // Takes the calls that the pattern matches, if all conditions hold.  A condition is on
  // - "dtype", "rank", "sizes_known" or "constant" of every tensor that enters, with "out." in front of
  //   every tensor that leaves, and with "ARGUMENT." in front of the tensors of one argument;
  // - an argument of the operator, by its name in the schema: its value; of a list each value, unless it is
  //   compared with a list;
  // - an attribute of the module, for a row that names its type.
  struct Row {
    Pattern operators;
    std::vector<Predicate> where;
    std::string note;
  };

  std::string name;   // "xnnpack"; for a plain list, the name of the file
  std::string title;  // for people; empty if the set has none
  std::string source, date, note;
  std::vector<Row> rows;
};

// Reads a set: JSON, or a plain list with an operator or glob a line and comments behind "#".  `name` is the
// name of the file.  Throws Error(kUsage) with line and column.
OperatorSet read_operator_set(std::string_view text, const std::string& name);

// The sets that the program contains, by name.
struct ShippedSet {
  std::string_view name, text;
};
const std::vector<ShippedSet>& shipped_sets();
const ShippedSet* find_shipped_set(std::string_view name);  // null when there is none

// Decides which calls of one model a set takes.
class SetMatcher {
 public:
  // Both must outlive this.
  SetMatcher(OperatorSet& set, const Pattern::Names& model);

  // The globs of the set that match neither a name of the model nor one of torch.
  const std::vector<std::string>& unknown() const { return unknown_; }

  // Returns why the set does not take the call: "not in the set", "kernel_size is 7, at most 5 is taken";
  // nothing when it takes it.  `constants` are inputs of a body of control flow that are constants.
  std::optional<std::string> refusal(const ModuleGraph& graph, const Node& node, const OperatorEntry* entry,
                                     const std::unordered_set<std::uint32_t>& constants);
  // Returns whether a row names the type of the module and its conditions hold.
  bool takes_module(const ModuleRecord& module);

 private:
  const std::vector<const OperatorSet::Row*>& rows_for(const std::string& target);

  const OperatorSet& set_;
  std::vector<std::string> unknown_;
  std::unordered_map<std::string, std::vector<const OperatorSet::Row*>> by_target_, by_type_;
};

}  // namespace fxtrace::internal
