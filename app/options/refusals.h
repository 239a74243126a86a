// Reports what a program of torch.export cannot express.
#pragma once

#include <vector>

#include "app/console.h"
#include "app/output/files.h"
#include "archive/file_kind.h"
#include "convert/lower/lowering.h"

namespace fxtrace::internal::cli {

// Reports all refusals at once; equal ones are counted.
void report_refusals(const std::vector<Refusal>& refusals, const InputFile& input, Console& console);

}  // namespace fxtrace::internal::cli
