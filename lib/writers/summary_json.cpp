#include "writers/summary_json.h"

#include <nlohmann/json.hpp>

namespace fxtrace {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Empty is not known.
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json size_json(const std::optional<SymInt>& size) {
  if (!size) return nullptr;
  const auto number = size->number();
  return number ? Json(*number) : Json(size->text());
}

Json shape_json(const Meta& meta) {
  if (!meta.shape) return nullptr;
  Json shape = Json::array();
  for (const auto& dim : *meta.shape) {
    const auto number = dim.number();
    shape.push_back(number ? Json(*number) : Json(dim.text()));
  }
  return shape;
}

Json ports_json(const std::vector<ModelSummary::Port>& ports) {
  Json json = Json::array();
  for (const auto& [name, meta] : ports) {
    json.push_back(Json{{"name", name},
                        {"type", or_null(meta.type)},
                        {"dtype", or_null(meta.dtype)},
                        {"shape", shape_json(meta)}});
  }
  return json;
}

Json total_json(const TensorTotal& total) {
  return {{"tensors", total.tensors}, {"elements", total.elements}, {"bytes", total.bytes}};
}

Json sizes_json(const TensorCount& own, const TensorCount& all) {
  return {{"own_elements", own.elements},
          {"own_bytes", own.bytes},
          {"elements", all.elements},
          {"bytes", all.bytes}};
}

Json row_json(const SummaryRow& row) {
  Json json;
  json["path"] = row.path;
  json["last_path"] = or_null(row.last);
  json["modules"] = row.modules;
  json["depth"] = row.depth;
  json["type"] = text_or_null(row.type);
  json["status"] = to_string(row.status);
  json["alias_of"] = or_null(row.alias_of);
  json["calls"] = row.calls;
  json["outputs"] = nullptr;
  if (row.outputs) {
    json["outputs"] = Json::array();
    for (const Meta& meta : *row.outputs)
      json["outputs"].push_back(Json{{"dtype", or_null(meta.dtype)}, {"shape", shape_json(meta)}});
  }
  json["parameters"] = sizes_json(row.own_parameters, row.parameters);
  json["parameters"]["shared_elements"] = row.shared_parameters.elements;
  json["parameters"]["shared_bytes"] = row.shared_parameters.bytes;
  json["buffers"] = sizes_json(row.own_buffers, row.buffers);
  json["macs"] = size_json(row.macs);
  json["activation_bytes"] = size_json(row.activation_bytes);
  json["unknown_calls"] = row.unknown;
  json["unsized_calls"] = row.unsized;
  json["failed_modules"] = row.failed;
  return json;
}

Json failed_json(const ModelSummary::FailedModule& module) {
  return {{"path", module.path},
          {"type", text_or_null(module.type)},
          {"kind", module.failure ? Json(to_string(module.failure->kind)) : Json(nullptr)},
          {"message", module.failure ? Json(module.failure->message) : Json(nullptr)}};
}

Json totals_json(const ModelSummary& summary) {
  Json json;
  json["modules"] = summary.modules;
  json["parameters"] = total_json(summary.parameters);
  json["buffers"] = total_json(summary.buffers);
  json["constants"] = total_json(summary.constants);
  json["dtypes"] = Json::object();
  for (const auto& [dtype, bytes] : summary.dtypes) json["dtypes"][dtype] = bytes;
  auto devices = summary.parameters.devices;
  devices.insert(summary.buffers.devices.begin(), summary.buffers.devices.end());
  json["devices"] = devices;
  json["macs"] = size_json(summary.macs);
  json["activation_bytes"] = size_json(summary.activation_bytes);
  json["peak_bytes"] = size_json(summary.peak_bytes);
  json["unknown_operators"] = Json::object();
  for (const auto& [name, calls] : summary.unknown) json["unknown_operators"][name] = calls;
  json["unsized_calls"] = summary.unsized;
  json["failed_modules"] = Json::array();
  for (const auto& module : summary.failed) json["failed_modules"].push_back(failed_json(module));
  return json;
}

// On one line, as Python writes it.
std::string inline_text(const Json& json) {
  if (!json.is_structured()) return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text(1, json.is_array() ? '[' : '{');
  for (const auto& [key, value] : json.items()) {
    if (text.size() > 1) text += ", ";
    if (json.is_object()) text += inline_text(Json(key)) + ": ";
    text += inline_text(value);
  }
  return text + (json.is_array() ? ']' : '}');
}

// The parts of the document on lines of their own, and so the items of `modules` and what has keys in
// `totals`.
std::string part_text(const std::string& key, const Json& json) {
  if ((key != "modules" && key != "totals") || json.empty()) return inline_text(json);
  std::string text;
  for (const auto& [name, value] : json.items()) {
    text += text.empty() ? (json.is_array() ? "[\n    " : "{\n    ") : ",\n    ";
    if (json.is_object()) text += inline_text(Json(name)) + ": ";
    text += inline_text(value);
  }
  return text + (json.is_array() ? "\n  ]" : "\n  }");
}

}  // namespace

void write_summary_json(const ModelSummary& summary, std::ostream& out) {
  Json json;
  json["format"] = "fxtrace.summary";
  json["version"] = 1;
  json["producer"] = {{"name", "fxtrace"}, {"version", FXTRACE_VERSION}};
  json["model"] = {{"file", summary.model.file},
                   {"kind", summary.model.kind},
                   {"type", text_or_null(summary.model.type)},
                   {"method", summary.model.method},
                   {"written_by", text_or_null(summary.producer)}};
  json["inputs"] = ports_json(summary.inputs);
  json["outputs"] = ports_json(summary.outputs);
  json["totals"] = totals_json(summary);
  json["folded"] = summary.is_folded;
  json["max_depth"] = or_null(summary.max_depth);
  json["modules"] = Json::array();
  for (const SummaryRow& row : summary.rows) json["modules"].push_back(row_json(row));
  const char* before = "{\n  ";
  for (const auto& [key, value] : json.items()) {
    out << before << inline_text(Json(key)) << ": " << part_text(key, value);
    before = ",\n  ";
  }
  out << "\n}\n";
}

}  // namespace fxtrace
