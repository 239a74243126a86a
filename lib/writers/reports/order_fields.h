// The JSON of `fxtrace order` (schemas/order.schema.json); graph/collection_fields.h says what a description
// is.
#pragma once

#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "summaries/fsdp_plan.h"
#include "summaries/use_order.h"
#include "writers/formats/total_fields.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
