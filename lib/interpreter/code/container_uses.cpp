#include "interpreter/code/container_uses.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "interpreter/program/convert.h"
#include "operators/operators.h"

namespace fxtrace::internal::interpreter {

bool may_hold_container(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kList:
    case TypeKind::kDict:
    case TypeKind::kAny:
    case TypeKind::kVar:
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kAnyList:
    case TypeKind::kAnyTuple:
      return true;
    default:
      return std::ranges::any_of(type.contained_types(),
                                 [](const auto& inner) { return may_hold_container(*inner); });
  }
}

namespace {

constexpr int kMaxCalls = 10'000;

constexpr ContainerUse kAnything{true, true};

bool is_container(const Type& type) {
  return type.kind() == TypeKind::kList || type.kind() == TypeKind::kDict;
}

// Returns whether what the list or dict holds may be, or hold, another one.
bool has_container_elements(const Type& type) {
  return !is_container(type) || std::ranges::any_of(type.contained_types(), [](const auto& inner) {
    return may_hold_container(*inner);
  });
}

class Search {
 public:
  explicit Search(const TorchScriptArchive& archive) : archive_(archive) {}

  ContainerUse use(Function& function, const std::vector<bool>& given) {
    if (std::ranges::find(given, true) == given.end()) return {};
    const auto [known, is_new] = known_.try_emplace({&function, given}, kAnything);  // when it calls itself
    if (!is_new) return known->second;
    const IrGraph* graph =
        function.has_code() && ++calls_ < kMaxCalls ? archive_.find_graph(function) : nullptr;
    if (graph == nullptr) return kAnything;
    return known_[{&function, given}] = Body(*this, *graph, given).use();
  }

 private:
  // The values of one function that may be, or hold, containers of the caller.
  class Body {
   public:
    Body(Search& search, const IrGraph& graph, const std::vector<bool>& given) : search_(search) {
      for (std::size_t i = 0; i < given.size() && i < graph.inputs().size(); ++i) {
        if (given[i]) mark(graph.inputs()[i]);
      }
      do {
        grew_ = false;
        visit(*graph.block());
      } while (grew_ && !use_.keeps);
      use_.gives = std::ranges::any_of(graph.outputs(), [&](const IrValue* output) { return has(output); });
      if (use_.keeps) use_.gives = true;
    }
    ContainerUse use() const { return use_; }

   private:
    bool has(const IrValue* value) const { return marked_.contains(value); }
    void mark(const IrValue* value) {
      if (may_hold_container(*value->type())) grew_ = marked_.insert(value).second || grew_;
    }
    void mark_if(bool given, const IrValue* value) {
      if (given) mark(value);
    }

    void visit(const IrBlock& block) {
      for (const IrNode* node : block.nodes()) visit(*node);
    }

    void visit(const IrNode& node) {
      const auto& inputs = node.inputs();
      const auto& outputs = node.outputs();
      switch (node.kind()) {
        case Symbol::kPrimIf:
          for (const IrBlock* block : node.blocks()) {
            visit(*block);
            for (std::size_t i = 0; i < outputs.size(); ++i) mark_if(has(block->outputs()[i]), outputs[i]);
          }
          return;
        case Symbol::kPrimLoop: {  // the length and a condition stand before what is carried
          const IrBlock& block = *node.blocks()[0];
          visit(block);
          for (std::size_t i = 0; i < outputs.size(); ++i) {
            const bool given = has(inputs[i + 2]) || has(block.outputs()[i + 1]);
            mark_if(given, block.inputs()[i + 1]);
            mark_if(given, outputs[i]);
          }
          return;
        }
        default:
          break;
      }
      if (std::ranges::none_of(inputs, [&](const IrValue* input) { return has(input); })) return;
      switch (node.kind()) {
        case Symbol::kPrimSetAttr:
          use_.keeps = use_.keeps || has(inputs[1]);
          return;
        case Symbol::kPrimCallMethod:
        case Symbol::kPrimCallFunction:
          return call(node);
        default:
          break;
      }
      if (node.kind() == Symbol::kPrimFork || node.kind() == Symbol::kPrimAwaitable) {  // run later
        use_.keeps = true;
      } else if (const FunctionSchema* schema = node.operator_schema()) {
        call_operator(*schema, node);
      } else {  // nodes of the IR itself, which build and unpack containers, and read attributes
        for (const IrValue* output : outputs) mark(output);
      }
    }

    void call(const IrNode& node) {
      Function* function = find_called(node);
      std::vector<bool> given;
      for (std::size_t i = node.is(Symbol::kPrimCallFunction) ? 1 : 0; i < node.inputs().size(); ++i)
        given.push_back(has(node.inputs()[i]));
      const ContainerUse use = function == nullptr ? kAnything : search_.use(*function, given);
      use_.keeps = use_.keeps || use.keeps;
      for (const IrValue* output : node.outputs()) mark_if(use.gives, output);
    }

    void call_operator(const FunctionSchema& schema, const IrNode& node) {
      const bool is_known = schema.row != nullptr;
      bool gives = !is_known;
      for (std::size_t i = 0; i < node.inputs().size(); ++i) {
        if (!has(node.inputs()[i])) continue;
        const bool is_formal_container =
            i < schema.arguments.size() && is_container(*schema.arguments[i].type);
        // What an operator takes as a list or dict it reads element by element.
        const bool hands_on = !is_formal_container || has_container_elements(*node.inputs()[i]->type());
        use_.keeps = use_.keeps || schema.is_written(i) || (hands_on && schema.writes());
        gives = gives || hands_on;
      }
      for (const IrValue* output : node.outputs()) mark_if(gives, output);
    }

    Search& search_;
    std::unordered_set<const IrValue*> marked_;
    ContainerUse use_;
    bool grew_ = false;
  };

  const TorchScriptArchive& archive_;
  std::map<std::pair<const Function*, std::vector<bool>>, ContainerUse> known_;
  int calls_ = 0;
};

}  // namespace

ContainerUse container_use(const TorchScriptArchive& archive, Function& function,
                           const std::vector<bool>& given) {
  return Search(archive).use(function, given);
}

}  // namespace fxtrace::internal::interpreter
