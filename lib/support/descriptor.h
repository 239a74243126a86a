// A file descriptor with an owner.
#pragma once

#include <utility>

#include <unistd.h>

namespace fxtrace {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}  // as open() gave it: negative for none
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  // Whoever asks closes it, and may want to know whether that went well.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace fxtrace
