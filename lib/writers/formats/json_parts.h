// Writers of whole JSON documents.
#pragma once

#include <ostream>
#include <string_view>

#include "support/json_emitter.h"
#include "writers/formats/field_writer.h"

namespace fxtrace::internal {

// Writes the first fields of a document: its format, the format's version, and the producer.
void write_format(JsonEmitter& json, std::string_view format, int version);

// Writes the document that the record's description says.
template <class Record>
void write_fields(const Record& record, std::ostream& out, JsonLayout layout = JsonLayout::kSpaced) {
  JsonEmitter json(out, layout);
  json.document([&] {
    FieldWriter io(json, true);
    describe(io, record);
  });
}

// Writes a report: the fields of write_format(), and those that its description says.
template <class Report>
void write_report(const Report& report, std::string_view format, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    write_format(json, format, 1);
    FieldWriter io(json, true);
    describe(io, report);
  });
}

}  // namespace fxtrace::internal
