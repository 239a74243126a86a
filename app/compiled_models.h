// What `fxtrace inspect` shows of models that AOTInductor compiled, and its two forms.
#pragma once

#include <ostream>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "archive/compiled_model.h"

namespace fxtrace::cli {

// A paragraph for each, with an empty line before it.
void write_compiled_models(const std::vector<CompiledModel>& models, std::ostream& out);
// An array.
nlohmann::ordered_json compiled_models_json(const std::vector<CompiledModel>& models);

}  // namespace fxtrace::cli
