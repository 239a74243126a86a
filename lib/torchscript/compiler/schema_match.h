// Overload resolution by LibTorch's rules: overloads are tried in order, first without implicit conversions,
// then with them (a tensor to a number, a tuple to a list, a number to a list, a string to a device).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torchscript/ir/ir.h"
#include "torchscript/language/function_schema.h"
#include "torchscript/language/type_relations.h"
#include "torchscript/operators/operator_table.h"

namespace fxtrace::torchscript {

struct NamedValue {
  SourceRange range;
  std::string_view name;  // name of a keyword argument
  IrValue* value = nullptr;
};

// The constants of a graph, deduplicated and placed at its start.
class ConstantPool {
 public:
  explicit ConstantPool(IrGraph& graph) : graph_(graph) {}
  IrValue* get_constant(const Constant& value, TypePtr type, const SourceRange& range = {});
  IrValue* get_constant(const Constant& value, const SourceRange& range = {}) {
    return get_constant(value, type_of(value, tensor_type()), range);
  }
  // Adds a constant node of the graph, or replaces it by an equal one.
  void adopt(IrNode* constant);

 private:
  IrValue* find_constant(const Constant& value, const TypePtr& type, std::size_t hash) const;
  void place(IrNode* node);

  IrGraph& graph_;
  IrNode* last_ = nullptr;
  std::unordered_multimap<std::size_t, IrValue*> known_;
};

struct Call {
  SourceRange range;
  std::vector<NamedValue> arguments;
  std::vector<NamedValue> keywords;
  std::optional<NamedValue> self;
};

struct Match {
  std::size_t schema = 0;  // index of the overload
  std::vector<IrValue*> inputs;
  std::vector<TypePtr> results;
};

class SchemaMatcher {
 public:
  SchemaMatcher(IrGraph& graph, ConstantPool& constants) : graph_(graph), constants_(constants) {}

  // Resolves a call; nodes for conversions are inserted into the graph.  Throws Error(kInput), which says why
  // no overload fits.
  Match match(const std::vector<const FunctionSchema*>& schemas, const Call& call);

  // Converts the value to `type` when an implicit conversion exists; returns it unchanged otherwise.
  IrValue* convert(const TypePtr& type, IrValue* value, bool allow_conversions, const SourceRange& range);

  // Emits a call of a registered operator, for conversions and operations of the language.
  IrValue* call(Symbol name, const std::vector<IrValue*>& arguments, const SourceRange& range);
  IrNode* emit(const FunctionSchema& schema, const Match& match, const SourceRange& range);
  IrValue* list(const TypePtr& element, const std::vector<IrValue*>& items);
  IrValue* tuple(const std::vector<IrValue*>& items);
  std::vector<IrValue*> unpack(IrValue* tuple);

 private:
  using Keywords = std::unordered_map<std::string_view, std::size_t>;  // first index of each name
  std::optional<Match> try_match(const FunctionSchema& schema, const Call& call, const Keywords& keywords,
                                 bool allow_conversions, std::string* why_not);
  IrValue* try_argument(const FunctionArgument& argument, IrValue* value, const SourceRange& range,
                        bool allow_conversions, TypeBindings& bindings, std::string* why_not);
  IrValue* default_value(const FunctionArgument& argument);

  IrGraph& graph_;
  ConstantPool& constants_;
};

// Returns the registered overload that takes the node's inputs without conversions; null when there is none.
const FunctionSchema* find_overload(Symbol name, const IrNode& node);

// Returns whether `type` is a list, or a tuple whose items all have the list's element type.
bool is_convertible_to_list(const Type& type, const Type& list);

}  // namespace fxtrace::torchscript
