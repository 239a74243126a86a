// The JSON of `fxtrace summary` (schemas/summary.schema.json); graph/collection_fields.h says what a
// description is.
#pragma once

#include <map>
#include <optional>

#include "summaries/model_summary.h"
#include "writers/formats/total_fields.h"

namespace fxtrace::internal {

void describe(auto& io, const ModelSummary& summary) {
  const auto shape_and_dtype = [&](const Meta& meta) {
    io.dtype("dtype", meta);
    io.nullable("shape", meta.shape);
  };
  const auto describe_port = [&](const ModelSummary::Port& port) {
    io.field("name", port.name);
    io.nullable("type", port.meta.type);
    shape_and_dtype(port.meta);
  };
  const auto sizes = [&](const TensorCount& own, const TensorCount& all) {
    io.field("own_elements", own.elements);
    io.field("own_bytes", own.bytes);
    io.field("elements", all.elements);
    io.field("bytes", all.bytes);
  };
  io.object("model", [&] {
    describe(io, summary.model);
    io.nullable("written_by", summary.producer);
  });
  io.list("inputs", summary.inputs, describe_port);
  io.list("outputs", summary.outputs, describe_port);
  io.block("totals", [&] {
    io.field("modules", summary.modules);
    io.field("parameters", summary.parameters);
    io.field("buffers", summary.buffers);
    io.field("constants", summary.constants);
    io.field("dtypes", summary.dtypes);
    auto devices = summary.parameters.devices;
    devices.insert(summary.buffers.devices.begin(), summary.buffers.devices.end());
    io.field("devices", devices);
    io.nullable("macs", summary.macs);
    io.nullable("activation_bytes", summary.activation_bytes);
    io.nullable("peak_bytes", summary.peak_bytes);
    io.field("unknown_operators", summary.unknown);
    io.field("unsized_calls", summary.unsized);
    io.list("failed_modules", summary.failed, [&](const auto& module) {
      const auto& failure = module.failure;
      io.field("path", module.path);
      io.nullable("type", module.type);
      io.nullable("kind", failure ? std::optional(failure->kind) : std::nullopt);
      io.nullable("message", failure ? std::optional(failure->message) : std::nullopt);
    });
  });
  io.field("folded", summary.is_folded);
  io.nullable("max_depth", summary.max_depth);
  io.lines("modules", summary.rows, [&](const SummaryRow& row) {
    io.field("path", row.path);
    io.nullable("last_path", row.last);
    io.field("modules", row.modules);
    io.field("depth", row.depth);
    io.nullable("type", row.type);
    io.field("status", row.status);
    io.nullable("alias_of", row.alias_of);
    io.field("calls", row.calls);
    io.optional("methods", row.methods);
    row.outputs ? io.list("outputs", *row.outputs, shape_and_dtype) : io.null("outputs");
    io.object("parameters", [&] {
      sizes(row.own_parameters, row.parameters);
      io.field("shared_elements", row.shared_parameters.elements);
      io.field("shared_bytes", row.shared_parameters.bytes);
    });
    io.object("buffers", [&] { sizes(row.own_buffers, row.buffers); });
    io.nullable("macs", row.macs);
    io.nullable("activation_bytes", row.activation_bytes);
    io.field("unknown_calls", row.unknown);
    io.field("unsized_calls", row.unsized);
    io.field("failed_modules", row.failed);
    for (const CostColumn column : summary.columns) {
      if (column == CostColumn::kIntensity) {
        io.nullable(to_string(column), arithmetic_intensity(row, {}));
      } else {
        io.nullable(to_string(column), column == CostColumn::kWeights ? row.weights_read : row.kv_cache);
      }
    }
  });
}

}  // namespace fxtrace::internal
