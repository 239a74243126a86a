#include "interpreter/state/context.h"

#include "interpreter/program/convert.h"
#include "torchscript/operators/plain_operators.h"

namespace fxtrace::interpreter {
namespace {

template <class Kind>
std::optional<Argument> named(std::optional<std::string> name) {
  if (!name) return std::nullopt;
  return Argument(Kind{std::move(*name)});
}

// Returns nothing when the number stands for none of those.
std::optional<Argument> number_argument(std::int64_t number, NumberMeaning meaning) {
  switch (meaning) {
    case NumberMeaning::kDtype:
      return named<Argument::Dtype>(find_dtype_name(number));
    case NumberMeaning::kLayout:
      return named<Argument::Layout>(find_layout_name(number));
    case NumberMeaning::kMemoryFormat:
      return named<Argument::MemoryFormat>(find_memory_format_name(number));
    default:
      return Argument(number);
  }
}

std::string no_such(std::int64_t number, NumberMeaning meaning) {
  const char* what = meaning == NumberMeaning::kDtype    ? "dtype "
                     : meaning == NumberMeaning::kLayout ? "layout "
                                                         : "memory format ";
  return "unknown " + (what + std::to_string(number));
}

}  // namespace

Argument Context::number(std::int64_t number, NumberMeaning meaning, const IrNode* node) const {
  auto argument = number_argument(number, meaning);
  if (!argument) frames.raise("RuntimeError: " + no_such(number, meaning), node);
  return *std::move(argument);
}

Extent Context::measure(const Value& value, const IrNode* node) {
  const Extent extent = extent_of(value);
  budget.spend(extent.looked);
  if (extent.size > torchscript::kMaxPlainSize) {
    frames.fail(
        FailureKind::kLimit,
        "a value holds itself, or more than " + std::to_string(torchscript::kMaxPlainSize) + " others", node);
  }
  return extent;
}

void Context::count_step(const IrNode* node) {
  if (++steps <= options.limits.iterations) return;
  frames.fail(FailureKind::kLimit,
              "more than " + std::to_string(options.limits.iterations) +
                  " loop iterations and function calls in one module call (--max-iterations)",
              node, Limit::kIterations);
}

// "conv1: aten.conv2d of float32[1,5,8,8], float32[4,3,3,3] raises (net.py:12): ..."
void Context::report_invalid(const IrNode* node, const std::string& what, const std::string& error) {
  const std::string& path = program.modules()[module.index].path;
  std::string text = (path.empty() ? "the root module" : path) + ": " + what + " raises";
  if (const std::optional<SourceLocation> source = frames.location(node))
    text += " (" + source->file + ":" + std::to_string(source->line) + ")";
  findings->report_invalid(module, node, text + ": " + error);
}

void Context::note_key_order(const Value& value) {
  if (key_orders.empty()) return;
  if (const auto found = key_orders.find(value.identity()); value.is_dict() && found != key_orders.end()) {
    const Expression order = found->second;
    key_orders.erase(found);
    changes.add([this, key = value.identity(), order] { key_orders.emplace(key, order); });
    recorder->guard(order, std::nullopt, GuardReason::kConcrete);
  }
  if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries()) note_key_order(entry.value);
  } else if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items()) note_key_order(item);
  }
}

Checkpoint Context::checkpoint() {
  const Journal::Mark now = changes.mark();
  return {now, frames.size(), changes.begin_stretch(now), steps, switches, recorder->state()};
}

void Context::back_to(Checkpoint before) {
  frames.pop_to(before.frames);
  changes.undo_to(before.changes);
  changes.begin_stretch(before.stretch);
  steps = before.steps;
  switches = std::move(before.switches);
  if (before.recorder) recorder->go_back_to(*std::move(before.recorder));
}

}  // namespace fxtrace::interpreter
