// Decisions of a generator, made from bytes: the same bytes make the same program, and fewer bytes a smaller
// one, so that a failing case can be reduced without knowledge of its form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fxtrace::internal::fuzz {

class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  // Returns a number below `end`, which is at most 65536; 0 when no bytes are left.
  std::size_t below(std::size_t end) {
    if (end <= 1) return 0;
    std::size_t value = next();
    if (end > 256) value = value << 8 | next();
    return value % end;
  }
  bool one_in(std::size_t count) { return below(count) == count - 1; }
  bool is_empty() const { return at_ >= bytes_.size(); }

 private:
  std::size_t next() { return is_empty() ? 0 : static_cast<unsigned char>(bytes_[at_++]); }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace fxtrace::internal::fuzz
