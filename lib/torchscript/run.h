// A run of the interpreter: its parts, and what they share.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "torchscript/changes.h"
#include "torchscript/context.h"
#include "torchscript/frames.h"
#include "torchscript/recording.h"

namespace fxtrace::torchscript {

// Everything that a call may change; what was recorded is the tracer's.
struct Checkpoint {
  Journal::Mark changes = 0;
  std::size_t frames = 0;
  Journal::Mark stretch = 0;  // of `changes`
  std::int64_t steps = 0;
  Switches switches;
  // When a graph is recorded.
  std::size_t seen_calls = 0;
  std::optional<ShapeEnv> dimensions;
  std::map<std::string, bool> assumed;
};

// Of what is recorded too.
struct Attempt {
  Journal::Mark recorded = 0;
  Checkpoint before;
  std::size_t first_node = 0;  // ids of nodes of the attempt are not below
};

struct Run : Context {
  Run(const TorchScriptProgram& its_program, const TraceOptions& its_options, Budget& its_budget,
      BoundTorchScriptProgram* its_bound, GraphTracer* its_tracer)
      : Context(its_program, its_options, its_budget, its_bound, its_tracer) {}

  Frames frames{program};
  Changes changes{budget};
  Recording recording{*this, frames};
};

}  // namespace fxtrace::torchscript
