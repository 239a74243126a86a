// Writers of fields that several JSON documents share.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "support/json_emitter.h"

namespace fxtrace {

// Writes the first fields of a document: its format, the format's version, and the producer.
void write_format(JsonEmitter& json, std::string_view format, int version);
// Writes the fields that identify the model into the current object.
void write_model_fields(JsonEmitter& json, const GraphCollection::Model& model);
void write_total(JsonEmitter& json, std::string_view name, const TensorTotal& total, bool with_kinds = false);
// Writes "stored"; nothing for plain tensors.
void write_stored(JsonEmitter& json, const std::vector<StoredPart>& stored);
// Write the field; null when it is unknown.
void write_source(JsonEmitter& json, const std::optional<SourceLocation>& source,
                  std::string_view name = "source");
void write_failure(JsonEmitter& json, const std::optional<Failure>& failure);

}  // namespace fxtrace
