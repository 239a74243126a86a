// Output of `fxtrace inspect` about models compiled by AOTInductor, as text and as JSON.
#pragma once

#include <ostream>
#include <vector>

#include "archive/compiled_model.h"
#include "support/json_emitter.h"

namespace fxtrace::cli {

// Writes a paragraph for each model, preceded by an empty line.
void write_compiled_models(const std::vector<CompiledModel>& models, std::ostream& out);
// Writes a field `compiled_models` if there are any.
void write_compiled_models(const std::vector<CompiledModel>& models, JsonEmitter& json);

}  // namespace fxtrace::cli
