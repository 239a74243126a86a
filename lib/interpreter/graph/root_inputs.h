// Binds the inputs of the root's method by the options (--concrete, --input, --input-names): some remain
// placeholders, the others are fixed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "interpreter/program/torchscript_archive.h"
#include "interpreter/record/recorder.h"
#include "shapes/abstract_value.h"
#include "trace/options/input_spec.h"
#include "trace/options/options.h"

namespace fxtrace::internal::interpreter {

// An input as a value of the interpreter, and as an argument of a call; absent for a default.
struct BoundInput {
  Value value;
  std::optional<Argument> argument;
};

class RootInputs {
 public:
  // `plain` are inputs that are known to have these plain values, and so do not take their defaults.
  RootInputs(Recorder& recorder, const FunctionSchema& schema, const std::map<std::string, Value>& plain);

  // Returns one input for each formal parameter after self, in order.  Throws Error(kUsage), which lists the
  // inputs, for an unknown name, a value or dummy input that does not fit the type, or an input that lacks a
  // value.
  std::vector<BoundInput> bind();
  // Returns the entries that bind() made for each input and each of its parts, in order: a placeholder, or a
  // fixed value, or neither for an input that takes its default.
  const std::vector<GraphSignature::Entry>& entries() const { return entries_; }
  // Returns whether --concrete or --input-names give the input, or a part of it, a value.
  bool is_given_a_value(const std::string& name) const;
  bool options_give_values() const { return !options_.concrete.empty() || options_.input_names; }
  // Returns whether bind() left the input whole though no option mentions it.
  bool is_unmentioned(const std::string& name) const { return unmentioned_.contains(name); }

 private:
  // An input, or a part of one.
  struct Place {
    std::string name;            // the name of its placeholder: "past_0_k"
    Expression expr;             // the place in Python: past[0]['k']
    std::string path;            // the name in --input: "past.0.k"
    std::vector<Argument> keys;  // the name of the input, then indices and keys: "past", 0, "k"
    Place part(const std::string& part_name, Expression part_expr, Argument key) const {
      Place result{name + "_" + part_name, std::move(part_expr), path + "." + part_name, keys};
      result.keys.push_back(std::move(key));
      return result;
    }
  };
  struct Dummy {
    std::string path;
    ParsedInputSpec spec;
    bool used = false;
  };

  // Records the placeholder of an input that remains.  `formal` is the parameter whose default it keeps.
  BoundInput make_placeholder(const Place& place, const TypePtr& type, const FunctionArgument* formal,
                              AbstractValue known);
  void guard(Expression condition, GuardReason reason);
  BoundInput add_entry(const Place& place, BoundInput bound);
  BoundInput close_entries(std::size_t first, const Place& place, BoundInput bound);
  BoundInput bind_input(const FunctionArgument& formal, InputChoice::Decision decision);
  BoundInput present(const TypePtr& type, const Place& place);
  BoundInput bind_value(const Argument& value, const TypePtr& type, const Place& place);
  void guard_member(const Type& member, const UnionType& either, const Place& place);
  BoundInput bind_list(const Argument::List& list, const TypePtr& type, const Place& place);
  BoundInput bind_dict(const Argument::Dict& dict, const TypePtr& type, const Place& place);
  BoundInput bind_tuple(const Argument& value, const TypePtr& type, const Place& place);
  [[noreturn]] void fail(const std::string& what) const;
  void read_dummies();
  // Builds the value at `path`, with a placeholder for each part that has a dummy input.
  Argument structure(const TypePtr& type, const std::string& path) const;
  bool has_dummy(const std::string& path) const;
  // Returns what the dummy input tells about the place, and refines `type`.
  AbstractValue known(TypePtr& type, const Place& place);

  Recorder& recorder_;
  GraphTracer& tracer_;
  const TorchScriptArchive& archive_;
  const FunctionSchema& schema_;
  const TraceOptions& options_;
  const std::map<std::string, Value>& plain_;
  std::vector<std::string> names_;            // the names of the inputs
  const FunctionArgument* formal_ = nullptr;  // the parameter that bind() is at
  std::vector<Dummy> dummies_;
  std::set<std::string> unmentioned_;
  std::vector<GraphSignature::Entry> entries_;
};

}  // namespace fxtrace::internal::interpreter
