#include "torchscript/bound_torchscript_program.h"

#include "support/words.h"
#include "torchscript/hooks.h"
#include "torchscript/interpreter.h"
#include "torchscript/traced_attributes.h"

namespace fxtrace::torchscript {

void BoundTorchScriptProgram::run(ModuleId root, const std::string& method, bool root_is_leaf,
                                  GraphTracer& tracer) {
  Interpreter(program_, options_, budget_, findings_, tracer).trace(root, method, root_is_leaf);
}

std::vector<BoundProgram::Attributes> BoundTorchScriptProgram::attributes() const {
  return traced_attributes(program_);
}

namespace {

bool has_hooks(const TorchScriptProgram& program) {
  for (std::uint32_t i = 0; i < program.modules().size(); ++i) {
    const ClassType& type = class_of(*program.object(ModuleId{i}));
    if (!type.forward_hooks().empty() || !type.forward_pre_hooks().empty()) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> BoundTorchScriptProgram::warnings() const {
  std::vector<std::string> warnings;
  if (options_.hooks == Hooks::kSkip && !has_hooks(program_)) {
    warnings.emplace_back(
        "--hooks skip left out nothing: what was traced has no hooks apart from its code; torch.jit.trace makes them part of that");
  }
  if (auto invalid = findings_.invalid_calls()) warnings.push_back(*std::move(invalid));
  return warnings;
}

std::vector<std::string> BoundTorchScriptProgram::undone(const std::function<Leaves()>& leaves) const {
  std::vector<std::string> undone;
  if (options_.hooks != Hooks::kSkip) return undone;
  for (const auto& [module, method] : leaves()) {
    const std::size_t count = count_hooks_inside(program_, module, method);
    if (count == 0) continue;
    const std::string& path = program_.modules()[module.index].path;
    undone.push_back("--hooks skip cannot leave out " + std::to_string(count) +
                     (count == 1 ? " hook" : " hooks") + " inside of " +
                     (path.empty() ? "the root" : "'" + path + "'") + ", which stays one call");
  }
  return undone;
}

}  // namespace fxtrace::torchscript
