// What is fixed of one run of the interpreter.
#pragma once

#include "costs/custom_costs.h"
#include "interpreter/program/torchscript_program.h"
#include "trace/options/budget.h"
#include "trace/options/options.h"

namespace fxtrace::internal::interpreter {

struct Run {
  const TorchScriptProgram& program;
  const TraceOptions& options;
  Budget& budget;
  ModuleId root = {};  // the root of the graph that is traced
  // Whether shapes are propagated through values that depend on inputs.
  bool shapes = !options.inputs.empty() || options.param_shapes_constant;
  CustomCosts custom_costs{options.custom_costs};

  const std::string& type_of(ModuleId of) const { return program.modules()[of.index].type; }
};

}  // namespace fxtrace::internal::interpreter
