#include "torchscript/tensor_writes.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "operators/operators.h"
#include "torchscript/convert.h"

namespace fxtrace {

namespace prim = c10::prim;
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

constexpr int kMaxCalls = 10'000;

class Search {
 public:
  // Values that are the same in every call, in the place of those that are not None.
  bool writes(torch::jit::Function& function, const std::vector<at::IValue>& arguments) {
    if (!function.isGraphFunction() || ++calls_ > kMaxCalls) return true;
    const auto graph = torch::jit::toGraphFunction(function).graph();
    Known known;
    for (std::size_t i = 0; i < arguments.size() && i < graph->inputs().size(); ++i) {
      known.emplace(graph->inputs()[i], arguments[i]);
    }
    return writes(*graph->block(), known);
  }

 private:
  using Known = std::unordered_map<const Value*, at::IValue>;

  bool writes(const Block& block, Known& known) {
    return std::ranges::any_of(block.nodes(), [&](const Node* node) { return writes(*node, known); });
  }

  static at::IValue value(const Value* value, const Known& known) {
    const auto found = known.find(value);
    return found == known.end() ? at::IValue() : found->second;
  }

  bool writes(const Node& node, Known& known) {
    std::vector<at::IValue> arguments;
    for (const Value* input : node.inputs()) arguments.push_back(value(input, known));
    switch (node.kind()) {
      case prim::Constant:
        if (const auto constant = torch::jit::toIValue(node.output()))
          known.emplace(node.output(), *constant);
        return false;
      case prim::GetAttr:
        if (arguments[0].isObject()) {
          const auto& object = arguments[0].toObjectRef();
          const auto slot = object.type()->findAttributeSlot(node.s(c10::attr::name));
          if (slot && *slot < object.slots().size()) known.emplace(node.output(), object.getSlot(*slot));
        }
        return false;
      case prim::CallMethod: {
        auto* method = arguments[0].isObject()
                           ? arguments[0].toObjectRef().type()->findMethod(node.s(c10::attr::name))
                           : nullptr;
        return method == nullptr || writes(*method, arguments);
      }
      case prim::CallFunction: {
        const auto type = node.input(0)->type()->cast<c10::FunctionType>();
        if (!type) return true;
        return writes(*type->function(), {arguments.begin() + 1, arguments.end()});
      }
      case prim::If:
        if (arguments[0].isBool()) return writes(*node.blocks()[arguments[0].toBool() ? 0 : 1], known);
        break;
      case prim::fork:
      case prim::awaitable:
        return true;
      default:
        break;
    }
    return writes_argument(node) ||
           std::ranges::any_of(node.blocks(), [&](const Block* block) { return writes(*block, known); });
  }

  static bool writes_argument(const Node& node) {
    const auto* schema = node.maybeSchema();
    if (schema == nullptr) return false;  // forms of the IR, which only make and take apart containers
    // What is put into a list or a dict stays as it is.
    const bool moves_elements = has_trait(find_operator(*schema), traits::kMovesElements);
    return std::ranges::any_of(schema->arguments(), [&](const c10::Argument& argument) {
      if (argument.alias_info() == nullptr || !argument.alias_info()->isWrite()) return false;
      const c10::TypeKind kind = argument.type()->kind();
      const bool is_container = kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType;
      return may_hold_tensor(*argument.type()) && !(is_container && moves_elements);
    });
  }

  int calls_ = 0;
};

}  // namespace

bool may_write_tensors(const c10::intrusive_ptr<c10::ivalue::Object>& object, torch::jit::Function& method) {
  return Search().writes(method, {at::IValue(object)});
}

}  // namespace fxtrace
