#include "interpreter/code/module_calls.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interpreter/program/names.h"
#include "operators/names/modules.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr std::size_t kMaxCodeNodes = 1'000'000;  // nodes of code that are looked at in all

class CallFinder {
 public:
  CallFinder(const TorchScriptProgram& program, const std::vector<ModuleId>& modules)
      : program_(program), wanted_(modules.begin(), modules.end()) {}

  std::vector<ModuleCall> run(const std::string& method) {
    for (const ModuleId caller : around()) {
      caller_ = caller;
      const ClassType& type = class_of(*program_.object(caller));
      // The method that is traced comes first, then those that it calls, then the others.
      Function* run = find_forward(type);
      if (caller.index == 0 && type.find_method(method) != nullptr) run = type.find_method(method);
      std::unordered_set<const Function*> seen;
      if (run != nullptr) {
        own_calls_.assign(1, run);
        while (!own_calls_.empty()) {
          Function& next = *own_calls_.front();
          own_calls_.pop_front();
          if (seen.insert(&next).second) look_at(next, true);
        }
      }
      for (Function* other : type.methods()) {
        if (!other->name().starts_with("__") && seen.insert(other).second) look_at(*other, false);
      }
      own_calls_.clear();
    }
    return std::move(calls_);
  }

 private:
  // The context of a node in its code.
  struct Around {
    const IrNode* node = nullptr;
    bool is_in_loop = false;
  };

  // Returns the modules around the wanted ones, under all of their names, outer modules first.
  std::set<ModuleId> around() const {
    const auto& modules = program_.modules();
    std::set<ModuleId> around;
    std::vector<ModuleId> pending(wanted_.begin(), wanted_.end());
    std::unordered_map<std::uint32_t, std::vector<ModuleId>> other_names;
    for (std::uint32_t i = 0; i < modules.size(); ++i) {
      if (modules[i].alias_of) other_names[modules[i].alias_of->index].push_back(ModuleId{i});
    }
    while (!pending.empty()) {
      const ModuleId module = pending.back();
      pending.pop_back();
      if (const auto others = other_names.extract(module.index); !others.empty())
        pending.insert(pending.end(), others.mapped().begin(), others.mapped().end());
      const auto parent = modules[module.index].parent;
      if (parent && around.insert(*parent).second) pending.push_back(*parent);
    }
    return around;
  }

  void look_at(Function& function, bool is_run) {
    const IrGraph* graph = program_.archive().find_graph(function);
    if (graph == nullptr || graph->inputs().empty()) return;
    function_ = std::string(function.name());
    is_run_ = is_run;
    objects_.clear();
    objects_.emplace(graph->inputs()[0], program_.object(caller_).get());
    look_at(*graph->block(), {});
  }

  void look_at(const IrBlock& block, Around around) {
    for (const IrNode* node : block.nodes()) {
      if (++nodes_ > kMaxCodeNodes) return;
      if (node->is(Symbol::kPrimGetAttr)) {
        get_attribute(*node);
      } else if (node->is(Symbol::kPrimCallMethod)) {
        call(*node, around);
      }
      const bool is_loop = node->is(Symbol::kPrimLoop);
      for (const IrBlock* inner : node->blocks()) {
        look_at(*inner, is_loop || node->is(Symbol::kPrimIf) ? Around{node, is_loop} : around);
      }
    }
  }

  void get_attribute(const IrNode& node) {
    const auto holder = objects_.find(node.input(0));
    if (holder == objects_.end()) return;
    const ObjectValue& object = *holder->second;
    const auto slot = class_of(object).find_slot(node.text());
    if (!slot || *slot >= object.slots.size() || !object.slots[*slot].is_object()) return;
    objects_.emplace(node.output(), &object.slots[*slot].to_object());
  }

  void call(const IrNode& node, const Around& around) {
    const auto receiver = objects_.find(node.input(0));
    if (receiver == objects_.end()) return;
    const auto called = program_.find_module(receiver->second);
    if (!called) return;
    const ClassType& type = class_of(*receiver->second);
    Function* method = type.find_method(node.text());
    if (*called == caller_ && method != nullptr) {
      if (is_run_) own_calls_.push_back(method);
      return;
    }
    if (wanted_.count(*called) == 0) return;
    const auto place = [&](const IrNode* of) { return *program_.location(of, function_); };
    calls_.push_back({*called, caller_, function_, node.text(), place(&node),
                      around.node != nullptr ? place(around.node) : std::nullopt, around.is_in_loop,
                      is_run_});
  }

  const TorchScriptProgram& program_;
  std::set<ModuleId> wanted_;
  ModuleId caller_;
  std::string function_;
  bool is_run_ = false;
  std::unordered_map<const IrValue*, const ObjectValue*> objects_;
  std::deque<Function*> own_calls_;  // methods of the caller that its methods call, still to be looked at
  std::vector<ModuleCall> calls_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::vector<ModuleCall> find_module_calls(const TorchScriptProgram& program,
                                          const std::vector<ModuleId>& modules, const std::string& method) {
  return CallFinder(program, modules).run(method);
}

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
