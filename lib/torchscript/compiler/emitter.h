// Emits the graph of one function from its syntax tree, in LibTorch's order of nodes.  emitter.cpp has
// definitions and statements, emitter_conditions.cpp `if`, loops and type refinements,
// emitter_expressions.cpp expressions, emitter_calls.cpp calls, emitter_values.cpp attributes and other
// operations of sugared values, emitter_expressions.cpp subscripts and assignments to them.
//
// The emitter reads the tree once, from top to bottom, and inserts nodes at the graph's insert point.  Its
// graph is not in SSA form; ssa.cpp and cleanup.cpp finish it.
//
// 1. An assignment of a value is a prim::Store of the name and a use a prim::Load; prim::If and prim::Loop
//    have no results for variables.  The Environment knows only the types of variables, and names that are
//    bound to something that is not a value (environment.h).
// 2. Each block of an `if`, a loop or a closure has a scope.  An assignment in it must fit the type that the
//    variable has outside.  After an `if`, the names that both branches define (or one, if they were defined
//    before) become variables of the scope around it, with a common type.
// 3. `return` is the last statement of a function, and its value the result of the graph.
// 4. A prim::Loop has two blocks, the body and the condition, which is the constant True for a `for`, and
//    the trip count as its only input.
// 5. A condition that is known while compiling (isinstance, `is None`, constants) selects a branch, and only
//    that one is compiled, in the scope around it.  Where it is not known, it may refine the types of
//    variables in the branches: prim::unchecked_cast, stored under the same name.
// 6. An expression is a SugaredValue until a value is needed (as_value): a method or a class has no node.
// 7. Constants are not emitted in place: constants_ and numbers_ have one node for each value, at the start
//    of the graph.
//
// Example:
//
//   def f(x: Tensor, c: bool) -> Tensor:       Store[x](%x)
//     if c:                                    Store[c](%c)
//       y = torch.relu(x)                      If(Load[c])
//     else:                                      block0(): Store[y](relu(Load[x]))
//       y = x                                    block1(): Store[y](Load[x])
//     return torch.neg(y)                      -> (neg(Load[y]))
//
// emit_branches() compiles both branches, each in a scope of its own.  Both define `y`, so it becomes a
// variable after the `if`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "torchscript/compiler/environment.h"
#include "torchscript/compiler/schema_match.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/ir/function.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/parser.h"
#include "torchscript/language/type_parser.h"

namespace fxtrace::internal::torchscript {

// The type that a variable has where a condition is true, or where it is false.
struct Refinement {
  std::string_view name;
  TypePtr type;
};
struct Refinements {
  std::vector<Refinement> if_true, if_false;

  Refinements negated() const { return {if_false, if_true}; }
};
struct Condition {
  IrValue* value = nullptr;
  Refinements refinements;
  std::optional<bool> known;  // the value, if known at compile time: then only one branch is compiled
};

class Emitter {
 public:
  Emitter(ScriptProgram& program, const SyntaxFile& file, IrGraph& graph, Function& function);

  void emit_function(const Tree& definition, const TypePtr& self);
  bool has_undeclared_call() const { return has_undeclared_call_; }

 private:
  using Expressions = std::span<const Tree* const>;

  // --- definitions and statements ---
  void emit_definition(const Tree& definition, const TypePtr& self, IrBlock* block);
  void emit_statements(const Tree& list);
  void emit_statement(const Tree& statement);
  void emit_assignment(const Tree& statement);
  void emit_assignment_to(const Tree& target, const Tree& value, const Tree& type, const SourceRange& range);
  void assign_all(Expressions targets, const std::vector<IrValue*>& values, const SourceRange& range,
                  std::size_t binders);
  void assign_tuple(const Tree& target, const SugaredValue& value, const SourceRange& range);
  std::size_t count_binders(Expressions targets, const SourceRange& range, bool* starred) const;
  void emit_augmented_assignment(const Tree& statement);
  IrValue* emit_augmented(const Tree& statement, IrValue* left);
  IrValue* emit_result(const SourceRange& range, const Tree* value, const TypePtr& declared);
  void emit_delete(const Tree& statement);
  void emit_with(const Tree& statement);
  IrValue* emit_closure(const std::function<void(IrBlock*)>& emit_body);

