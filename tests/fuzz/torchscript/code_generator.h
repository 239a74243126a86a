// Generates TorchScript archives that load, as far as their types go, and do what no real model does.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxtrace::internal::fuzz {

struct GeneratedArchive {
  std::string code;   // code/__torch__.py
  std::string bytes;  // the whole archive, with correct checksums
};

// The same bytes give the same archive; every string gives one.
GeneratedArchive generate_archive(std::string_view choices);

// Returns one archive for every form of expression and statement, with the form: each must load.
std::vector<std::pair<std::string, GeneratedArchive>> archives_of_forms();

}  // namespace fxtrace::internal::fuzz
