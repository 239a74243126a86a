#include "writers/formats/json_parts.h"

namespace fxtrace {

void write_format(JsonEmitter& json, std::string_view format, int version) {
  json.field("format", format);
  json.field("version", version);
  json.key("producer").object([&] {
    json.field("name", "fxtrace");
    json.field("version", FXTRACE_VERSION);
  });
}

void write_model_fields(JsonEmitter& json, const GraphCollection::Model& model) {
  json.field("file", model.file);
  json.field("kind", model.kind);
  json.text_or_null("type", model.type);
  json.field("method", model.method);
}

void write_total(JsonEmitter& json, std::string_view name, const TensorTotal& total, bool with_kinds) {
  json.key(name).object([&] {
    json.field("tensors", total.tensors);
    json.field("elements", total.elements);
    json.field("bytes", total.bytes);
    if (!with_kinds) return;
    json.field("dtypes", total.dtypes);
    json.field("devices", total.devices);
  });
}

void write_stored(JsonEmitter& json, const std::vector<StoredPart>& stored) {
  if (stored.empty()) return;
  json.key("stored").objects(stored, [&](const StoredPart& part) {
    json.field("name", part.name);
    json.field("shape", part.shape);
    json.field("dtype", part.dtype);
  });
}

void write_source(JsonEmitter& json, const std::optional<SourceLocation>& source, std::string_view name) {
  json.key(name);
  if (!source) return json.null();
  json.object([&] {
    json.field("file", source->file);
    json.field("line", source->line > 0 ? std::optional(source->line) : std::nullopt);
    json.field("function", source->function);
    json.field("text", source->text);
  });
}

void write_failure(JsonEmitter& json, const std::optional<Failure>& failure) {
  json.key("failure");
  if (!failure) return json.null();
  json.object([&] {
    json.field("kind", to_string(failure->kind));
    json.field("message", failure->message);
    json.field("module", failure->module);
    json.text_or_null("op", failure->op);
    write_source(json, failure->source);
  });
}

}  // namespace fxtrace