  // --- conditions and loops ---
  Condition emit_condition(const Tree& expression);
  Condition emit_is(const Tree& expression);
  Condition emit_isinstance(const Tree& call);
  Condition constant_condition(bool value, const SourceRange& range, Refinements refinements = {});
  IrValue* emit_to_bool(IrValue* value, const SourceRange& range);
  void emit_branches(const SourceRange& range, const Condition& condition,
                     const std::function<void()>& if_true, const std::function<void()>& if_false);
  void insert_refinements(const SourceRange& range, const std::vector<Refinement>& refinements);
  void emit_loop(const Tree& statement);

  // --- expressions ---
  IrValue* emit(const Tree& expression, const TypePtr& hint = nullptr);
  SugaredValue emit_sugared(const Tree& expression, std::size_t binders = 1, const TypePtr& hint = nullptr);
  IrValue* emit_simple(const Tree& expression, const TypePtr& hint);
  SugaredValue emit_name(std::string_view name, const SourceRange& range);
  IrValue* emit_binary(const Tree& expression);
  IrValue* emit_unary(const Tree& expression);
  IrValue* emit_list(const Tree& expression, const TypePtr& hint);
  IrValue* emit_dict(const Tree& expression, const TypePtr& hint);
  std::vector<IrValue*> emit_all(Expressions expressions);
  IrValue* constant(const ScriptConstant& value, const SourceRange& range = {}) {
    return constants_.get_constant(value, range);
  }
  IrValue* integer(std::int64_t value, const SourceRange& range = {}) {
    return constant(ScriptConstant(value), range);
  }
  IrValue* unchecked_cast(IrValue* value, const TypePtr& type);

  // --- calls and attributes ---
  SugaredValue emit_call(const Tree& expression, std::size_t binders, const TypePtr& hint);
  CallArguments emit_arguments(const SourceRange& range, Expressions arguments, Expressions keywords);
  SugaredValue emit_special(SpecialForm form, const Tree& expression, const TypePtr& hint,
                            const SugaredValue& callee);
  SugaredValue emit_fork(const Tree& expression, Symbol kind);
  SugaredValue call(const SugaredValue& callee, CallArguments arguments, std::size_t binders = 1);
  SugaredValue call_method(IrValue* self, const std::string& method, CallArguments arguments);
  SugaredValue call_function(Function* function, const CallArguments& arguments);
  IrValue* call_builtin(Symbol symbol, const CallArguments& arguments);
  IrValue* call_builtin(Symbol symbol, const std::vector<IrValue*>& arguments, const SourceRange& range);
  IrValue* call_undeclared(UndeclaredOperator& called, const CallArguments& arguments);
  IrValue* emit_inlined(const Function& function, const Match& match, const SourceRange& range);
  SugaredValue call_cast(const SugaredValue& cast, CallArguments arguments);
  void require_arguments(const Tree& call, std::size_t count, const char* name) const;
  SugaredValue attribute(const SugaredValue& value, std::string_view name, const SourceRange& range);
  SugaredValue attribute_of_value(IrValue* value, std::string_view name, const SourceRange& range);
  std::optional<SugaredValue> find_builtin_method(IrValue* self, std::string_view name);
  SugaredValue attribute_of_namespace(const SugaredValue& value, std::string_view name,
                                      const SourceRange& range);
  void set_attribute(const SugaredValue& object, std::string_view name, IrValue* value,
                     const SourceRange& range, const SourceRange& place);
  SugaredValue resolve_global(const std::string& qualified, const SourceRange& range);

  // Operations of sugared values.
  IrValue* as_value(const SugaredValue& value, const SourceRange& range);
  std::vector<IrValue*> as_tuple(const SugaredValue& value, const SourceRange& range,
                                 std::optional<std::size_t> count = std::nullopt);
  SugaredValue item_of(IrValue* value, IrValue* index, const SourceRange& range, const TypePtr& hint);

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

  ScriptProgram& program_;
  const SyntaxFile& file_;
  IrGraph& graph_;
  Function& function_;
  TypeParser types_;
  ConstantPool constants_;
  ConstantPool numbers_;  // number literals: unlike other constants, inputs of forked code (cleanup.cpp)
  SchemaMatcher matcher_;
  Environment environment_;
  std::size_t made_names_ = 0;
  bool is_archive_code_;  // whether operators may have old versions (builtins.h)
  bool has_undeclared_call_ = false;
};

// Compiles a function as LibTorch's compiler does without optimisations.  `self` is the class of a method,
// null for functions.  Throws Error(kInput) with the position in the code.
std::unique_ptr<IrGraph> compile_function(ScriptProgram& program, const SyntaxFile& file,
                                          const Tree& definition, Function& function, const TypePtr& self);

}  // namespace fxtrace::internal::torchscript
