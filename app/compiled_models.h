// What `fxtrace inspect` shows of models that AOTInductor compiled, and its two forms.
#pragma once

#include <ostream>
#include <vector>

#include "archive/compiled_model.h"
#include "support/json_emitter.h"

namespace fxtrace::cli {

// A paragraph for each, with an empty line before it.
void write_compiled_models(const std::vector<CompiledModel>& models, std::ostream& out);
// A field `compiled_models` when there are any.
void write_compiled_models(const std::vector<CompiledModel>& models, JsonEmitter& json);

}  // namespace fxtrace::cli
