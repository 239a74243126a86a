#include "tests/forms/ir_check.h"

#include <unordered_set>

namespace fxtrace::internal::torchscript {
namespace {

class Check {
 public:
  std::optional<std::string> run(const IrGraph& graph) {
    visit(*graph.block());
    if (graph.outputs().size() != 1) complain("a function has another number of results than one", nullptr);
    return flaw_;
  }

 private:
  void complain(const std::string& what, const IrNode* node) {
    if (flaw_) return;
    flaw_ = what;
    if (node != nullptr) *flaw_ += " (" + std::string(to_text(node->kind())) + ")";
  }

  void visit(const IrBlock& block) {
    std::vector<const IrValue*> made;
    const auto make = [&](const IrNode& node) {
      for (std::size_t i = 0; i < node.outputs().size(); ++i) {
        const IrValue* output = node.outputs()[i];
        if (output->node() != &node || output->offset() != i) complain("a result is not its node's", &node);
        if (output->type() == nullptr) complain("a value has no type", &node);
        visible_.insert(output);
        made.push_back(output);
      }
    };
    make(*block.param_node());
    for (const IrNode* node : block.nodes()) {
      if (node->owning_block() != &block) complain("a node stands in another block than it says", node);
      check_inputs(*node);
      check_kind(*node);
      for (const IrBlock* inner : node->blocks()) visit(*inner);
      make(*node);
    }
    check_inputs(*block.return_node());
    for (const IrValue* value : made) visible_.erase(value);
  }

  void check_inputs(const IrNode& node) {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const IrValue* input = node.inputs()[i];
      if (!visible_.contains(input)) complain("a value is used where it is not made yet", &node);
      bool is_known = false;
      for (const IrUse& use : input->uses()) {
        is_known = is_known || (use.user == &node && use.offset == i);
        if (is_known) break;
      }
      if (!is_known) complain("a use is not recorded", &node);
    }
  }

  void check_kind(const IrNode& node) {
    switch (node.kind()) {
      case Symbol::kPrimIf:
        if (node.blocks().size() != 2 || node.inputs().size() != 1 ||
            node.input()->type()->kind() != TypeKind::kBool)
          complain("a branch is of another form", &node);
        for (const IrBlock* block : node.blocks()) {
          if (block->outputs().size() != node.outputs().size()) complain("a branch has other results", &node);
        }
        return;
      case Symbol::kPrimLoop: {
        if (node.blocks().size() != 1) return complain("a loop is of another form", &node);
        const IrBlock& body = *node.blocks()[0];
        const std::size_t carried = node.outputs().size();
        if (node.inputs().size() != carried + 2 || body.inputs().size() != carried + 1 ||
            body.outputs().size() != carried + 1)
          complain("a loop carries other values", &node);
        return;
      }
      case Symbol::kPrimLoad:
      case Symbol::kPrimStore:
        return complain("a statement is left", &node);
      case Symbol::kPrimFork:
      case Symbol::kPrimAwaitable: {
        const auto* attribute = node.find_attribute(Symbol::kAttrSubgraph);
        if (attribute == nullptr) return complain("there is no body", &node);
        const IrGraph& body = *node.subgraph();
        if (body.inputs().size() != node.inputs().size()) complain("a body has other parameters", &node);
        if (auto inner = Check().run(body)) complain(*inner, &node);
        return;
      }
      default:
        return;
    }
  }

  std::unordered_set<const IrValue*> visible_;
  std::optional<std::string> flaw_;
};

}  // namespace

std::optional<std::string> find_flaw(const IrGraph& graph) { return Check().run(graph); }

}  // namespace fxtrace::internal::torchscript
