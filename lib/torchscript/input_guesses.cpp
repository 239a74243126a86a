#include "torchscript/input_guesses.h"

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "families/family.h"
#include "support/saturated.h"
#include "torchscript/convert.h"

namespace fxtrace::torchscript {
namespace {

constexpr int kMaxDepth = 50;  // of calls
constexpr std::size_t kMaxNodes = 100'000;

// What is told of a value: an object, parameter or constant, or the inputs that it was made of.
struct Told {
  Value value;  // None: nothing
  std::set<std::size_t> inputs;
};

const OperatorFacts& facts_of(const IrNode& node) {
  std::string_view name = to_text(node.kind());
  if (name.ends_with('_')) name.remove_suffix(1);
  return fxtrace::facts_of(name);
}

class Guesser {
 public:
  Guesser(const TorchScriptArchive& archive, std::size_t inputs) : archive_(archive), specs_(inputs) {}

  Told run(const IrGraph& graph, const std::vector<Told>& arguments, int depth) {
    const auto& formals = graph.inputs();
    for (std::size_t i = 0; i < formals.size(); ++i) {
      told_[formals[i]] = i < arguments.size() ? arguments[i] : Told{};
    }
    run(*graph.block(), depth);
    return graph.outputs().empty() ? Told{} : told_[graph.outputs()[0]];
  }

  std::vector<std::vector<std::string>> take() { return std::move(specs_); }

 private:
  void run(const IrBlock& block, int depth) {
    for (const IrNode* node : block.nodes()) {
      if (++nodes_ > kMaxNodes) return;
      run(*node, depth);
    }
  }

  void run(const IrNode& node, int depth) {
    switch (node.kind()) {
      case Symbol::kPrimConstant:
        told_[node.output()].value = archive_.value_of(*node.constant());
        return;
      case Symbol::kPrimGetAttr: {
        const Value holder = told_[node.input(0)].value;
        if (!holder.is_object()) return;
        const auto slot = class_of(holder.to_object()).find_slot(node.text());
        if (slot && *slot < holder.to_object().slots.size()) {
          told_[node.output()].value = holder.to_object().slots[*slot];
        }
        return;
      }
      case Symbol::kPrimListConstruct: {  // of parameters: the first one
        Told all;
        for (const IrValue* item : node.inputs()) {
          const Told& told = told_[item];
          if (all.value.is_none()) all.value = told.value;
          all.inputs.insert(told.inputs.begin(), told.inputs.end());
        }
        told_[node.output()] = std::move(all);
        return;
      }
      case Symbol::kPrimTupleConstruct:  // the first element, as with tuples that are taken apart
      case Symbol::kPrimTupleIndex:
      case Symbol::kPrimTupleUnpack:
      case Symbol::kPrimUncheckedCast:
        if (!node.inputs().empty() && !node.outputs().empty())
          told_[node.output(0)] = Told(told_[node.input(0)]);
        return;
      case Symbol::kPrimCallMethod:
      case Symbol::kPrimCallFunction:
        return call(node, depth);
      case Symbol::kPrimIf:
      case Symbol::kPrimLoop: {
        for (const IrBlock* block : node.blocks()) run(*block, depth);
        if (node.kind() == Symbol::kPrimLoop) return;
        for (std::size_t i = 0; i < node.outputs().size(); ++i) {
          for (const IrBlock* block : node.blocks()) {
            const Told result = told_[block->outputs()[i]];
            if (!result.inputs.empty()) told_[node.outputs()[i]] = result;
          }
        }
        return;
      }
      default:
        use(node);
    }
  }

  void call(const IrNode& node, int depth) {
    std::vector<Told> arguments;
    Function* function = nullptr;
    if (node.kind() == Symbol::kPrimCallMethod) {
      const Told receiver = told_[node.input(0)];
      if (!receiver.value.is_object()) return;
      function = class_of(receiver.value.to_object()).find_method(node.text());
      arguments.push_back(receiver);
    } else if (const auto type = node.input(0)->type()->as<FunctionType>()) {
      function = type->function();
    }
    bool takes_input = false;
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      arguments.push_back(told_[node.input(i)]);
      takes_input = takes_input || !arguments.back().inputs.empty();
    }
    if (function == nullptr || !function->has_code() || !takes_input || depth >= kMaxDepth) return;
    const IrGraph* graph = archive_.find_graph(*function);
    if (graph == nullptr) return;
    const Told result = run(*graph, arguments, depth + 1);
    if (!result.inputs.empty()) told_[node.output()] = result;
  }

