// The JSON of `fxtrace summary`, `order` and `diff`; graph/collection_fields.h says what a description is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "graph/analysis/text_form.h"
#include "graph/collection_fields.h"
#include "summaries/model_summary.h"
#include "summaries/parameter_sizes.h"
#include "summaries/use_order.h"

namespace fxtrace::internal {

// The totals of tensors in the JSON of several reports.

void describe(auto& io, const TensorTotal& total) {
  io.field("tensors", total.tensors);
  io.field("elements", total.elements);
  io.field("bytes", total.bytes);
}

// The JSON of `fxtrace summary` (schemas/summary.schema.json); graph/collection_fields.h says what a
// description is.

void describe(auto& io, const ModelSummary& summary) {
  const auto shape_and_dtype = [&](const Meta& meta) {
    io.dtype("dtype", meta);
    io.nullable("shape", meta.shape);
  };
  const auto describe_port = [&](const ModelSummary::Port& port) {
    io.field("name", port.name);
    io.optional("label", port.label);
    io.nullable("type", port.meta.type);
    shape_and_dtype(port.meta);
    if (io.has("value", port.fixed.has_value()))
      io.field("value", port.fixed ? print_argument(*port.fixed) : "");
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
  const auto describe_least = [&](const std::optional<LeastTime>& least) {
    io.nullable("least_seconds", least ? std::optional(least->seconds()) : std::nullopt);
    io.nullable("bound", least ? std::optional(std::string(least->bound())) : std::nullopt);
  };
  if (summary.fit) {
    const DeviceFit& fit = *summary.fit;
    const auto least = summary.rows.empty() ? std::nullopt : summary.rows.front().least;
    io.block("device", [&] {
      io.field("name", fit.device.name);
      io.field("title", fit.device.title);
      io.field("source", fit.device.source);
      io.field("sizes", fit.sizes);
      describe_least(least);
      io.nullable("compute_seconds", least ? std::optional(least->compute) : std::nullopt);
      io.nullable("memory_seconds", least ? std::optional(least->memory) : std::nullopt);
      io.field("unknown_dtypes", fit.unknown_dtypes);
      io.field("memory_bytes", fit.device.memory_bytes);
      io.field("weight_bytes", fit.weight_bytes);
      io.nullable("activation_bytes", fit.activation_bytes);
      io.field("cache_bytes", fit.cache_bytes);
      io.field("needed_bytes", fit.needed_bytes());
      io.nullable("fits", fit.fits());
    });
  }
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
    io.nullable("flops", summary.flops);
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
    io.nullable("flops", row.flops);
    io.nullable("activation_bytes", row.activation_bytes);
    io.field("unknown_calls", row.unknown);
    io.field("unsized_calls", row.unsized);
    io.field("failed_modules", row.failed);
    for (const CostColumn column : summary.columns) {
      if (column == CostColumn::kFlops) continue;
      if (column == CostColumn::kIntensity) {
        io.nullable(to_string(column), arithmetic_intensity(row, {}));
      } else if (column == CostColumn::kQuantization) {
        io.object(to_string(column), [&] {
          io.field("weights", row.quantization.weights);
          io.field("compute_calls", row.quantization.calls);
          io.field("quantized_calls", row.quantization.quantized);
        });
      } else {
        io.nullable(to_string(column), column == CostColumn::kWeights ? row.weights_read : row.kv_cache);
      }
    }
    if (summary.fit) describe_least(row.least);
  });
  if (summary.memory) {
    const MemoryTimeline& memory = *summary.memory;
    const bool is_known = !memory.steps.empty();
    io.block("memory", [&] {
      io.nullable("sizes", summary.memory_sizes);
      io.nullable("peak_bytes", is_known ? std::optional(memory.steps[memory.peak].live) : std::nullopt);
      io.nullable("peak_step", is_known ? std::optional(memory.peak) : std::nullopt);
      io.lines("tensors", memory.tensors, [&](const MemoryTimeline::Tensor& tensor) {
        io.field("node", tensor.node);
        io.field("module", tensor.module);
        io.field("bytes", tensor.bytes);
        io.field("made", tensor.made);
        io.field("last_use", tensor.last_use);
        io.mark("kind", tensor.is_inside, "inside");
      });
      io.lines("steps", memory.steps, [&](const MemoryTimeline::Step& step) {
        io.nullable("node", step.node);
        io.field("module", step.module);
        io.nullable("target", step.target);
        io.field("allocated_bytes", step.allocated);
        io.field("live_bytes", step.live);
        io.field("kept_bytes", step.kept);
      });
    });
  }
}

// The JSON of `fxtrace order` (schemas/order.schema.json); graph/collection_fields.h says what a description
// is.

struct OrderAnswer {
  const UseOrder& order;
  const FsdpPlan& plan;
};

// What a module has in each of its lists.
void describe(auto& io, const UseOrder::Module& module) {
  io.field("path", module.path);
  io.nullable("type", module.type);
  io.field("status", module.status);
  io.field("shared", module.shared);
  io.field("parameters", module.parameters);
}

void describe(auto& io, const UseOrder::Parameter& parameter) {
  io.field("name", parameter.name);
  io.field("shape", parameter.shape);
  io.field("dtype", parameter.dtype);
  io.field("bytes", parameter.bytes);
  io.field("tied", parameter.tied);
}

