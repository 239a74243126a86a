// Emits the graph of one function from its syntax tree, in LibTorch's order of nodes.  emitter.cpp has
// definitions and statements, emitter_conditions.cpp `if`, loops and type refinements,
// emitter_expressions.cpp expressions, emitter_calls.cpp calls, emitter_values.cpp attributes and other
// operations of sugared values, emitter_subscripts.cpp subscripts and assignments to them.
//
// The emitter reads the tree once, from top to bottom, and inserts nodes at the graph's insert point.  Its
// graph is not in SSA form and has exits in the middle of blocks; ssa.cpp, exits.cpp and cleanup.cpp finish
// it.
//
// 1. An assignment of a value is a prim::Store of the name and a use a prim::Load; prim::If and prim::Loop
//    have no results for variables.  The Environment knows only the types of variables, and names that are
//    bound to something that is not a value (sugared_value.h).
// 2. Each block of an `if`, a loop, a comprehension or a closure has a scope.  An assignment in it must fit
//    the type that the variable has outside.  After an `if`, the names that both branches define (or one,
//    if they were defined before) become variables of the scope around it, with a common type.  A branch
//    that exits counts as defining them all: prim::Uninitialized is stored there.
// 3. `return`, `break` and `continue` are the nodes prim::ReturnStatement, prim::Break and prim::Continue.
//    exits_ has the blocks that end in `return`, in `raise`, or in an `if` both of whose branches end so;
//    further statements in such a block are not compiled.  Nodes after `break` and `continue` are emitted,
//    and removed by exits.cpp.
// 4. A prim::Loop has two blocks, the body and the condition, which is the constant True for a `for`, and
//    the trip count as its only input.
// 5. A condition that is known while compiling (isinstance, hasattr, `is None`, constants) selects a
//    branch, and only that one is compiled, in the scope around it.  Where it is not known, it may refine
//    the types of variables in the branches: prim::unchecked_cast, stored under the same name.
// 6. An expression is a SugaredValue until a value is needed (as_value): a method, a class or a range has
//    no node.  Loops over tuples are unrolled.
// 7. Constants are not emitted in place (with one exception, in emit_condition()): constants_ and numbers_
//    have one node for each value, at the start of the graph.
//
// Example:
//
//   def f(x: Tensor, c: bool) -> Tensor:       Store[x](%x)
//     if c:                                    Store[c](%c)
//       y = torch.relu(x)                      If(Load[c])
//     else:                                      block0(): Store[y](relu(Load[x]))
//       return x                                 block1(): ReturnStatement(Load[x])
//     return torch.neg(y)                                  Store[y](Uninitialized)
//                                              ReturnStatement(neg(Load[y]))
//
// emit_branches() compiles both branches, each in a scope of its own, and finds that block1 exits.  So `y`,
// which only block0 defines, becomes a variable after the `if`.  The result of the graph is a
// prim::Uninitialized, which exits.cpp replaces by the values returned: %x in block1, and neg(y) in block0,
// where the code after the `if` is moved.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "torchscript/compiler/environment.h"
#include "torchscript/compiler/schema_match.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/compiler/sugared_value.h"
#include "torchscript/ir/function.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/tree.h"
#include "torchscript/language/type_parser.h"

namespace fxtrace::torchscript {

// The type that a variable has where a condition is true, or where it is false.
struct Refinement {
  std::string_view name;
  TypePtr type;
};
struct Refinements {
  std::vector<Refinement> if_true, if_false;

  Refinements both(const Refinements& other) const;    // for `a and b`
  Refinements either(const Refinements& other) const;  // for `a or b`
  Refinements negated() const { return {if_false, if_true}; }
};
struct Condition {
  IrValue* value = nullptr;
  Refinements refinements;
  std::optional<bool> known;  // the value, if known at compile time: then only one branch is compiled
};

class Emitter {
 public:
  Emitter(Program& program, const SyntaxFile& file, IrGraph& graph, Function& function);

  void emit_function(const Tree& definition, const TypePtr& self);

 private:
  using Expressions = std::span<const Tree* const>;
  enum class LoopKind : std::uint8_t { kNone, kLoop, kUnrolled };
  struct OpenDefinition {
    TypePtr declared, merged;  // the annotated type of the result, and the one of all `return`s so far
  };

