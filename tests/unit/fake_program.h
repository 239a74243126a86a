// Fake programs: module trees whose forwards are written in the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "trace/tracer/graph_tracer.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// A module tree that cannot be run.
class FakeModules : public Program {
 public:
  // `path` must come after its parent.
  ModuleId add(const std::string& path, const std::string& type,
               std::vector<std::pair<std::string, Argument>> attributes = {}) {
    const ModuleId id{static_cast<std::uint32_t>(modules_.size())};
    ModuleInfo info;
    info.path = path;
    info.type = type;
    info.has_forward = type.find("ModuleList") == std::string::npos;
    info.attributes = std::move(attributes);
    if (!path.empty()) {
      const std::size_t dot = path.rfind('.');
      info.parent = find(dot == std::string::npos ? "" : path.substr(0, dot));
      modules_[info.parent->index].children.push_back(id);
    }
    modules_.push_back(std::move(info));
    return id;
  }
  void alias(const std::string& path, const std::string& first) {
    const ModuleId id = add(path, modules_[find(first).index].type);
    modules_[id.index].alias_of = find(first);
  }
  void parameter(const std::string& module, const std::string& name, std::vector<std::int64_t> shape,
                 ParameterKind kind = ParameterKind::kParameter) {
    modules_[find(module).index].parameters.push_back(parameters_.size());
    parameters_.push_back(
        {module.empty() ? name : module + "." + name, kind, std::move(shape), "float32", {}, {}});
  }
  ModuleId find(const std::string& path) const {
    for (std::uint32_t i = 0; i < modules_.size(); ++i) {
      if (modules_[i].path == path) return ModuleId{i};
    }
    FAIL("no module " + path);
    return {};
  }

  const std::vector<ModuleInfo>& modules() const override { return modules_; }
  const std::vector<ParameterRecord>& parameters() const override { return parameters_; }
  std::string kind() const override { return "fake"; }
  std::string producer_version() const override { return "1"; }
  std::string producer() const override { return {}; }
  std::vector<ConstantInfo> constants() const override { return {}; }
  bool has_method(const std::string&) const override { return true; }
  std::string method_to_trace(const std::string& asked) const override { return asked; }
  std::unique_ptr<BoundProgram> bind(const TraceOptions&, const SpentUnits&) const override {
    return nullptr;
  }

 private:
  std::vector<ModuleInfo> modules_;
  std::vector<ParameterRecord> parameters_;
};

// Modules whose forwards are C++ functions; each takes `x`, and `flag` with a default.
class FakeProgram : public FakeModules {
 public:
  using Forward = std::function<void(const FakeProgram&, GraphTracer&)>;

  void add(const std::string& path, const std::string& type, Forward forward = nullptr) {
    FakeModules::add(path, type);
    forwards_.push_back(std::move(forward));
  }

  void call(const std::string& path, GraphTracer& tracer) const {
    const ModuleId module = find(path);
    if (!tracer.is_leaf(module)) {
      if (tracer.inline_call(module, [&] { forwards_[module.index](*this, tracer); })) return;
    }
    tracer.call_leaf(module, {}, {}, {}, std::nullopt);
  }

  std::unique_ptr<BoundProgram> bind(const TraceOptions& options, const SpentUnits&) const override {
    bound = &options;
    return std::make_unique<Bound>(*this);
  }

  mutable const TraceOptions* bound = nullptr;  // of the trace that runs
  mutable std::vector<std::string> runs;        // roots, in the order in which they were run

 private:
  struct Bound : BoundProgram {
    explicit Bound(const FakeProgram& of) : program(of) {}
    std::vector<MethodInfo> methods(ModuleId) const override { return {}; }
    void run(ModuleId root, const std::string&, bool root_is_leaf, GraphTracer& tracer) override {
      program.run(root, root_is_leaf, tracer);
    }
    const FakeProgram& program;
  };

  void run(ModuleId root, bool root_is_leaf, GraphTracer& tracer) const {
    runs.push_back(modules()[root.index].path);
    const NodeId x = tracer.placeholder("x", {}, {});
    if (tracer.is_fixed("flag")) {
      tracer.guard(Expression::parse("flag == False"), std::nullopt, GuardReason::kDefault);
    } else {
      tracer.placeholder("flag", {Argument(false)}, {});
    }
    if (root_is_leaf) {
      tracer.output(tracer.call_root({x}, {}), {});
      return;
    }
    forwards_[root.index](*this, tracer);
    tracer.output(x, {});
  }

  std::vector<Forward> forwards_;
};

}  // namespace fxtrace::internal
