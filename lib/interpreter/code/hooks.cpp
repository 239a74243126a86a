#include "interpreter/code/hooks.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "operators/names/modules.h"

namespace fxtrace::internal::interpreter {

bool is_hook_of(const ClassType& type, const Function& function) {
  return function.qualified_name() == type.name() + "." + std::string(function.name()) &&
         type.find_method(function.name()) != &function;
}

const IrValue* hooked_module(const IrNode* node) {
  constexpr std::size_t kPreHook = 3;  // inputs: the function, the module, the module's inputs
  constexpr std::size_t kHook = 4;     // likewise, and the module's output
  if (node->kind() != Symbol::kPrimCallFunction) return nullptr;
  if (node->inputs().size() != kPreHook && node->inputs().size() != kHook) return nullptr;
  const auto* type = node->input(1)->type()->as<ClassType>();
  const auto* function = node->input(0)->type()->as<FunctionType>();
  if (type == nullptr || function == nullptr || !type->is_module()) return nullptr;
  return is_hook_of(*type, *function->function()) ? node->input(1) : nullptr;
}

namespace {

class HookSearch {
 public:
  HookSearch(const TorchScriptProgram& program, ModuleId module) : program_(program) { collect(module); }

  std::size_t run(Function* first) {
    follow(first);
    while (!pending_.empty()) {
      const IrGraph* graph = program_.archive().find_graph(*pending_.back());
      pending_.pop_back();
      if (graph != nullptr) look_at(*graph->block());
    }
    std::size_t count = 0;
    for (const auto& [type, hooks] : hooks_) {
      const auto is_called = [&hooks = hooks](const auto& hook) { return hooks.contains(hook.function); };
      count += types_[type] *
               static_cast<std::size_t>(std::ranges::count_if(type->forward_pre_hooks(), is_called) +
                                        std::ranges::count_if(type->forward_hooks(), is_called));
    }
    return count;
  }

 private:
  void collect(ModuleId module) {
    for (const ModuleId child : program_.modules()[module.index].children) {
      if (program_.modules()[child.index].alias_of) continue;
      ++types_[&class_of(*program_.object(child))];
      collect(child);
    }
  }

  void follow(Function* function) {
    if (function != nullptr && function->has_code() && seen_.insert(function).second)
      pending_.push_back(function);
  }

  void look_at(const IrBlock& block) {
    for (const IrNode* node : block.nodes()) {
      if (const IrValue* module = hooked_module(node))
        hooks_[module->type()->as<ClassType>()].insert(find_called(*node));
      if (node->kind() == Symbol::kPrimCallFunction || node->kind() == Symbol::kPrimCallMethod) call(*node);
      for (const IrBlock* inner : node->blocks()) look_at(*inner);
      if (node->kind() == Symbol::kPrimFork || node->kind() == Symbol::kPrimAwaitable)
        look_at(*node->subgraph()->block());
    }
  }

  // A call through an interface may run the method of any module that has one of that name.
  void call(const IrNode& node) {
    if (node.input(0)->type()->kind() != TypeKind::kInterface) return follow(find_called(node));
    for (const auto& [type, count] : types_) follow(type->find_method(node.text()));
  }

  const TorchScriptProgram& program_;
  std::map<const ClassType*, std::size_t> types_;  // type of submodules -> their number
  std::map<const ClassType*, std::set<const Function*>> hooks_;
  std::set<const Function*> seen_;
  std::vector<Function*> pending_;
};

}  // namespace

std::size_t count_hooks_inside(const TorchScriptProgram& program, ModuleId module,
                               const std::string& method) {
  const ClassType& type = class_of(*program.object(module));
  return HookSearch(program, module).run(method.empty() ? find_forward(type) : type.find_method(method));
}

// Returns the function of a hook that ran the operation; nothing when a forward did.  A forward runs below
// Module._slow_forward while torch.jit.trace records, a hook directly below what calls the module.
static const StackFrame* find_hook(const std::vector<StackFrame>& stack) {
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (!stack[i].file.ends_with("torch/nn/modules/module.py")) continue;
    const bool is_hook = stack[i].function == "inner" || stack[i].function == "_call_impl";
    return is_hook && i > 0 ? &stack[i - 1] : nullptr;
  }
  return nullptr;
}

std::optional<Diagnostic> hooks_in_callers(const TorchScriptProgram& program) {
  constexpr std::size_t kMaxNodes = 20'000, kShown = 3;
  std::set<const ClassType*> seen;
  std::map<std::string, std::set<std::string>> hooks;  // paths of callers, by the hook and its place
  std::size_t nodes = 0;
  for (std::uint32_t i = 0; i < program.modules().size(); ++i) {
    const ClassType& type = class_of(*program.object(ModuleId{i}));
    if (is_torch_module(program.modules()[i].type) || !seen.insert(&type).second) continue;
    for (const Function* method : type.methods()) {
      const IrGraph* graph = program.archive().find_graph(*method);
      if (graph == nullptr) continue;
      for (const IrNode* node : graph->nodes()) {
        if (node->is(Symbol::kPrimConstant) || node->is(Symbol::kPrimGetAttr)) continue;
        if (node->kind() == Symbol::kPrimCallMethod || ++nodes > kMaxNodes) continue;
        // The innermost frame takes no time; only functions other than forward may be hooks.
        const auto location = program.location(node->source_range(), "");
        if (location && location->function == "forward") continue;
        const std::vector<StackFrame> stack = program.stack(node);
        if (stack.empty() && nodes == 1) return std::nullopt;  // not an archive of torch.jit.trace
        if (const StackFrame* hook = find_hook(stack)) {
          const std::string& path = program.modules()[i].path;
          hooks[hook->function + " (" + hook->file + ":" + std::to_string(hook->line) + ")"].insert(
              path.empty() ? "the root" : path);
        }
      }
    }
  }
  if (hooks.empty()) return std::nullopt;
  std::string text;
  std::size_t count = 0;
  for (const auto& [hook, callers] : hooks) {
    if (++count > kShown) continue;
    text += (text.empty() ? "" : ", ") + hook + " in " + *callers.begin() +
            (callers.size() == 1 ? "" : " and " + std::to_string(callers.size() - 1) + " more");
  }
  if (count > kShown) text += " and " + std::to_string(count - kShown) + " more hooks";
  return Diagnostic{
      "torch.jit.trace wrote what hooks of modules do into the code of the callers, whose scope it has: {}",
      {std::move(text)}};
}

}  // namespace fxtrace::internal::interpreter
