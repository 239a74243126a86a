// Base of all strategies: the behaviour of a run that records nothing.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"
#include "interpreter/evaluate/strategy.h"

namespace fxtrace::interpreter {

class BasicStrategy : public Strategy, protected EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  const IrNode* run(const IrBlock& block, const IrNode* node) override;
  void call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values) override;
  Value call_module(const MethodCall& call) override;
  Value call_function(Function& function, const Values& arguments, const IrNode* node) override;
  Value attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) override;
  void set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) override;
  bool join_conditions(const IrNode* node, const Value& condition, bool is_and) override;
  void branch(const IrNode* node, const Value& condition) override;
  void loop(const IrNode* node, const std::string& what, const Value& value,
            const std::shared_ptr<Attempt>& start) override;

 protected:
  // Replaces a list or dict that the code made by one that the graph makes, as later changes of it depend on
  // an input.
  virtual void materialize(const Value& container, const IrNode* node);
  // Sets the results of the operator; `known` is what is known of each.
  virtual void set_results(const IrNode* node, const FunctionSchema& schema, const Values& values,
                           std::vector<AbstractValue> known);
  // Returns whether results of operators are inferred; else they are unknown.
  virtual bool follows_operators() const { return context_.shapes; }
  // Returns what is known of the attribute's value, which all its proxies share; null when nothing is.
  TensorNames::Known known_of_attribute(const AttributePlace& place) const;
  // Returns whether the value is one that __setstate__ would have computed.
  static bool is_opaque(const Value& value);
  // Returns whether the value is None only because __setstate__ was not run: the type does not allow None.
  static bool is_missing(const Value& value, const Type& type);
  // Returns a proxy for the attribute's value.
  static Value proxy_of(const AttributePlace& place, const TypePtr& type, NodeRef node,
                        TensorNames::Known known);
};

}  // namespace fxtrace::interpreter
