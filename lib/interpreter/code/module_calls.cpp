#include "interpreter/code/module_calls.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "interpreter/program/names.h"

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

}  // namespace fxtrace::internal::interpreter
