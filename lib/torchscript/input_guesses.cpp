#include "torchscript/input_guesses.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "torchscript/convert.h"

namespace fxtrace {
namespace {

namespace prim = c10::prim;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

constexpr int kMaxDepth = 50;  // of calls
constexpr std::size_t kMaxNodes = 100'000;

// What is told of a value: an object, parameter or constant, or the inputs that it was made of.
struct Told {
  at::IValue value;  // None: nothing
  std::set<std::size_t> inputs;
};

// Operators whose result has the rank, the dtype and mostly the sizes of their first argument.
bool keeps_shape(const std::string& name) {
  static const std::unordered_set<std::string> names = {
      "aten::contiguous", "aten::clone",   "aten::detach", "aten::add",  "aten::sub",  "aten::mul",
      "aten::div",        "aten::relu",    "aten::gelu",   "aten::pad",  "aten::abs",  "aten::dropout",
      "aten::neg_",       "aten::add_",    "aten::sub_",   "aten::mul_", "aten::div_", "aten::neg",
      "aten::clamp",      "aten::type_as", "aten::cat"};
  return names.contains(name);
}

class Guesser {
 public:
  explicit Guesser(std::size_t inputs) : specs_(inputs) {}

  Told run(const torch::jit::Graph& graph, const std::vector<Told>& arguments, int depth) {
    const auto formals = graph.inputs();
    for (std::size_t i = 0; i < formals.size(); ++i) {
      told_[formals[i]] = i < arguments.size() ? arguments[i] : Told{};
    }
    run(*graph.block(), depth);
    return graph.outputs().empty() ? Told{} : told_[graph.outputs()[0]];
  }

  std::vector<std::vector<std::string>> take() { return std::move(specs_); }

 private:
  void run(const Block& block, int depth) {
    for (const Node* node : block.nodes()) {
      if (++nodes_ > kMaxNodes) return;
      run(*node, depth);
    }
  }