  // --- definitions and statements ---
  void emit_definition(const Tree& definition, const TypePtr& self, IrBlock* block);
  void emit_statements(const Tree& list);
  void emit_statement(const Tree& statement);
  void emit_assignment(const Tree& statement);
  void emit_assignment_to(const Tree& target, const Tree& value, const Tree& type, const SourceRange& range);
  void assign_all(Expressions targets, const std::vector<SugaredValue>& values, const SourceRange& range,
                  std::size_t binders);
  void assign_item(Expressions targets, const SugaredValue& item, const SourceRange& range);  // of a `for`
  void assign_tuple(const Tree& target, const SugaredValue& value, const SourceRange& range);
  std::size_t count_binders(Expressions targets, const SourceRange& range, bool* starred) const;
  void emit_augmented_assignment(const Tree& statement);
  IrValue* emit_augmented(const Tree& statement, IrValue* left);
  void emit_return(const SourceRange& range, const Tree* value);
  void emit_raise(const Tree& statement);
  void raise(IrValue* message, const SourceRange& range);
  void emit_assert(const Tree& statement);
  void emit_delete(const Tree& statement);
  void emit_with(const Tree& statement);
  void emit_exit(const Tree& statement, Symbol kind, const char* name);
  IrValue* emit_closure(const std::function<void(IrBlock*)>& emit_body);

  // --- conditions and loops ---
  Condition emit_condition(const Tree& expression);
  Condition emit_short_circuit(const Tree& expression);
  Condition emit_is(const Tree& expression);
  Condition emit_isinstance(const Tree& call);
  Condition emit_hasattr(const Tree& call);
  Condition constant_condition(bool value, const SourceRange& range, Refinements refinements = {});
  IrValue* emit_to_bool(IrValue* value, const SourceRange& range);
  IrValue* emit_if_expression(const SourceRange& range, const Condition& condition,
                              const std::function<IrValue*()>& if_true,
                              const std::function<IrValue*()>& if_false, const TypePtr& hint = nullptr);
  void emit_branches(const SourceRange& range, const Condition& condition,
                     const std::function<void()>& if_true, const std::function<void()>& if_false);
  void insert_refinements(const SourceRange& range, const std::vector<Refinement>& refinements);
  void emit_while(const Tree& statement);
  void emit_for(Expressions targets, Expressions iterated, const SourceRange& range,
                const std::function<void()>& emit_body);
  void emit_loop(const SourceRange& range, const std::function<void()>& emit_body,
                 const SugaredValue* iterable, Expressions targets, const Tree* condition);

  // --- expressions ---
  IrValue* emit(const Tree& expression, const TypePtr& hint = nullptr);
  SugaredValue emit_sugared(const Tree& expression, std::size_t binders = 1, const TypePtr& hint = nullptr);
  IrValue* emit_simple(const Tree& expression, const TypePtr& hint);
  SugaredValue emit_name(std::string_view name, const SourceRange& range);
  IrValue* emit_binary(const Tree& expression);
  IrValue* emit_unary(const Tree& expression);
  IrValue* emit_list(const Tree& expression, const TypePtr& hint);
  IrValue* emit_dict(const Tree& expression, const TypePtr& hint);
  IrValue* emit_conditional(const Tree& expression, const TypePtr& hint);
  IrValue* emit_comprehension(const Tree& expression, const TypePtr& hint);
  std::vector<IrValue*> emit_all(Expressions expressions);
  IrValue* constant(const Constant& value, const SourceRange& range = {}) {
    return constants_.get_constant(value, range);
  }
  IrValue* integer(std::int64_t value, const SourceRange& range = {}) {
    return constant(Constant(value), range);
  }
  IrValue* unchecked_cast(IrValue* value, const TypePtr& type);

