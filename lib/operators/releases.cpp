#include "operators/releases.h"

#include <algorithm>

#include "support/error.h"
#include "support/text/numbers.h"

namespace fxtrace::internal {
namespace {

using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace): for the lines

struct Row {
  std::string_view name, since, until;  // "-": always
};
constexpr Row kHistory[] = {
#include "schemas/operators/history.inc"
};
static_assert(std::ranges::is_sorted(kHistory, {}, &Row::name));

}  // namespace

std::string release_text(int release) { return "2." + std::to_string(release); }

std::optional<int> find_release(std::string_view text) {
  if (!text.starts_with("2.")) return std::nullopt;
  text.remove_prefix(2);
  const auto number = number_in<int>(text.substr(0, text.find('.')));
  return number && *number >= kFirstRelease && *number <= kLastRelease ? number : std::nullopt;
}

int release_of(std::string_view text) {
  if (const auto release = find_release(text)) return *release;
  throw usage_error("'" + std::string(text) + "' is no release of torch that fxtrace writes for: " +
                    release_text(kFirstRelease) + " to " + release_text(kLastRelease));
}

Releases releases_of(std::string_view name) {
  Releases result;
  const auto row = std::ranges::lower_bound(kHistory, name, {}, &Row::name);
  if (row == std::end(kHistory) || row->name != name) return result;
  result.since = find_release(row->since).value_or(result.since);
  result.until = find_release(row->until).value_or(result.until);
  return result;
}

}  // namespace fxtrace::internal