void describe(auto& io, const OrderAnswer& answer) {
  const UseOrder& order = answer.order;
  const auto describe_place = [&](const UseOrder::Place& place) {
    io.named("graph", place.graph, order.graphs, &UseOrder::Calls::module);
    io.nullable("call", place.call > 0 ? std::optional(place.call) : std::nullopt);
  };
  const auto modules = [&](bool are_methods) {
    return std::views::filter(order.modules,
                              [=](const auto& item) { return item.method.empty() != are_methods; });
  };
  io.field("model", order.model);
  io.field("used", order.used);
  io.field("unused", order.not_used);
  io.lines("graphs", order.graphs, [&](const UseOrder::Calls& graph) {
    std::vector<std::string> calls;
    for (const UseOrder::Call& call : graph.calls) {
      if (call.number > 0) calls.push_back(order.modules[call.module].path);
    }
    io.field("module", graph.module);
    io.field("calls", calls);
  });
  io.lines("modules", modules(false), [&](const UseOrder::Module& module) {
    describe(io, module);
    io.optional("macs", module.macs);
    io.list("calls", module.calls, describe_place);
  });
  if (io.has("methods", !modules(true).empty())) {
    io.lines("methods", modules(true), [&](const UseOrder::Module& module) {
      io.field("method", module.method);
      describe(io, module);
      io.field("call_count", module.calls.size());
    });
  }
  io.field("never_called", order.never_called);
  io.lines("parameters", order.parameters, [&](const UseOrder::Parameter& parameter) {
    describe(io, parameter);
    io.field("use_count", parameter.use_count);
    io.list("uses", parameter.uses, [&](const UseOrder::Use& use) {
      describe_place(use.place);
      io.field("module", use.module);
      io.field("node", use.node);
    });
  });
  io.field("unused_parameters", order.unused);
  if (order.buckets) {
    io.block("buckets", [&] {
      io.field("most_bytes", order.buckets->most_bytes);
      io.lines("list", order.buckets->list, [&](const UseOrder::Bucket& bucket) {
        std::vector<std::string> names;
        for (const std::size_t parameter : bucket.parameters)
          names.push_back(order.parameters[parameter].name);
        io.field("bytes", bucket.bytes);
        io.field("parameters", names);
      });
    });
  } else {
    io.null("buckets");
  }
  io.block("fsdp2", [&] {
    const auto prefetch = [&](const auto& pair) {
      io.field("module", pair.first);
      io.field("next", pair.second);
    };
    io.field("units", answer.plan.units);
    io.list("forward_prefetch", answer.plan.forward, prefetch);
    io.list("backward_prefetch", answer.plan.backward, prefetch);
    io.lines("left_out", answer.plan.left_out, [&](const FsdpPlan::LeftOut& block) {
      io.field("path", block.path);
      io.field("reason", block.reason);
    });
  });
}

// The JSON of `fxtrace diff` (schemas/comparison.schema.json); graph/collection_fields.h says what a
// description is.

template <>
inline constexpr bool kOnLines<ModuleDifferences> = true;

void describe(auto& io, const ComparedModel& model) {
  describe(io, model.model);
  io.field("modules", model.modules);
  io.field("failed_modules", model.failed);
  io.field("nodes", model.nodes);
  io.field("parameters", model.parameters);
  io.field("buffers", model.buffers);
  io.nullable("macs", model.macs);
  io.nullable("activation_bytes", model.activation_bytes);
  io.nullable("peak_bytes", model.peak_bytes);
  io.field("partial", model.is_partial);
}

void describe(auto& io, const ModuleDifferences& module) {
  io.field("path", module.path);
  io.nullable("path_after", module.other);
  io.nullable("type", module.type);
  io.object("contents", [&] {
    io.field("modules", module.modules);
    io.field("parameters", module.parameters);
    io.field("nodes", module.nodes);
  });
  io.lines("differences", module.differences, [&](const Difference& difference) {
    io.field("kind", difference.kind);
    io.field("change", difference.change);
    io.field("subject", difference.subject);
    const bool is_moved = difference.kind == DifferenceKind::kModules && difference.change == Change::kMoved;
    const bool has_other = is_moved || !difference.other.empty();  // that of the root is empty
    io.nullable("subject_after", has_other ? std::optional(difference.other) : std::nullopt);
    io.nullable("field", difference.field);
    io.nullable("before", difference.before);
    io.nullable("after", difference.after);
    io.nullable("text", difference.text);
    io.field("graph", difference.graph);
    io.field("users", difference.users);
    io.nullable("source", difference.source);
    io.nullable("within", difference.within);
    io.field("follows", difference.follows);
  });
}

void describe(auto& io, const ModelComparison& comparison) {
  io.field("before", comparison.before);
  io.field("after", comparison.after);
  io.field("equal", comparison.is_equal());
  std::vector<DifferenceKind> all, told;
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) all.push_back(static_cast<DifferenceKind>(i));
  std::ranges::copy_if(all, std::back_inserter(told), [&](auto kind) { return comparison.told.has(kind); });
  io.field("kinds", told);
  io.block("counts", [&] {
    for (const DifferenceKind kind : all) {
      io.object(to_string(kind), [&] {
        for (const Change change : {Change::kAdded, Change::kRemoved, Change::kMoved, Change::kChanged})
          io.field(to_string(change), comparison.count(kind, change));
      });
    }
  });
  io.optional("unlisted", comparison.unlisted);
  io.object("weights", [&] {
    io.field("compared", comparison.weights.compared);
    io.field("differ", comparison.weights.differ);
    io.field("not_compared", comparison.weights.not_compared);
    io.field("bytes_before", comparison.weights.bytes_before);
    io.field("bytes_after", comparison.weights.bytes_after);
    io.field("by", comparison.weights.by_bytes ? "bytes" : "checksums");
  });
  io.field("modules", comparison.modules);
}

}  // namespace fxtrace::internal
