// What is undone at the end of a scope: file descriptors, and anything else.
#pragma once

#include <functional>
#include <utility>

#include <unistd.h>

namespace fxtrace::internal {

// A file descriptor that is closed by its owner.

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}  // the result of open(): negative for none
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
  // Transfers ownership to the caller, who may want to check the result of close().
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// A scope guard.

// Calls a function at the end of a scope, however the scope is left.
class Restore {
 public:
  explicit Restore(std::function<void()> f) : f_(std::move(f)) {}
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;
  ~Restore() { f_(); }

 private:
  std::function<void()> f_;
};

}  // namespace fxtrace::internal