  void run(const Node& node, int depth) {
    switch (node.kind()) {
      case prim::Constant:
        if (auto constant = torch::jit::toIValue(node.output())) told_[node.output()].value = *constant;
        return;
      case prim::GetAttr: {
        const at::IValue holder = told_[node.input(0)].value;
        if (!holder.isObject()) return;
        const auto slot = holder.toObjectRef().type()->findAttributeSlot(node.s(c10::attr::name));
        if (slot && *slot < holder.toObjectRef().slots().size()) {
          told_[node.output()].value = holder.toObjectRef().getSlot(*slot);
        }
        return;
      }
      case prim::ListConstruct: {  // of parameters: the first one
        Told all;
        for (const Value* item : node.inputs()) {
          const Told& told = told_[item];
          if (all.value.isNone()) all.value = told.value;
          all.inputs.insert(told.inputs.begin(), told.inputs.end());
        }
        told_[node.output()] = std::move(all);
        return;
      }
      case prim::TupleConstruct:  // the first element, as with tuples that are taken apart
      case prim::TupleIndex:
      case prim::TupleUnpack:
      case prim::unchecked_cast:
        if (!node.inputs().empty() && !node.outputs().empty())
          told_[node.output(0)] = Told(told_[node.input(0)]);
        return;
      case prim::CallMethod:
      case prim::CallFunction:
        return call(node, depth);
      case prim::If:
      case prim::Loop: {
        for (const Block* block : node.blocks()) run(*block, depth);
        if (node.kind() == prim::Loop) return;
        for (std::size_t i = 0; i < node.outputs().size(); ++i) {
          for (const Block* block : node.blocks()) {
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

  void call(const Node& node, int depth) {
    std::vector<Told> arguments;
    torch::jit::Function* function = nullptr;
    if (node.kind() == prim::CallMethod) {
      const Told receiver = told_[node.input(0)];
      if (!receiver.value.isObject()) return;
      function = receiver.value.toObjectRef().type()->findMethod(node.s(c10::attr::name));
      arguments.push_back(receiver);
    } else if (const auto type = node.input(0)->type()->cast<c10::FunctionType>()) {
      function = type->function();
    }
    bool takes_input = false;
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      arguments.push_back(told_[node.input(i)]);
      takes_input = takes_input || !arguments.back().inputs.empty();
    }
    if (function == nullptr || !function->isGraphFunction() || !takes_input || depth >= kMaxDepth) return;
    const Told result = run(*torch::jit::toGraphFunction(*function).graph(), arguments, depth + 1);
    if (!result.inputs.empty()) told_[node.output()] = result;
  }

  // An operator: what it asks of the inputs.
  void use(const Node& node) {
    const std::string name = node.kind().toQualString();
    const std::size_t first = name == "aten::embedding" ? 1 : 0;  // (weight, indices)
    if (node.inputs().size() <= first) return;
    const Told taken = told_[node.input(first)];
    if (taken.inputs.empty()) return;
    if (keeps_shape(name) && node.outputs().size() == 1) {
      told_[node.output()] = taken;
      return;
    }
    for (const std::size_t input : taken.inputs) {
      if (specs_[input].empty()) specs_[input] = specs_of(node, name);
    }
  }

  std::vector<std::string> specs_of(const Node& node, const std::string& name) {
    const auto tensor = [&](std::size_t index) {
      const at::IValue value = index < node.inputs().size() ? told_[node.input(index)].value : at::IValue();
      return value.isTensor() && value.toTensor().defined() ? value.toTensor() : at::Tensor();
    };
    const auto integer = [&](std::size_t index) {
      const at::IValue value = index < node.inputs().size() ? told_[node.input(index)].value : at::IValue();
      return value.isInt() ? value.toInt() : 1;
    };
    const auto typed = [](const at::Tensor& weight, const std::string& sizes) {
      return dtype_name(weight.scalar_type()) + "[" + sizes + "]";
    };
    const auto of_last = [&](const at::Tensor& weight, std::int64_t size) -> std::vector<std::string> {
      const std::string last = std::to_string(size);
      return {typed(weight, "N," + last), typed(weight, "N,T," + last)};
    };
    if (name == "aten::embedding") return {"int64[N,T]"};
    const std::size_t weight_index = name == "aten::layer_norm" || name == "aten::group_norm" ? 2
                                     : name == "aten::lstm" || name == "aten::gru"            ? 2
                                                                                              : 1;
    const at::Tensor weight = tensor(weight_index);
    if (!weight.defined()) return {};
    if (name == "aten::conv1d" || name == "aten::conv2d" || name == "aten::conv3d" ||
        name == "aten::_convolution" || name == "aten::convolution") {
      // (input, weight, bias, stride, padding, dilation, [transposed, output_padding,] groups)
      const bool general = name.ends_with("convolution");
      const std::int64_t groups = integer(general ? 8 : 6);
      static constexpr const char* kPlaces[] = {",L", ",H,W", ",D,H,W"};
      const std::int64_t places = weight.dim() - 2;
      if (places < 1 || places > 3) return {};
      const at::IValue transposed = general ? told_[node.input(6)].value : at::IValue(false);
      const bool is_transposed = transposed.isBool() && transposed.toBool();
      const std::int64_t channels = is_transposed ? weight.size(0) : weight.size(1) * groups;
      return {typed(weight, "N," + std::to_string(channels) + kPlaces[places - 1])};
    }
    if (name == "aten::linear" && weight.dim() == 2) return of_last(weight, weight.size(1));
    if (name == "aten::matmul" && weight.dim() == 2) return of_last(weight, weight.size(0));
    if (name == "aten::layer_norm" && weight.dim() == 1) return of_last(weight, weight.size(0));
    if ((name == "aten::lstm" || name == "aten::gru") && weight.dim() == 2) {
      return {typed(weight, "N,T," + std::to_string(weight.size(1)))};
    }
    if ((name == "aten::batch_norm" || name == "aten::group_norm") && weight.dim() == 1) {
      const std::string channels = "N," + std::to_string(weight.size(0));
      return {typed(weight, channels + ",H,W"), typed(weight, channels)};
    }
    return {};
  }

  std::unordered_map<const Value*, Told> told_;
  std::vector<std::vector<std::string>> specs_;
  std::size_t nodes_ = 0;
};

// The first convolution's weight of the module, in the order of registration; undefined when there is none.
at::Tensor first_kernel(const c10::ivalue::Object& module) {
  std::vector<const c10::ivalue::Object*> pending{&module};
  std::unordered_set<const c10::ivalue::Object*> seen;
  while (!pending.empty()) {
    const c10::ivalue::Object* object = pending.back();
    pending.pop_back();
    if (!seen.insert(object).second) continue;
    std::vector<const c10::ivalue::Object*> children;
    for (std::size_t i = 0; i < object->slots().size(); ++i) {
      const at::IValue& value = object->slots()[i];
      if (value.isTensor() && value.toTensor().defined() && value.toTensor().dim() == 4)
        return value.toTensor();
      const auto type = object->type()->getAttribute(i)->cast<c10::ClassType>();
      if (type && type->is_module() && value.isObject()) children.push_back(&value.toObjectRef());
    }
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
  return {};
}

}  // namespace

std::vector<InputGuess> guess_inputs(const c10::intrusive_ptr<c10::ivalue::Object>& self,
                                     torch::jit::Function& method) {
  std::vector<InputGuess> guesses;
  std::vector<Told> arguments{{self, {}}};
  const auto& formals = method.getSchema().arguments();
  for (std::size_t i = 1; i < formals.size(); ++i) {
    guesses.push_back(
        {formals[i].name(), type_name(*formals[i].real_type()), formals[i].default_value().has_value(), {}});
    arguments.push_back({{}, {i - 1}});
  }
  if (!method.isGraphFunction()) return guesses;
  Guesser guesser(guesses.size());
  guesser.run(*torch::jit::toGraphFunction(method).graph(), arguments, 0);
  auto specs = guesser.take();
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    guesses[i].specs = std::move(specs[i]);
    if (guesses[i].type != "List[Tensor]" || !guesses[i].specs.empty()) continue;
    // Detectors take a list of images.
    if (const at::Tensor kernel = first_kernel(*self); kernel.defined()) {
      guesses[i].specs = {dtype_name(kernel.scalar_type()) + "[" + std::to_string(kernel.size(1)) + ",H,W]"};
    }
  }
  return guesses;
}

}  // namespace fxtrace
