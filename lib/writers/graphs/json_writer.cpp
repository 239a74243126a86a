#include "writers/graphs/json_writer.h"

#include "graph/analysis/collection_summary.h"
#include "writers/formats/field_writer.h"
#include "writers/formats/json_parts.h"

namespace fxtrace::internal {

void write_json(const GraphCollection& collection, std::ostream& out) {
  JsonEmitter json(out);
  FieldWriter fields(json, true);
  json.document([&] {
    write_format(json, "fxtrace.graph_collection", 1);
    fields.field("model", collection.model);
    json.key("options").raw(collection.options_json);
    const Summary summary = summarize(collection);
    json.key("summary").object_lines([&] {
      json.field("graphs", summary.graphs);
      json.field("nodes", summary.nodes);
      json.key("modules").object([&] {
        for (const auto& [status, count] : summary.modules) json.field(to_string(status), count);
      });
      json.field("parameters", summary.parameters);
      json.field("unused_parameters", collection.unused_parameters);
      fields.optional("cost", summary.cost);
    });
    fields.field("modules", collection.modules);
    fields.field("parameters", collection.parameters);
    fields.field("graphs", collection.graphs);
  });
}

}  // namespace fxtrace::internal
