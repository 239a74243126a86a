#include "interpreter/state/run_state.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "torchscript/operators/plain_operators.h"
#include "trace/options/input_spec.h"
#include "trace/options/option_table.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

const Value& Frames::value(const IrValue* name) const {
  static const Value none{};
  const auto& values = frames_.back().values;
  const auto found = values.find(name);
  if (found == values.end()) return none;
  const Value* made = find_replacement(found->second);
  return made != nullptr ? *made : found->second;
}

Values Frames::values(const std::vector<IrValue*>& names) const {
  Values values;
  values.reserve(names.size());
  for (const IrValue* name : names) values.push_back(value(name));
  return values;
}

bool Frames::are_constants(const std::vector<IrValue*>& names) const {
  return std::ranges::all_of(names, [this](const IrValue* name) { return is_constant(name); });
}

Values Frames::values_around(const IrNode* node, std::size_t frame) const {
  Values around;
  for (std::size_t i = 0; i <= frame; ++i) {
    for (const auto& [name, value] : frames_[i].values) {
      if (i < frame || !name->node()->is_inside(*node)) around.push_back(value);
    }
  }
  return around;
}

bool Frames::holds_around(const Value& container, const IrNode* node, std::size_t frame) const {
  return std::ranges::any_of(frames_[frame].values, [&](const auto& known) {
    return known.second.identity() == container.identity() && !known.first->node()->is_inside(*node);
  });
}

void Frames::replace(const Value& container, Value proxy) {
  made_[container.identity()] = {container, std::move(proxy)};
}

const Value* Frames::find_replacement(const Value& container) const {
  if (made_.empty() || !(container.is_list() || container.is_dict())) return nullptr;
  const auto found = made_.find(container.identity());
  return found == made_.end() ? nullptr : &found->second.proxy;
}

void Frames::give_away(const Value& container, std::string why) {
  if (const Proxy* proxy = find_proxy(container)) {
    given_away_.push_back({proxy->ref, nullptr, std::move(why)});
    return;
  }
  replace(container, make_proxy(NodeRef{}, dynamic_type(container)));
  given_away_.push_back({{}, find_proxy(*find_replacement(container)), std::move(why)});
}

void Frames::take_back(const Value& container) {
  given_away_.pop_back();
  if (find_proxy(container) == nullptr) take_back_replacement(container);
}

const std::string* Frames::why_given_away(const Proxy& proxy) const {
  const auto found = std::ranges::find_if(given_away_, [&](const GivenAway& given) {
    return given.ref.valid() ? given.ref == proxy.ref : given.proxy == &proxy;
  });
  return found == given_away_.end() ? nullptr : &found->why;
}

Shared<std::optional<SourceLocation>> Frames::location(const IrNode* node) const {
  if (node == nullptr || frames_.empty()) return std::nullopt;
  return program_.location(node, frames_.back().function);
}

void Frames::fail(FailureKind kind, const std::string& message, const IrNode* node, Limit limit) const {
  Failure failure;
  failure.kind = kind;
  failure.limit = limit;
  failure.message = naming_option(message, limit);
  if (node != nullptr) failure.op = to_text(node->kind());
  failure.source = location(node);
  throw TraceFailure(std::move(failure));
}

RunState::RunState(const Run& of)
    : run(of), dimensions(of.shapes ? make_dimensions(of.options) : ShapeEnv()) {}

Extent RunState::measure(const Value& value, const IrNode* node) {
  const Extent extent = extent_of(value);
  run.budget.spend(extent.looked);
  if (extent.size > torchscript::kMaxPlainSize) {
    frames.fail(
        FailureKind::kLimit,
        "a value holds itself, or more than " + std::to_string(torchscript::kMaxPlainSize) + " others", node);
  }
  return extent;
}

void RunState::count_step(const IrNode* node) {
  if (++steps <= run.options.limits.iterations) return;
  frames.fail(FailureKind::kLimit,
              "more than " + std::to_string(run.options.limits.iterations) +
                  " loop iterations and function calls in one module call",
              node, Limit::kIterations);
}

}  // namespace fxtrace::internal::interpreter
