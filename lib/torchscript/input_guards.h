// Guards for what --input and --dim say about inputs: an answer that follows from them is recorded as a
// guard.
#pragma once

#include <array>
#include <string_view>
#include <unordered_set>

#include "families/family.h"
#include "torchscript/conditions.h"

namespace fxtrace::torchscript {

class InputGuards {
 public:
  InputGuards(Context& context, Frames& frames, Recording& recording, Conditions& conditions)
      : context_(context), frames_(frames), recording_(recording), conditions_(conditions) {}

  // Adds the guards for an answer that the operator `question` at `node` gives about the values.
  void rely_on(const IrNode* node, std::string_view question, const Values& values,
               const AbstractValue& answer);
  // Forgets all nodes, after a rollback whose ids may be reused.
  void forget_nodes();

 private:
  void rely_on_tensor(const IrNode* node, std::string_view question, const Values& values,
                      const Proxy& tensor);
  void assume_inputs_of(const NodeRef& value, Facet facet, const IrNode* node);
  void follow_number(const NodeRef& at, std::vector<NodeRef>& pending, const IrNode* node);
  void assume_all_inputs(Facet facet, const IrNode* node);
  void assume_facet(NodeId input, Facet facet, const IrNode* node);
  void assume_fact(NodeId input, Facet facet, std::int64_t index, const IrNode* node);

  Context& context_;
  Frames& frames_;
  Recording& recording_;
  Conditions& conditions_;
  // By facet: the values whose inputs are guarded already.
  std::array<std::unordered_set<std::uint64_t>, 6> relied_on_;
};

}  // namespace fxtrace::torchscript
