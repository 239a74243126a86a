#include "interpreter/code/tensor_writes.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "interpreter/program/convert.h"
#include "operators/operators.h"
#include "opinfo/traits.h"

namespace fxtrace::internal::interpreter {

namespace {

constexpr int kMaxCalls = 10'000;

class Search {
 public:
  explicit Search(const TorchScriptArchive& archive) : archive_(archive) {}

  // Returns whether the function may write to a tensor.  `arguments` are values that are the same in every
  // call, and None for others.
  bool writes(Function& function, const std::vector<Value>& arguments) {
    if (!function.has_code() || ++calls_ > kMaxCalls) return true;
    const IrGraph* found = archive_.find_graph(function);
    if (found == nullptr) return true;
    const IrGraph& graph = *found;
    KnownValues known;
    for (std::size_t i = 0; i < arguments.size() && i < graph.inputs().size(); ++i) {
      known.emplace(graph.inputs()[i], arguments[i]);
    }
    return writes(*graph.block(), known);
  }

 private:
  using KnownValues = std::unordered_map<const IrValue*, Value>;

  bool writes(const IrBlock& block, KnownValues& known) {
    const auto nodes = block.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const IrNode* node) { return writes(*node, known); });
  }

  static Value value(const IrValue* value, const KnownValues& known) {
    const auto found = known.find(value);
    return found == known.end() ? Value() : found->second;
  }

  bool writes(const IrNode& node, KnownValues& known) {
    std::vector<Value> arguments;
    for (const IrValue* input : node.inputs()) arguments.push_back(value(input, known));
    switch (node.kind()) {
      case Symbol::kPrimConstant:
        known.emplace(node.output(), archive_.value_of(*node.constant()));
        return false;
      case Symbol::kPrimGetAttr:
        if (arguments[0].is_object()) {
          const auto& object = arguments[0].to_object();
          const auto slot = class_of(object).find_slot(node.text());
          if (slot && *slot < object.slots.size()) known.emplace(node.output(), object.slots[*slot]);
        }
        return false;
      case Symbol::kPrimCallMethod: {
        auto* method =
            arguments[0].is_object() ? class_of(arguments[0].to_object()).find_method(node.text()) : nullptr;
        return method == nullptr || writes(*method, arguments);
      }
      case Symbol::kPrimCallFunction: {
        const auto type = node.input(0)->type()->as<FunctionType>();
        if (!type) return true;
        return writes(*type->function(), {arguments.begin() + 1, arguments.end()});
      }
      case Symbol::kPrimIf:
        if (arguments[0].is_bool()) return writes(*node.blocks()[arguments[0].to_bool() ? 0 : 1], known);
        break;
      case Symbol::kPrimFork:
      case Symbol::kPrimAwaitable:
        return true;
      default:
        break;
    }
    return writes_argument(node) ||
           std::ranges::any_of(node.blocks(), [&](const IrBlock* block) { return writes(*block, known); });
  }

  static bool writes_argument(const IrNode& node) {
    const auto* schema = node.operator_schema();
    if (schema == nullptr) return false;  // nodes of the IR itself, which only build and unpack containers
    // A tensor that is put into a list or a dict is not written.
    const bool moves_elements = has_trait(find_operator(*schema), traits::kMovesElements);
    return std::ranges::any_of(schema->arguments, [&](const FunctionArgument& argument) {
      if (!argument.is_written) return false;
      const TypeKind kind = argument.type->kind();
      const bool is_container = kind == TypeKind::kList || kind == TypeKind::kDict;
      return may_hold_tensor(*argument.type) && !(is_container && moves_elements);
    });
  }

  const TorchScriptArchive& archive_;
  int calls_ = 0;
};

}  // namespace

bool may_write_tensors(const TorchScriptArchive& archive, const Ref<ObjectValue>& object, Function& method) {
  return Search(archive).writes(method, {Value(object)});
}

}  // namespace fxtrace::internal::interpreter
