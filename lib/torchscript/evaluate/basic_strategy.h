// What all strategies have in common, which is what a run does that records nothing.
#pragma once

#include "torchscript/evaluate/part.h"
#include "torchscript/evaluate/strategy.h"

namespace fxtrace::torchscript {

class BasicStrategy : public Strategy, protected Part {
 public:
  using Part::Part;

  const IrNode* run(const IrBlock& block, const IrNode* node) override;
  void call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values) override;
  Value call_module(const ModuleCall& call) override;
  Value call_function(Function& function, const Values& arguments, const IrNode* node) override;
  Value attribute(const AttributeRead& read, const TypePtr& type, const IrNode* node) override;
  void set_attribute(const Ref<ObjectValue>& object, const std::string& name, const Value& value,
                     const IrNode* node) override;
  bool join_conditions(const IrNode* node, const Value& condition, bool is_and) override;
  void branch(const IrNode* node, const Value& condition) override;
  void loop(const IrNode* node, const std::string& what, const Value& value,
            const std::shared_ptr<Attempt>& start) override;

 protected:
  // Replaces a list or dict made by the code, as later changes of it depend on an input, by one that the
  // graph makes.
  virtual void materialize(const Value& container, const IrNode* node);
  // Sets what the operator gives, as far as that is known.
  virtual void set_results(const IrNode* node, const FunctionSchema& schema, const Values& values,
                           std::vector<AbstractValue> known);
  // Returns whether operators are followed though nothing is known of shapes.
  virtual bool follows_operators() const { return context_.shapes; }
  // Returns a proxy for the attribute's value, with what is known of that; nothing is of `live` ones, which
  // may have changed.
  Value proxy_of(const AttributeRead& read, const TypePtr& type, NodeRef node, bool is_live) const;
  std::shared_ptr<AbstractValue> known_of_attribute(const AttributeRead& read, bool is_live) const;
};

}  // namespace fxtrace::torchscript
