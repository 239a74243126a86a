// TorchScript archives that load, as far as their types go, and do what no model does.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxtrace::fuzz {

struct GeneratedArchive {
  std::string code;   // code/__torch__.py
  std::string bytes;  // of the whole archive, with right checksums
};

// The same bytes give the same archive; every string is one.
GeneratedArchive generate_archive(std::string_view choices);

// One for every form of expression and statement, by the form: each must load.
std::vector<std::pair<std::string, GeneratedArchive>> archives_of_forms();

}  // namespace fxtrace::fuzz
