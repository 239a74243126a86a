#include "writers/formats/json_parts.h"

namespace fxtrace::internal {

void write_format(JsonEmitter& json, std::string_view format, int version) {
  json.field("format", format);
  json.field("version", version);
  json.key("producer").object([&] {
    json.field("name", "fxtrace");
    json.field("version", FXTRACE_VERSION);
  });
}

}  // namespace fxtrace::internal
