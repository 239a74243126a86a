// The JSON of `fxtrace why` (schemas/why.schema.json); graph/collection_fields.h says what a description is.
#pragma once

#include "graph/collection_fields.h"
#include "summaries/explanation.h"

namespace fxtrace::internal {

template <>
inline constexpr bool kOnLines<Suggestions> = true;
template <>
inline constexpr bool kOnLines<ModuleExplanation> = true;
template <>
inline constexpr bool kOnLines<DimensionExplanation> = true;

void describe(auto& io, const Trial& trial) {
  io.field("options", trial.options);
  io.field("failed", trial.failed);
  io.field("nodes", trial.nodes);
}

void describe(auto& io, const Suggestions& suggestions) {
  io.field("helpful", suggestions.helpful);
  io.field("others", suggestions.others);
  io.nullable("best", suggestions.best);
  io.nullable("with_leaves", suggestions.with_leaves);
  io.lines("operators", suggestions.operators, [&](const Suggestions::UnknownOperator& unknown) {
    io.field("name", unknown.name);
    io.field("schema", unknown.schema);
  });
}

void describe(auto& io, const ModuleExplanation& module) {
  io.field("path", module.path);
  io.nullable("type", module.type);
  io.nullable("asked", module.asked);
  io.field("other_names", module.other_names);
  io.field("status", module.status);
  io.field("cause", module.cause);
  io.nullable("rule", module.rule);
  io.nullable("config", module.origin);
  io.nullable("failure", module.failure);
  io.nullable("decided_by", module.decided_by);
  io.field("calls", module.calls);
  io.optional("methods", module.methods);
  io.field("submodules", module.submodules);
  io.lines("places", module.places, [&](const ModuleExplanation::Place& place) {
    io.field("graph", place.graph);
    io.field("calls", place.calls);
    io.field("nodes", place.nodes);
    io.nullable("first", place.first);
    io.nullable("source", place.source);
  });
  io.lines("call_sites", module.call_sites, [&](const CallSite& call) {
    io.field("module", call.module);
    io.field("method", call.method);
    io.field("entered", call.entered);
    io.field("is_run", call.is_run);
    io.nullable("source", call.source);
    io.nullable("condition", call.condition);
    io.field("in_loop", call.is_in_loop);
  });
  io.field("guards", module.guards);
}

void describe(auto& io, const DimensionExplanation::Place& place) {
  io.field("graph", place.graph);
  io.nullable("node", place.node);
  io.nullable("target", place.target);
  io.nullable("text", place.text);
  io.nullable("source", place.source);
  io.field("count", place.count);
}

void describe(auto& io, const DimensionExplanation::Counts& counts) {
  io.field("nodes", counts.nodes);
  io.field("guards", counts.guards);
  io.field("failed", counts.failed);
}

void describe(auto& io, const DimensionExplanation& dimension) {
  io.field("name", dimension.name);
  io.object("range", [&] {
    io.nullable("low", dimension.range.low);
    io.nullable("high", dimension.range.high);
  });
  io.lines("inputs", dimension.inputs, [&](const DimensionExplanation::Origin& origin) {
    io.field("input", origin.input);
    io.field("place", origin.place);
    io.field("size", origin.expression);
  });
  io.nullable("made_by", dimension.made_by);
  io.field("guards", dimension.guards);
  io.field("asserts", dimension.asserts);
  io.field("derived", dimension.derived);
  io.field("questions", dimension.questions);
  io.field("nodes", dimension.nodes);
  io.lines("narrowed", dimension.narrowed, [&](const DimensionExplanation::Narrowed& narrowed) {
    io.field("option", narrowed.option);
    describe(io, narrowed.counts);
  });
  io.nullable("all", dimension.narrowed.empty() ? std::nullopt : std::optional(dimension.all));
}

void describe(auto& io, const Explanation& explanation) {
  io.field("model", explanation.model);
  io.field("tried", explanation.suggestions && explanation.suggestions->is_tried);
  io.object("modules", [&] {
    io.field("all", explanation.modules);
    io.field("failed", explanation.failed);
  });
  io.lines("failures", explanation.failures, [&](const FailureGroup& modules) {
    io.field("paths", modules.paths);
    io.nullable("type", modules.type);
    io.field("depth", modules.depth);
    io.field("failure", modules.failure);
  });
  io.nullable("suggestions", explanation.suggestions);
  io.field("explained", explanation.explained);
  io.lines("guards", explanation.guards, [&](const GuardExplanation& guard) {
    io.field("graph", guard.graph);
    io.field("number", guard.number);
    describe(io, guard.guard);
  });
  io.nullable("dimension", explanation.dimension);
}

}  // namespace fxtrace::internal
