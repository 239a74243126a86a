#include "interpreter/bound_torchscript_program.h"

#include "interpreter/code/hooks.h"
#include "interpreter/code/traced_attributes.h"
#include "interpreter/graph/interpreter.h"
#include "support/text/words.h"

namespace fxtrace::internal::interpreter {

void BoundTorchScriptProgram::run(ModuleId root, const std::string& method, bool root_is_leaf,
                                  GraphTracer& tracer) {
  Interpreter(program_, options_, budget_, findings_, tracer, root, method).trace(root_is_leaf);
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

std::vector<Diagnostic> BoundTorchScriptProgram::warnings() const {
  std::vector<Diagnostic> warnings;
  if (options_.hooks == Hooks::kSkip && !has_hooks(program_)) {
    warnings.push_back(
        {"--hooks skip had no effect: the model has no hooks apart from its code; torch.jit.trace makes hooks part of the code"});
  }
  if (auto hooks = hooks_in_callers(program_)) warnings.push_back(*std::move(hooks));
  if (auto invalid = findings_.invalid_calls()) warnings.push_back(*std::move(invalid));
  return warnings;
}

std::vector<Diagnostic> BoundTorchScriptProgram::unfollowed_options(
    const std::function<Leaves()>& leaves) const {
  std::vector<Diagnostic> unfollowed;
  if (options_.hooks != Hooks::kSkip) return unfollowed;
  for (const auto& [module, method] : leaves()) {
    const std::size_t count = count_hooks_inside(program_, module, method);
    if (count == 0) continue;
    const std::string& path = program_.modules()[module.index].path;
    unfollowed.push_back({count == 1
                              ? "--hooks skip cannot leave out {} hook inside of {}, which stays one call"
                              : "--hooks skip cannot leave out {} hooks inside of {}, which stays one call",
                          {std::to_string(count), path.empty() ? "the root" : "'" + path + "'"}});
  }
  return unfollowed;
}

}  // namespace fxtrace::internal::interpreter
