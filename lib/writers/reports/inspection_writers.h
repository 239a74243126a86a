// Writes the answer of `fxtrace inspect`; schemas/inspection.schema.json describes the JSON.
#pragma once

#include <ostream>

#include "summaries/inspection.h"

namespace fxtrace::internal {

void write_inspection_text(const Inspection& inspection, std::ostream& out);
void write_inspection_json(const Inspection& inspection, std::ostream& out);
void write_file_text(const FileInspection& inspection, std::ostream& out);
void write_file_json(const FileInspection& inspection, std::ostream& out);

}  // namespace fxtrace::internal
