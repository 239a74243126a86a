// Zip archives with stored records and right checksums, so that a fuzzer's bytes get through to what reads
// the records.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxtrace::fuzz {

std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& records);

}  // namespace fxtrace::fuzz
