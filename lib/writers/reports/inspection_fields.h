// The JSON of `fxtrace inspect` (schemas/inspection.schema.json); graph/collection_fields.h says what a
// description is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/analysis/text_form.h"
#include "operators/names/modules.h"
#include "summaries/inspection.h"
#include "writers/formats/document.h"
#include "writers/formats/total_fields.h"

namespace fxtrace::internal {

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
