// A file in memory.
#pragma once

#include <string>
#include <string_view>

#include "archive/model_file.h"

namespace fxtrace::internal::fuzz {

ModelFile memory_file(std::string_view bytes);

}  // namespace fxtrace::internal::fuzz
