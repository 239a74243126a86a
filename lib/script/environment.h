// Variables of the code that is compiled.  Those that are values live in the graph as prim::Store and
// prim::Load by their name until ssa.cpp takes these out; here stand their types, by scope, and names that
// mean no value.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "script/ir.h"
#include "script/schema_match.h"
#include "script/source.h"
#include "script/sugared.h"

namespace fxtrace::script {

// What a branch or loop body defines.
struct Scope {
  struct Variable {
    TypePtr type;                    // of a value, as it was declared
    std::optional<Sugared> sugared;  // of anything else
  };
  IrBlock* block = nullptr;
  Scope* parent = nullptr;
  std::unordered_map<std::string_view, Variable> variables;
};

class Environment {
 public:
  Environment(IrGraph& graph, SchemaMatcher& matcher) : graph_(graph), matcher_(matcher) {}

  void push(IrBlock* block);
  Scope* pop();  // which stays as it is
  IrBlock* block() const { return current_->block; }
  Scope* current() const { return current_; }

  // Names must live as long as this.  A value is loaded at the graph's insert point.
  std::optional<Sugared> find(std::string_view name) { return find_in(current_, name); }
  std::optional<Sugared> find_in(Scope* scope, std::string_view name);
  bool is_defined_in(const Scope* scope, std::string_view name) const;

  // Throws Error(kInput) where an outer scope's variable would get another type.
  void set(const SourceRange& range, std::string_view name, Sugared value, const TypePtr& declared = nullptr);
  void set(const SourceRange& range, std::string_view name, IrValue* value) {
    set(range, name, sugared(value));
  }
  void set_type(std::string_view name, TypePtr type);
  bool remove(std::string_view name);
  std::vector<std::string_view> defined_in(const Scope& scope) const;  // values, in order of their names

  // Why a variable is not defined, for when it is asked for.
  void set_reason(std::string_view name, std::string reason) { reasons_[name] = std::move(reason); }
  const std::string* find_reason(std::string_view name) const;
  std::string_view keep(std::string name);  // a name of our own

 private:
  void store(const SourceRange& range, std::string_view name, IrValue* value, TypePtr type);

  IrGraph& graph_;
  SchemaMatcher& matcher_;
  std::deque<Scope> scopes_;
  Scope* current_ = nullptr;
  std::unordered_map<std::string_view, std::string> reasons_;
  std::deque<std::string> names_;
};

// Whether a variable of the name gives its name to values: not "_3" and what the compiler made up.
bool is_meaningful_name(std::string_view name);

}  // namespace fxtrace::script
