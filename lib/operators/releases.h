// Releases of torch that read programs of today's schema, and which of them have an operator.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// A release by the number behind "2.": 2.6 to 2.15.
inline constexpr int kFirstRelease = 6, kLastRelease = 15;

std::string release_text(int release);  // "2.7"
// Returns the release of that text, which may name a patch too ("2.7.1"); nothing for others.
std::optional<int> find_release(std::string_view text);
// Likewise; throws Error(kUsage) for others.
int release_of(std::string_view text);

// The releases from `since` up to the one before `until`.
struct Releases {
  int since = kFirstRelease, until = kLastRelease + 1;

  bool includes(int release) const { return since <= release && release < until; }
  bool are_all() const { return since == kFirstRelease && until > kLastRelease; }
  bool operator==(const Releases&) const = default;
};

// Returns the releases that have the operator ("aten::stft", "higher_order::scan", "_operator.and_"), or the
// argument of one ("aten::stft/align_to_window"); all releases for what schemas/operators/history.txt does
// not name.
Releases releases_of(std::string_view name);

}  // namespace fxtrace::internal
