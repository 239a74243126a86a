// Makes zip archives with uncompressed records and correct checksums, so that a fuzzer's bytes reach the
// readers of the records.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxtrace::internal::fuzz {

std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& records);

}  // namespace fxtrace::internal::fuzz
