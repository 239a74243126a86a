// The answer of `fxtrace summary` as JSON.
#include "writers/formats/json_parts.h"
#include "writers/reports/summary_writers.h"

namespace fxtrace {
namespace {

class SummaryJsonWriter {
 public:
  explicit SummaryJsonWriter(std::ostream& out) : json_(out) {}

  void document(const ModelSummary& summary) {
    columns_ = summary.columns;
    json_.document([&] {
      write_format(json_, "fxtrace.summary", 1);
      json_.key("model").object([&] {
        write_model_fields(json_, summary.model);
        json_.text_or_null("written_by", summary.producer);
      });
      ports("inputs", summary.inputs);
      ports("outputs", summary.outputs);
      json_.key("totals").object_lines([&] { totals(summary); });
      json_.field("folded", summary.is_folded);
      json_.field("max_depth", summary.max_depth);
      json_.key("modules").objects_lines(summary.rows, [&](const SummaryRow& each) { row(each); });
    });
  }

 private:
  void shape_and_dtype(const Meta& meta) {
    json_.field("dtype", meta.dtype_text());
    json_.field("shape", meta.shape);
  }

  void ports(const char* key, const std::vector<ModelSummary::Port>& ports) {
    json_.key(key).objects(ports, [&](const ModelSummary::Port& port) {
      json_.field("name", port.name);
      json_.field("type", port.meta.type);
      shape_and_dtype(port.meta);
    });
  }

  void sizes(const TensorCount& own, const TensorCount& all) {
    json_.field("own_elements", own.elements);
    json_.field("own_bytes", own.bytes);
    json_.field("elements", all.elements);
    json_.field("bytes", all.bytes);
  }

  void row(const SummaryRow& row) {
    json_.field("path", row.path);
    json_.field("last_path", row.last);
    json_.field("modules", row.modules);
    json_.field("depth", row.depth);
    json_.text_or_null("type", row.type);
    json_.field("status", to_string(row.status));
    json_.field("alias_of", row.alias_of);
    json_.field("calls", row.calls);
    if (!row.methods.empty()) json_.field("methods", row.methods);
    json_.key("outputs");
    if (row.outputs) {
      json_.objects(*row.outputs, [&](const Meta& meta) { shape_and_dtype(meta); });
    } else {
      json_.null();
    }
    json_.key("parameters").object([&] {
      sizes(row.own_parameters, row.parameters);
      json_.field("shared_elements", row.shared_parameters.elements);
      json_.field("shared_bytes", row.shared_parameters.bytes);
    });
    json_.key("buffers").object([&] { sizes(row.own_buffers, row.buffers); });
    json_.field("macs", row.macs);
    json_.field("activation_bytes", row.activation_bytes);
    json_.field("unknown_calls", row.unknown);
    json_.field("unsized_calls", row.unsized);
    json_.field("failed_modules", row.failed);
    for (const CostColumn column : columns_) {
      if (column == CostColumn::kIntensity) {
        json_.field(to_string(column), arithmetic_intensity(row, {}));
      } else {
        json_.field(to_string(column), column == CostColumn::kWeights ? row.weights_read : row.kv_cache);
      }
    }
  }

  void totals(const ModelSummary& summary) {
    json_.field("modules", summary.modules);
    write_total(json_, "parameters", summary.parameters);
    write_total(json_, "buffers", summary.buffers);
    write_total(json_, "constants", summary.constants);
    json_.field("dtypes", summary.dtypes);
    auto devices = summary.parameters.devices;
    devices.insert(summary.buffers.devices.begin(), summary.buffers.devices.end());
    json_.field("devices", devices);
    json_.field("macs", summary.macs);
    json_.field("activation_bytes", summary.activation_bytes);
    json_.field("peak_bytes", summary.peak_bytes);
    json_.field("unknown_operators", summary.unknown);
    json_.field("unsized_calls", summary.unsized);
    json_.key("failed_modules").objects(summary.failed, [&](const ModelSummary::FailedModule& module) {
      const auto& failure = module.failure;
      json_.field("path", module.path);
      json_.text_or_null("type", module.type);
      json_.field("kind", failure ? std::optional(to_string(failure->kind)) : std::nullopt);
      json_.field("message", failure ? std::optional(failure->message) : std::nullopt);
    });
  }

  JsonEmitter json_;
  std::vector<CostColumn> columns_;  // the requested columns
};

}  // namespace

void write_summary_json(const ModelSummary& summary, std::ostream& out) {
  SummaryJsonWriter(out).document(summary);
}

}  // namespace fxtrace
