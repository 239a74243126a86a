// The answer of `fxtrace order` as JSON.
#include <algorithm>
#include <functional>
#include <optional>
#include <ranges>

#include "writers/formats/json_parts.h"
#include "writers/reports/order_writers.h"

namespace fxtrace {
namespace {

class OrderJsonWriter {
 public:
  OrderJsonWriter(const UseOrder& order, std::ostream& out) : order_(order), json_(out) {}

  void document(const FsdpPlan& plan) {
    json_.document([&] {
      write_format(json_, "fxtrace.order", 1);
      json_.key("model").object([&] { write_model_fields(json_, order_.model); });
      write_total(json_, "used", order_.used);
      write_total(json_, "unused", order_.not_used);
      json_.key("graphs").objects_lines(order_.graphs, [&](const auto& graph) { calls(graph); });
      const auto is_method = [](const UseOrder::Module& item) { return !item.method.empty(); };
      json_.key("modules").objects_lines(order_.modules | std::views::filter(std::not_fn(is_method)),
                                         [&](const auto& item) { module(item, true); });
      if (std::ranges::any_of(order_.modules, is_method)) {
        json_.key("methods").objects_lines(order_.modules | std::views::filter(is_method),
                                           [&](const auto& item) {
                                             json_.field("method", item.method);
                                             module(item, false);
                                             json_.field("call_count", item.calls.size());
                                           });
      }
      json_.key("never_called").objects_lines(order_.never_called, [&](const auto& item) {
        module(item, false);
      });
      json_.key("parameters").objects_lines(order_.parameters, [&](const auto& item) {
        parameter(item, true);
      });
      json_.key("unused_parameters").objects_lines(order_.unused, [&](const auto& item) {
        parameter(item, false);
      });
      json_.key("buckets");
      order_.buckets ? buckets(*order_.buckets) : json_.null();
      json_.key("fsdp2").object_lines([&] { fsdp(plan); });
    });
  }

 private:
  void calls(const UseOrder::Calls& graph) {
    json_.field("module", graph.module);
    const auto is_numbered = [](const UseOrder::Call& call) { return call.number > 0; };
    json_.key("calls").list(graph.calls | std::views::filter(is_numbered), [&](const UseOrder::Call& call) {
      json_.string(order_.modules[call.module].path);
    });
  }

  void place(const UseOrder::Place& place) {
    json_.field("graph", order_.graphs[place.graph].module);
    json_.field("call", place.call > 0 ? std::optional(place.call) : std::nullopt);
  }

  void module(const UseOrder::Module& module, bool is_called) {
    json_.field("path", module.path);
    json_.text_or_null("type", module.type);
    json_.field("status", to_string(module.status));
    json_.field("shared", module.shared);
    write_total(json_, "parameters", module.parameters);
    if (!is_called) return;
    if (module.macs) json_.field("macs", module.macs);
    json_.key("calls").objects(module.calls, [&](const UseOrder::Place& call) { place(call); });
  }

  void parameter(const UseOrder::Parameter& parameter, bool is_used) {
    json_.field("name", parameter.name);
    json_.field("shape", parameter.shape);
    json_.field("dtype", parameter.dtype);
    json_.field("bytes", parameter.bytes);
    json_.field("tied", parameter.tied);
    if (!is_used) return;
    json_.field("use_count", parameter.use_count);
    json_.key("uses").objects(parameter.uses, [&](const UseOrder::Use& use) {
      place(use.place);
      json_.field("module", use.module);
      json_.field("node", use.node);
    });
  }

  void buckets(const UseOrder::Buckets& buckets) {
    json_.object_lines([&] {
      json_.field("most_bytes", buckets.most_bytes);
      json_.key("list").objects_lines(buckets.list, [&](const UseOrder::Bucket& bucket) {
        json_.field("bytes", bucket.bytes);
        json_.key("parameters").list(bucket.parameters, [&](std::size_t parameter) {
          json_.string(order_.parameters[parameter].name);
        });
      });
    });
  }

  void fsdp(const FsdpPlan& plan) {
    json_.field("units", plan.units);
    for (const auto& [key, pairs] :
         {std::pair("forward_prefetch", &plan.forward), std::pair("backward_prefetch", &plan.backward)}) {
      json_.key(key).objects(*pairs, [&](const auto& pair) {
        json_.field("module", pair.first);
        json_.field("next", pair.second);
      });
    }
    json_.key("left_out").objects_lines(plan.left_out, [&](const FsdpPlan::LeftOut& block) {
      json_.field("path", block.path);
      json_.field("reason", block.reason);
    });
  }

  const UseOrder& order_;
  JsonEmitter json_;
};

}  // namespace

void write_order_json(const UseOrder& order, const FsdpPlan& plan, std::ostream& out) {
  OrderJsonWriter(order, out).document(plan);
}

}  // namespace fxtrace