  // --- calls and attributes ---
  SugaredValue emit_call(const Tree& expression, std::size_t binders, const TypePtr& hint);
  Call emit_arguments(const SourceRange& range, Expressions arguments, Expressions keywords);
  SugaredValue emit_special(SpecialForm form, const Tree& expression, const TypePtr& hint,
                            const SugaredValue& callee);
  SugaredValue emit_list_call(const Tree& expression, const TypePtr& hint);
  SugaredValue emit_dict_call(const Tree& expression, const TypePtr& hint);
  SugaredValue emit_fork(const Tree& expression, Symbol kind);
  SugaredValue call(const SugaredValue& callee, Call arguments, std::size_t binders = 1);
  SugaredValue call_method(IrValue* self, const std::string& method, Call arguments);
  SugaredValue call_function(Function* function, const Call& arguments);
  IrValue* call_builtin(Symbol symbol, const Call& arguments);
  IrValue* call_builtin(Symbol symbol, const std::vector<IrValue*>& arguments, const SourceRange& range);
  IrValue* emit_inlined(const Function& function, const Match& match, const SourceRange& range);
  SugaredValue call_cast(const SugaredValue& cast, Call arguments);
  void require_arguments(const Tree& call, std::size_t count, const char* name) const;
  SugaredValue attribute(const SugaredValue& value, std::string_view name, const SourceRange& range);
  SugaredValue attribute_of_value(IrValue* value, std::string_view name, const SourceRange& range);
  std::optional<SugaredValue> find_builtin_method(IrValue* self, std::string_view name);
  SugaredValue attribute_of_namespace(const SugaredValue& value, std::string_view name,
                                      const SourceRange& range);
  bool has_attribute(const SugaredValue& value, const std::string& name, const SourceRange& range);
  void set_attribute(const SugaredValue& object, std::string_view name, IrValue* value,
                     const SourceRange& range, const SourceRange& place);
  SugaredValue resolve_global(const std::string& qualified, const SourceRange& range);

  // Operations of sugared values.
  IrValue* as_value(const SugaredValue& value, const SourceRange& range);
  std::vector<SugaredValue> as_tuple(const SugaredValue& value, const SourceRange& range,
                                     std::optional<std::size_t> count = std::nullopt);
  SugaredValue as_iterable(const SugaredValue& value, const SourceRange& range);
  IrValue* length_of(const SugaredValue& iterable, const SourceRange& range);
  SugaredValue item_of(const SugaredValue& iterable, IrValue* index, const SourceRange& range,
                       const TypePtr& hint = nullptr);
  SugaredValue make_range(const std::vector<IrValue*>& inputs, const SourceRange& range);
  SugaredValue make_iterables(std::vector<SugaredValue> parts, const SourceRange& range);

  // --- subscripts ---
  struct Index {
    enum class Kind : std::uint8_t { kSlice, kEllipsis, kNone, kInt, kTensor } kind = Kind::kSlice;
    IrValue* value = nullptr;
    const Tree* slice = nullptr;
    std::int64_t dim = 0;
  };
  SugaredValue emit_subscript(const Tree& expression, const TypePtr& hint);
  void emit_subscript_assignment(const SourceRange& range, const Tree& target, IrValue* value);
  void emit_augmented_subscript(const Tree& statement);
  std::pair<IrValue*, std::vector<IrValue*>> emit_indexing(const SourceRange& range, IrValue* value,
                                                           Expressions subscripts, IrValue* first = nullptr);
  Index classify_index(const Tree& subscript, IrValue* given, const SourceRange& range);
  IrValue* emit_slice(const SourceRange& range, IrValue* value, IrValue* dim, const Tree& slice);
  IrValue* emit_tuple_slice(const SourceRange& range, IrValue* value, const Tree& slice);
  IrValue* emit_tuple_index(const SourceRange& range, IrValue* tuple, IrValue* index);
  IrValue* tensor_list(const std::vector<IrValue*>& items);
  IrValue* value_as_tensor(IrValue* value, IrValue* like);

  SourceRange range_of(const Tree& tree) const { return file_.range(tree); }
  IrNode* create(Symbol kind, const std::vector<IrValue*>& inputs, std::size_t outputs,
                 const SourceRange& range);
  [[noreturn]] void fail(const Tree& tree, const std::string& message) const {
    throw SourceError(file_.range(tree), message);
  }

  Program& program_;
  const SyntaxFile& file_;
  IrGraph& graph_;
  Function& function_;
  TypeParser types_;
  ConstantPool constants_;
  ConstantPool numbers_;  // number literals: unlike other constants, inputs of forked code (cleanup.cpp)
  SchemaMatcher matcher_;
  Environment environment_;
  std::vector<OpenDefinition> definitions_;
  std::unordered_set<const IrBlock*> exits_;  // blocks whose end is unreachable, by `return` or `raise`
  LoopKind loop_ = LoopKind::kNone;
  std::size_t made_names_ = 0;
  bool is_archive_code_;  // whether operators may have old versions (upgraders.h)
};

}  // namespace fxtrace::torchscript
