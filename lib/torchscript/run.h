// A run of the interpreter: its parts, and the state that they share.
#pragma once

#include <optional>

#include "torchscript/abstract_calls.h"
#include "torchscript/assignments.h"
#include "torchscript/blocks.h"
#include "torchscript/branches.h"
#include "torchscript/calls.h"
#include "torchscript/changes.h"
#include "torchscript/conditions.h"
#include "torchscript/constant_tensors.h"
#include "torchscript/context.h"
#include "torchscript/frames.h"
#include "torchscript/input_guards.h"
#include "torchscript/loops.h"
#include "torchscript/operator_calls.h"
#include "torchscript/process.h"
#include "torchscript/recorded_stacks.h"
#include "torchscript/recording.h"
#include "torchscript/subgraphs.h"
#include "torchscript/value_knowledge.h"
#include "torchscript/value_nodes.h"

namespace fxtrace::torchscript {

// The state that a call may change, except for what was recorded, which the tracer rolls back.
struct Checkpoint {
  Journal::Mark changes = 0;
  std::size_t frames = 0;
  Journal::Mark stretch = 0;  // of `changes`
  std::int64_t steps = 0;
  Switches switches;
  // Only when a graph is recorded:
  std::size_t seen_calls = 0;
  std::optional<ShapeEnv> dimensions;
  Conditions::Assumed assumed;
};

// A checkpoint that includes what is recorded.
struct Attempt {
  Journal::Mark recorded = 0;
  Checkpoint before;
  std::size_t first_node = 0;  // ids of the attempt's nodes are not below this
};

struct Run : Context {
  using Context::Context;
  Run(const Run&) = delete;  // the parts hold on to one another
  Run& operator=(const Run&) = delete;

  Checkpoint checkpoint();
  // Rolls back to the checkpoint.
  void back_to(Checkpoint before);
  Attempt begin_attempt();
  void undo(const Attempt& attempt);
  // Counts a step; throws TraceFailure when one module call takes too many.
  void count_step(const IrNode* node);

  Frames frames{program};
  Changes changes{budget};
  Recording recording{*this, frames};
  Conditions conditions{*this, frames, recording};
  InputGuards input_guards{*this, frames, recording, conditions};
  ConstantTensors constants{program};
  Knowledge knowledge{*this, frames, changes, recording, input_guards, constants};
  RecordedStacks stacks{*this};
  // These call one another.
  Blocks blocks{*this, frames, recording};
  Assignments assignments{*this, frames, recording};
  ValueNodes value_nodes{*this, frames, recording};
  OperatorCalls operator_calls{*this, frames, recording};
  Process process{*this, frames, recording};
  Calls calls{*this, frames, recording};
  AbstractCalls abstract_calls{*this, frames, recording};
  Subgraphs subgraphs{*this, frames, recording};
  Branches branches{*this, frames, recording};
  Loops loops{*this, frames, recording};
};

}  // namespace fxtrace::torchscript
