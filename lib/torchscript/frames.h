// Activations of functions: the values of the code that runs, and where in the code that is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "torchscript/symbolic_value.h"
#include "torchscript/torchscript_program.h"

namespace fxtrace::torchscript {

struct Attempt;

struct Activation {
  std::string function;
  std::unordered_map<const IrValue*, Value> values = {};
  std::unordered_set<const IrValue*> concrete = {};  // inputs that are what --concrete gave the root
  // By loop: before its condition is worked out.
  std::unordered_map<const IrNode*, std::shared_ptr<Attempt>> loop_starts = {};
};

class Frames {
 public:
  explicit Frames(const TorchScriptProgram& program) : program_(program) {}

  void push(Activation activation) { frames_.push_back(std::move(activation)); }
  void pop() { frames_.pop_back(); }
  void pop_to(std::size_t size) { frames_.resize(size); }
  std::size_t size() const { return frames_.size(); }
  Activation& top() { return frames_.back(); }
  const Activation& top() const { return frames_.back(); }

  // In the innermost activation.  None where nothing was set; what the graph makes in the place of a list or
  // dict that it makes.
  const Value& value(const IrValue* name) const;
  const Value& input(const IrNode* node, std::size_t i) const { return value(node->input(i)); }
  Values inputs(const IrNode* node) const { return values(node->inputs()); }
  Values outputs(const IrBlock& block) const { return values(block.outputs()); }
  void set(const IrValue* name, Value value) { frames_.back().values[name] = std::move(value); }
  void set(const IrNode* node, Value value) { set(node->output(), std::move(value)); }  // its only output
  // Of the activations up to `frame`, without what is inside of the node's blocks there.
  Values values_around(const IrNode* node, std::size_t frame) const;
  // Which of the last `count` inputs of the call are what --concrete gave the root, handed on as it is: what
  // set_concrete() said of a call of the root.
  std::vector<bool> concrete_arguments(const IrNode* node, std::size_t count) const;
  void set_concrete(std::vector<bool> arguments_of_root) { concrete_ = std::move(arguments_of_root); }

  // A list or dict made while tracing that the graph makes from now on: every name it goes by sees `proxy`.
  void replace(const Value& container, Value proxy);
  void take_back_replacement(const Value& container) { made_.erase(container.identity()); }
  const Value* find_replacement(const Value& container) const;

  Shared<std::optional<SourceLocation>> location(const IrNode* node) const;
  [[noreturn]] void fail(FailureKind kind, std::string message, const IrNode* node) const;
  // As the model's code would.
  [[noreturn]] void raise(std::string message, const IrNode* node) const {
    fail(FailureKind::kRaised, std::move(message), node);
  }
  // What cannot be followed.
  [[noreturn]] void refuse(std::string message, const IrNode* node) const {
    fail(FailureKind::kUnsupportedOp, std::move(message), node);
  }

 private:
  struct Replaced {
    Value container, proxy;  // the container keeps the identity alive
  };
  Values values(const std::vector<IrValue*>& names) const;

  const TorchScriptProgram& program_;
  std::vector<Activation> frames_;
  std::vector<bool> concrete_;
  std::unordered_map<const void*, Replaced> made_;  // by identity
};

}  // namespace fxtrace::torchscript
