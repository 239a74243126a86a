// Overload resolution by LibTorch's rules, and calls of operators without a schema.
#pragma once

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torchscript/ir/ir.h"
#include "torchscript/language/function_schema.h"
#include "torchscript/language/source.h"
#include "torchscript/language/type_relations.h"
#include "torchscript/language/types.h"
#include "torchscript/operators/operator_table.h"

namespace fxtrace::internal::torchscript {

// Overload resolution by LibTorch's rules: chooses the overload of an operator or function for a call, and
// inserts nodes for conversions, lists and defaults into the graph.
//
// 1. There is no ranking.  Overloads are tried in the given order (LibTorch's order for operators, see
//    operator_table.h) in two rounds: without implicit conversions, then with them.  The first overload
//    that fits is chosen.  A single overload is tried once, with conversions.
// 2. In both rounds a tuple becomes a list when its items have the list's element type, a tuple is
//    converted item by item, and a number becomes an int[n] or float[n] of n equal items.
// 3. In the second round only, a tensor becomes a float, complex, int or Scalar; a Scalar a float, complex
//    or int; a bool a float, an int or (as an int) a Scalar; a str a device.  Also, where a list without
//    fixed length is the last positional parameter, the positional arguments that are left become its
//    items: torch.zeros(1, 2).
// 4. Parameters take arguments in the order of the schema: the parameter "self" takes the call's `self`;
//    any other the next positional argument, else the keyword argument of its name ("input" also stands for
//    the "self" of an aten operator), else its default.
// 5. An overload fits when every parameter has a value whose type is a subtype of the parameter's, and no
//    argument is left over.  Variadic schemas take any further positional arguments, unconverted.
// 6. Type variables (t, tVal) are bound from the first parameter to the last, and replaced in the results.
// 7. A failed attempt may leave nodes without uses in the graph; cleanup.cpp removes them.
// 8. Match::inputs has one value for each parameter in order, then the variadic ones.
// 9. Open types (schema_match.h) fit everything.  With such an argument, all overloads of a round are
//    tried.  What those that fit agree on is expected of the argument, and known of the result.
// 10. When no overload fits, they are tried once more to gather the reasons, for at most 8 of them.
//
// Example: torch.select(x, 0, d) with Tensors x and d.  The overloads are select.int(Tensor self, int dim,
// int index) and select.t(t[] list, int idx).  Round 1: select.int takes x and 0, but d is not an int;
// select.t refuses x, which is not a list.  Round 2: select.int converts d, and fits:
//
//   %1 : int = aten::IntImplicit(%d)
//   %2 : Tensor = aten::select(%x, 0, %1)
//
// torch.sum(x, 1) fits sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType?
// dtype=None) in round 1: 1 becomes prim::ListConstruct(1), and False and None are constants made from the
// defaults.

struct NamedValue {
  SourceRange range;
  std::string_view name;  // of a keyword argument; empty for others
  IrValue* value = nullptr;
};

// The constants of a graph, deduplicated and placed at its start.
class ConstantPool {
 public:
  explicit ConstantPool(IrGraph& graph) : graph_(graph) {}
  IrValue* get_constant(const ScriptConstant& value, TypePtr type, const SourceRange& range = {});
  IrValue* get_constant(const ScriptConstant& value, const SourceRange& range = {}) {
    return get_constant(value, type_of(value, tensor_type()), range);
  }
  // Adds a constant node of the graph, or replaces it by an equal one.
  void adopt(IrNode* constant);

 private:
  IrValue* find_constant(const ScriptConstant& value, const TypePtr& type, std::size_t hash) const;
  void place(IrNode* node);

  IrGraph& graph_;
  IrNode* last_ = nullptr;
  std::unordered_multimap<std::size_t, IrValue*> known_;
};

struct CallArguments {
  SourceRange range;
  std::vector<NamedValue> arguments;
  std::vector<NamedValue> keywords;
  std::optional<NamedValue> self;
};

struct Match {
  std::size_t schema = 0;  // index of the overload
  std::vector<IrValue*> inputs;
  std::vector<TypePtr> results;
  // Arguments of open types, and the types of their parameters.
  std::vector<std::pair<IrValue*, TypePtr>> expected;
};

class SchemaMatcher {
 public:
  SchemaMatcher(IrGraph& graph, ConstantPool& constants) : graph_(graph), constants_(constants) {}

  // Resolves a call; nodes for conversions are inserted into the graph.  Throws Error(kInput) with the
  // reasons when no overload fits.
  Match match(const std::vector<const FunctionSchema*>& schemas, const CallArguments& call);

  // Converts the value to `type`, which the code expects, when an implicit conversion exists; returns it
  // unchanged otherwise.
  IrValue* convert(const TypePtr& type, IrValue* value, const SourceRange& range);

  // Emits a call of a registered operator, for conversions and operations of the language.
  IrValue* call(Symbol name, const std::vector<IrValue*>& arguments, const SourceRange& range);
  IrNode* emit(const FunctionSchema& schema, const Match& match, const SourceRange& range);
  IrValue* list(const TypePtr& element, const std::vector<IrValue*>& items);
  IrValue* tuple(const std::vector<IrValue*>& items);
  std::vector<IrValue*> unpack(IrValue* tuple);

 private:
  using Keywords = std::unordered_map<std::string_view, std::size_t>;  // first index of each name
  std::optional<Match> try_match(const FunctionSchema& schema, const CallArguments& call,
                                 const Keywords& keywords, bool allow_conversions, std::string* why_not);
  IrValue* try_convert(const TypePtr& type, IrValue* value, bool allow_conversions, const SourceRange& range);
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

// What calls tell of operators that nobody declared, and of methods of classes of torch.classes.
//
// While a program has UndeclaredCalls, the compiler does not refuse such a call.  Its result is of an
// OpenType, which notes what the code around expects: a type that is declared, that a parameter has, or that
// all overloads that fit agree on.  Nothing is guessed.  The function's graph is not kept; it is compiled
// again once the operators are declared.

class Function;
class IrValue;

struct UndeclaredOperator {
  std::vector<std::pair<const Function*, SourcePlace>> callers;  // functions, and the call in each
  std::vector<TypePtr> arguments;           // types that fit all calls, by position, without "self"
  std::map<std::string, TypePtr> keywords;  // the same by name
  TypePtr result = open_type();             // of all calls
  bool agree = true;                        // whether all calls have as many arguments

  void add_call(const CallArguments& call, const Function& caller);
};
// By name: "pkg::op", or a method's qualified name.
using UndeclaredCalls = std::map<std::string, UndeclaredOperator>;

// Thrown where a function would be compiled that has such a call.
class UndeclaredCall final : public std::exception {};

// Notes that the value is used.  Does nothing unless the value's type is open.
void use(const IrValue& value);
// Notes the same, and that the code expects the type of the value, or of its items.
void expect(const IrValue& value, const TypePtr& type);

struct InferredSchema {
  std::string schema;  // with "?" for a result type that the calls do not tell
  bool is_complete = true;
};
// Returns the schema that the calls tell.  An argument is Any, which takes everything, if they do not tell
// its type, and so is a result that nobody uses.
InferredSchema infer_schema(const std::string& name, const UndeclaredOperator& calls);

}  // namespace fxtrace::internal::torchscript
