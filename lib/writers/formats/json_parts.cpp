#include "writers/formats/json_parts.h"

#include "writers/formats/field_writer.h"

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
  FieldWriter fields(json);
  describe(fields, model);
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
  FieldWriter(json).optional("stored", stored);
}

void write_source(JsonEmitter& json, const std::optional<SourceLocation>& source, std::string_view name) {
  FieldWriter(json).nullable(name, source);
}

void write_failure(JsonEmitter& json, const std::optional<Failure>& failure) {
  FieldWriter(json).nullable("failure", failure);
}

}  // namespace fxtrace
