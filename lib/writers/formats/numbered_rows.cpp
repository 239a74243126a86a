#include "writers/formats/numbered_rows.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

class Folding {
 public:
  Folding(const std::vector<std::string_view>& names,
          const std::function<bool(std::size_t, std::size_t)>& is_equal)
      : names_(names), is_equal_(is_equal) {}

  std::vector<NumberedRow> fold() {
    std::size_t at = 0;
    while (at < names_.size()) {
      const std::size_t rows = fold_at(at);
      if (rows == 0) rows_.push_back({at, 1, 0, std::string(names_[at]), 0});
      at += rows == 0 ? 1 : rows;
    }
    return std::move(rows_);
  }

 private:
  // The common prefix of the names of a block: "h.12", with the stem "h.".
  struct Prefix {
    std::string_view stem;
    std::int64_t number = 0;
    std::string text() const { return std::string(stem) + std::to_string(number); }
  };

  static std::optional<Prefix> prefix_of(std::string_view name) {
    Prefix prefix{without_last_number(name)};
    const std::string_view digits = name.substr(prefix.stem.size());
    const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix.number);
    constexpr std::size_t kMostDigits = 9;
    const bool is_number =
        failure == std::errc() && digits.size() <= kMostDigits && (digits == "0" || !digits.starts_with('0'));
    return is_number ? std::optional(prefix) : std::nullopt;
  }

  bool is_in(std::size_t row, std::string_view prefix) const {
    return row < names_.size() && (names_[row] == prefix || QualifiedName(names_[row]).is_below(prefix));
  }

  // Returns the number of rows that are folded.
  std::size_t fold_at(std::size_t at) {
    std::size_t folded = 0;
    std::size_t part = 0;
    QualifiedName(names_[at]).for_each_prefix([&](std::string_view prefix) {
      if (folded == 0) folded = fold_blocks(at, prefix, part);
      ++part;
    });
    return folded;
  }

  // Folds the blocks that begin at this row.  A block begins at its first row only, so that each is read
  // once.
  std::size_t fold_blocks(std::size_t at, std::string_view prefix, std::size_t part) {
    const auto first = prefix_of(prefix);
    if (!first || (at > 0 && is_in(at - 1, prefix))) return 0;
    std::size_t length = 0;
    while (is_in(at + length, prefix)) ++length;
    Prefix last = *first;
    std::size_t repeats = 1;
    for (Prefix next = *first;; ++repeats) {
      ++next.number;
      if (!is_same_block(at, length, prefix, at + repeats * length, next.text())) break;
      last = next;
    }
    if (repeats == 1) return 0;
    for (std::size_t i = 0; i < length; ++i) {
      const std::string numbers = std::string(prefix) + " - " + std::to_string(last.number);
      rows_.push_back(
          {at + i, repeats, length, numbers + std::string(names_[at + i].substr(prefix.size())), part});
    }
    return length * repeats;
  }

  bool is_same_block(std::size_t at, std::size_t length, std::string_view prefix, std::size_t other,
                     const std::string& other_prefix) const {
    for (std::size_t i = 0; i < length; ++i) {
      if (!is_in(other + i, other_prefix)) return false;
      const auto rest = names_[at + i].substr(prefix.size());
      if (names_[other + i].substr(other_prefix.size()) != rest || !is_equal_(at + i, other + i))
        return false;
    }
    return !is_in(other + length, other_prefix);
  }

  const std::vector<std::string_view>& names_;
  const std::function<bool(std::size_t, std::size_t)>& is_equal_;
  std::vector<NumberedRow> rows_;
};

}  // namespace

std::vector<NumberedRow> fold_numbered(const std::vector<std::string_view>& names,
                                       const std::function<bool(std::size_t, std::size_t)>& is_equal) {
  return Folding(names, is_equal).fold();
}

}  // namespace fxtrace::internal
