// The JSON of `fxtrace why` and `fxtrace inspect`; graph/collection_fields.h says what a description is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/analysis/text_form.h"
#include "graph/collection_fields.h"
#include "operators/names/modules.h"
#include "summaries/explanation.h"
#include "summaries/inspection.h"
#include "writers/formats/document.h"
#include "writers/reports/report_fields.h"

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

// The JSON of `fxtrace inspect` (schemas/inspection.schema.json); graph/collection_fields.h says what a
// description is.

void describe(auto& io, const CompiledModel& model) {
  io.field("name", model.name);
  io.nullable("device", model.find_metadata("AOTI_DEVICE_KEY"));
  io.nullable("platform", model.find_metadata("AOTI_PLATFORM"));
  io.nullable("machine", model.find_metadata("AOTI_MACHINE"));
  io.field("metadata", model.metadata);
  io.field("inputs", model.inputs);
  io.field("outputs", model.outputs);
  io.field("operators", model.operators);
  io.list("constants", model.constants, [&](const CompiledModel::Constant& constant) {
    io.field("name", constant.name);
    io.nullable("kind", constant.kind);
    io.nullable("shape", constant.shape);
    io.nullable("dtype", constant.dtype);
    io.nullable("bytes", constant.bytes);
  });
  io.list("files", model.files, [&](const CompiledModel::File& file) {
    io.field("name", file.name);
    io.field("size", file.size);
    io.nullable("format", file.format);
  });
}

// What the JSON of every file begins with.
void describe_file(auto& io, const std::string& name, const FileInfo& info) {
  io.field("format", "fxtrace.inspection");
  io.field("version", 1);
  io.field("file", name);
  io.field("kind", info.kind);
  io.field("description", info.what);
  io.nullable("advice", info.advice);
  io.field("size", info.size);
  io.nullable("producer_version", info.producer_version);
}

void describe_ports(auto& io, const MethodInfo& method) {
  for (const bool are_inputs : {true, false}) {
    const auto text = [](const Argument& value) { return print_argument(value); };
    io.list(are_inputs ? "inputs" : "outputs", are_inputs ? method.inputs : method.outputs,
            [&](const PortInfo& port) {
              io.field("name", port.name);
              if (!are_inputs) io.optional("label", port.label);
              io.nullable("type", port.meta.type);
              io.nullable("shape", port.meta.shape);
              io.dtype("dtype", port.meta);
              const auto& value = port.default_value;
              if (are_inputs) io.nullable("default", value ? std::optional(text(*value)) : std::nullopt);
              io.field("value", port.fixed ? text(*port.fixed) : value_or_type(port.meta, ""));
              io.field("fixed", port.fixed.has_value());
            });
  }
}

// A parameter or constant: a tensor, or a script object with its stored tensors.
void describe_tensor(auto& io, bool is_tensor, const auto& item) {
  io.nullable("shape", is_tensor ? std::optional(item.shape) : std::nullopt);
  io.nullable("dtype", is_tensor ? std::optional(item.dtype) : std::nullopt);
  io.nullable("bytes", is_tensor ? std::optional(byte_count(item)) : std::nullopt);
  if (io.has("type", !item.type.empty() || !is_tensor)) io.field("type", item.type);
  io.optional("stored", item.stored);
}

void describe(auto& io, const Inspection& inspection) {
  const auto sizes = [&](const char* name, const TensorTotal& own, const TensorTotal& total) {
    io.object(name, [&] {
      io.field("own", own.elements);
      io.field("total", total.elements);
      io.field("own_bytes", own.bytes);
      io.field("bytes", total.bytes);
    });
  };
  const auto total = [&](const char* name, const TensorTotal& tensors) {
    io.object(name, [&] {
      describe(io, tensors);
      io.field("dtypes", tensors.dtypes);
      io.field("devices", tensors.devices);
    });
  };
  const GraphCollection& collection = inspection.collection;
  const MethodInfo method = inspection.method ? inspection.methods[*inspection.method] : MethodInfo();
  describe_file(io, collection.model.file, inspection.file);
  io.nullable("producer", inspection.producer);
  if (io.has("loads_with", inspection.loads_with.has_value())) {
    io.object("loads_with", [&] {
      const Inspection::LoadsWith& releases = *inspection.loads_with;
      io.field("since", releases.since);
      io.nullable("until", releases.until);
      io.field("because", releases.because);
    });
  }
  io.nullable("type", collection.model.type);
  io.nullable("method", method.name);
  describe_ports(io, method);
  io.list("methods", inspection.methods, [&](const MethodInfo& each) {
    io.field("name", each.name);
    describe_ports(io, each);
  });
  io.object("totals", [&] {
    const ModuleSizes all = inspection.sizes.empty() ? ModuleSizes{} : inspection.sizes.front();
    total("parameters", all.parameters);
    total("buffers", all.buffers);
    total("constants", inspection.constants_total);
  });
  io.list("modules", collection.modules, [&](const ModuleRecord& module) {
    const auto i = static_cast<std::size_t>(&module - collection.modules.data());
    io.field("path", module.path);
    io.nullable("type", module.type);
    io.nullable("public_type", public_alias(module.type));
    io.field("status", module.status);
    io.nullable("alias_of", module.alias_of);
    io.nullable("rule", module.rule);
    io.nullable("failure", module.failure ? std::optional(module.failure->message) : std::nullopt);
    io.field("methods", inspection.module_methods[i]);
    sizes("parameters", inspection.sizes[i].own_parameters, inspection.sizes[i].parameters);
    sizes("buffers", inspection.sizes[i].own_buffers, inspection.sizes[i].buffers);
  });
  io.list("parameters", collection.parameters, [&](const ParameterRecord& parameter) {
    io.field("name", parameter.name);
    io.field("kind", parameter.kind);
    describe_tensor(io, parameter.kind != ParameterKind::kCustomObject, parameter);
    io.nullable("alias_of", parameter.alias_of);
  });
  io.list("constants", inspection.constants, [&](const ConstantInfo& constant) {
    io.field("name", constant.name);
    describe_tensor(io, !constant.dtype.empty(), constant);
  });
  io.optional("compiled_models", inspection.compiled);
}

void describe(auto& io, const FileInspection& inspection) {
  describe_file(io, inspection.name, inspection.file);
  io.optional("models", inspection.to_choose_from);
  io.optional("compiled_models", inspection.compiled);
}

}  // namespace fxtrace::internal
