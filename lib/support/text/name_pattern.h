// Patterns that users type for module types, module paths or operators: a glob, or the last part of a name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "support/text/glob.h"

namespace fxtrace::internal {

// A text without a dot or a star that matches no name means the names that end in it: "Linear" is
// torch.nn.modules.linear.Linear, "mlp" is encoder.mlp. settle() decides which, as it takes all names into
// account.
class NamePattern {
 public:
  // Throws as the constructors of Glob do.
  explicit NamePattern(std::string_view text) : NamePattern(text, text, 0) {}
  NamePattern(std::string_view text, std::string_view whole, std::size_t offset)
      : text_(text), glob_(text, whole, offset) {}

  const std::string& text() const { return text_; }
  const Glob& glob() const { return glob_; }
  bool is_bare() const { return text_.find_first_of(".*") == std::string::npos; }
  bool is_last_part() const { return is_last_part_; }  // settle() has decided so

  bool matches(std::string_view name) const { return glob_.matches(name); }

  // Decides whether the text means names that end in it. any() returns whether matches() holds for any name.
  // Returns the final result of any(), and reports (-v) when it is by the last part.
  template <class Any>
  bool settle(const Any& any) {
    if (any()) return true;
    if (!is_bare() || is_last_part_) return false;
    Glob whole = std::exchange(glob_, Glob("**." + text_));
    is_last_part_ = true;
    if (any()) {
      report_last_part();
      return true;
    }
    glob_ = std::move(whole);
    is_last_part_ = false;
    return false;
  }

 private:
  void report_last_part() const;

  std::string text_;
  Glob glob_;
  bool is_last_part_ = false;
};

}  // namespace fxtrace::internal
