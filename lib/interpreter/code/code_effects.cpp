#include "interpreter/code/code_effects.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interpreter/program/convert.h"
#include "interpreter/program/provided_operators.h"
#include "operators/operators.h"
#include "opinfo/traits.h"

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

namespace {

class WriteSearch {
 public:
  explicit WriteSearch(const TorchScriptArchive& archive) : archive_(archive) {}

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
  return WriteSearch(archive).writes(method, {Value(object)});
}

namespace {

// Returns whether the node is of a kind without a schema that only computes its results.
bool is_plain_form(const IrNode& node) {
  switch (node.kind()) {
    case Symbol::kPrimConstant:
    case Symbol::kPrimDictConstruct:
    case Symbol::kPrimGetAttr:
    case Symbol::kPrimIf:
    case Symbol::kPrimIsinstance:
    case Symbol::kPrimListConstruct:
    case Symbol::kPrimListUnpack:
    case Symbol::kPrimTupleConstruct:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_pure(const IrNode& node) {
  const auto* schema = node.operator_schema();
  const bool pure = schema == nullptr ? is_plain_form(node) : internal::is_pure(find_operator(*schema));
  return pure && std::ranges::all_of(node.blocks(), [](const IrBlock* block) { return is_pure(*block); });
}

bool is_pure(const IrBlock& block) {
  return std::all_of(block.nodes().begin(), block.nodes().end(),
                     [](const IrNode* node) { return is_pure(*node); });
}

}  // namespace fxtrace::internal::interpreter