  // An operator: what it asks of the inputs.
  void use(const IrNode& node) {
    const OperatorFacts& facts = facts_of(node);
    const bool takes_indices = facts.example.form == ExampleForm::kIndices;  // (weight, indices)
    const std::size_t first = takes_indices ? 1 : 0;
    if (node.inputs().size() <= first) return;
    const Told taken = told_[node.input(first)];
    if (taken.inputs.empty()) return;
    if ((facts.traits & traits::kLikeFirst) != 0 && node.outputs().size() == 1) {
      told_[node.output()] = taken;
      return;
    }
    for (const std::size_t input : taken.inputs) {
      if (specs_[input].empty()) specs_[input] = specs_of(node, facts.example);
    }
  }

  std::vector<std::string> specs_of(const IrNode& node, const Example& example) {
    const auto told = [&](std::size_t index) {
      return index > 0 && index < node.inputs().size() ? told_[node.input(index)].value : Value();
    };
    if (example.form == ExampleForm::kIndices) return {"int64[N,T]"};
    const Value value = told(example.weight);
    if (!value.is_tensor()) return {};
    const TensorValue& weight = value.to_tensor();
    const auto typed = [&](const std::string& sizes) { return dtype_name(weight.dtype) + "[" + sizes + "]"; };
    const auto of_last = [&](std::int64_t size) -> std::vector<std::string> {
      const std::string last = std::to_string(size);
      return {typed("N," + last), typed("N,T," + last)};
    };
    switch (example.form) {
      case ExampleForm::kImages: {
        static constexpr const char* kPlaces[] = {",L", ",H,W", ",D,H,W"};
        const std::int64_t places = weight.dim() - 2;
        if (places < 1 || places > 3) return {};
        const Value groups = told(example.groups), transposed = told(example.transposed);
        const bool is_transposed = transposed.is_bool() && transposed.to_bool();
        std::int64_t channels = weight.sizes.at(is_transposed ? 0 : 1);
        if (!is_transposed && groups.is_int() && groups.to_int() > 0)
          multiply_saturated(channels, groups.to_int());
        return {typed("N," + std::to_string(channels) + kPlaces[places - 1])};
      }
      case ExampleForm::kLast:
        return weight.dim() == 2 ? of_last(weight.sizes.at(1)) : std::vector<std::string>{};
      case ExampleForm::kRows:
        return weight.dim() == 1 || weight.dim() == 2 ? of_last(weight.sizes.at(0))
                                                      : std::vector<std::string>{};
      case ExampleForm::kChannels: {
        if (weight.dim() != 1) return {};
        const std::string channels = "N," + std::to_string(weight.sizes.at(0));
        return {typed(channels + ",H,W"), typed(channels)};
      }
      case ExampleForm::kIndices:
      case ExampleForm::kNone:
        break;
    }
    return {};
  }

  const TorchScriptArchive& archive_;
  std::unordered_map<const IrValue*, Told> told_;
  std::vector<std::vector<std::string>> specs_;
  std::size_t nodes_ = 0;
};

// The first convolution's weight of the module, in the order of registration; undefined when there is none.
TensorRef first_kernel(const ObjectValue& module) {
  std::vector<const ObjectValue*> pending{&module};
  std::unordered_set<const ObjectValue*> seen;
  while (!pending.empty()) {
    const ObjectValue* object = pending.back();
    pending.pop_back();
    if (!seen.insert(object).second) continue;
    std::vector<const ObjectValue*> children;
    for (std::size_t i = 0; i < object->slots.size(); ++i) {
      const Value& value = object->slots[i];
      if (value.is_tensor() && value.to_tensor().dim() == 4) return TensorRef(&value.to_tensor());
      const auto* type = class_of(*object).attributes()[i].type->as<ClassType>();
      if (type && type->is_module() && value.is_object()) children.push_back(&value.to_object());
    }
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
  return {};
}

}  // namespace

std::vector<InputGuess> guess_inputs(const TorchScriptArchive& archive, const Ref<ObjectValue>& self,
                                     Function& method) {
  std::vector<InputGuess> guesses;
  std::vector<Told> arguments;
  arguments.push_back({Value(self), {}});
  const auto& formals = method.schema().arguments;
  for (std::size_t i = 1; i < formals.size(); ++i) {
    guesses.push_back(
        {formals[i].name, type_name(*formals[i].type), formals[i].default_value.has_value(), {}});
    arguments.push_back({{}, {i - 1}});
  }
  const IrGraph* graph = archive.find_graph(method);
  if (graph == nullptr) return guesses;
  Guesser guesser(archive, guesses.size());
  guesser.run(*graph, arguments, 0);
  auto specs = guesser.take();
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    guesses[i].specs = std::move(specs[i]);
    if (guesses[i].type != "List[Tensor]" || !guesses[i].specs.empty()) continue;
    // Detectors take a list of images.
    if (const TensorRef kernel = first_kernel(*self)) {
      guesses[i].specs = {dtype_name(kernel->dtype) + "[" + std::to_string(kernel->sizes[1]) + ",H,W]"};
    }
  }
  return guesses;
}

}  // namespace fxtrace::torchscript
