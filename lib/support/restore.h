// A scope guard.
#pragma once

#include <functional>
#include <utility>

namespace fxtrace::internal {

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
