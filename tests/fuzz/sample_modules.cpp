#include "tests/fuzz/sample_modules.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trace/tracer/leaf_rules.h"

namespace fxtrace::internal::fuzz {
namespace {

class SampleModules : public Program {
 public:
  SampleModules() {
    add("", "nets.Net", {});
    add("encoder", "torch.nn.modules.container.ModuleList", {0});
    add("encoder.0", "nets.Block", {1});
    add("encoder.0.linear", "torch.nn.modules.linear.Linear", {2});
    add("encoder.1", "torch.nn.modules.container.Sequential", {1});
    add("encoder.1.norm", "", {4});
    add("h\xC3\xA9"
        "ad",
        "torch.nn.modules.linear.Linear", {0});
    modules_[1].has_forward = false;
    modules_[2].attributes = {{"heads", Argument(8)},
                              {"scale", Argument(0.5)},
                              {"mode", Argument(std::string("mean"))},
                              {"sizes", Argument(Argument::List{{1, 2}})}};
    modules_[6].alias_of = ModuleId{3};
    modules_[3].parameters = {0};
    parameters_.push_back({"encoder.0.linear.weight", ParameterKind::kParameter, {4, 4}, "float32", {}, {}});
  }

  const std::vector<ModuleInfo>& modules() const override { return modules_; }
  const std::vector<ParameterRecord>& parameters() const override { return parameters_; }
  std::string kind() const override { return "sample"; }
  std::string producer_version() const override { return "1"; }
  std::string producer() const override { return {}; }
  std::vector<ConstantInfo> constants() const override { return {}; }
  bool has_method(const std::string&) const override { return true; }
  std::string method_to_trace(const std::string& asked) const override { return asked; }
  std::unique_ptr<BoundProgram> bind(const TraceOptions&, const SpentUnits&) const override {
    return nullptr;
  }

 private:
  void add(const char* path, const char* type, std::vector<std::uint32_t> parent) {
    ModuleInfo module;
    module.path = path;
    module.type = type;
    module.has_forward = true;
    const auto index = static_cast<std::uint32_t>(modules_.size());
    for (const std::uint32_t above : parent) {
      module.parent = ModuleId{above};
      modules_[above].children.push_back(ModuleId{index});
    }
    modules_.push_back(std::move(module));
  }

  std::vector<ModuleInfo> modules_;
  std::vector<ParameterRecord> parameters_;
};

}  // namespace

void decide_leaves(const TraceOptions& options) {
  static const SampleModules program;
  const LeafRules rules(options, program);
  for (std::uint32_t i = 0; i < program.modules().size(); ++i) {
    const ModuleId module{i};
    if (rules.is_leaf(module) != rules.rule(module).has_value()) {
      throw std::logic_error("broken promise: what made a module a leaf is told");
    }
  }
  for (const char* function : {"torch.nn.functional.relu", "nets.helper", "", "a\xFF"})
    rules.is_wrapped(function);
  rules.unmatched();
}

}  // namespace fxtrace::internal::fuzz
