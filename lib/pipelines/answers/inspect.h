// The content of a model's file.
#pragma once

#include <variant>

#include "pipelines/read_model.h"
#include "summaries/inspection.h"

namespace fxtrace::internal {

// Returns the inspection of a traced program; or that of the file, where there are several programs and the
// options name none, where it has compiled models only, and where it holds no program.  Throws Error(kInput)
// at the file.
std::variant<FileInspection, Inspection> inspect_file(const Config& config, const NamedFile& file, Run& run);

}  // namespace fxtrace::internal
