// Reference counting for values of TorchScript that have an identity.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace fxtrace::internal::torchscript {

// Base of reference-counted objects.  The count is not atomic: all holders must be on one thread.  Objects
// are freed without recursion, however deeply they are nested.  Cycles are never freed: the pickles of an
// archive have none, and the cycles that code makes are bounded by its budget.
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

 protected:
  RefCounted() = default;
  virtual ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  friend class Value;

  void hold() noexcept { ++holders_; }
  void let_go() noexcept {
    if (--holders_ == 0) free(this);
  }
  static void free(RefCounted* last) noexcept;

  std::uint32_t holders_ = 0;
  RefCounted* next_ = nullptr;  // in the list of objects to be freed
};

// A counted reference to a T, or null.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): as pointers have it
  explicit Ref(T* value) : value_(value) {
    if (value_ != nullptr) value_->hold();
  }
  Ref(const Ref& other) : Ref(other.value_) {}
  Ref(Ref&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  template <class U>
    requires(!std::same_as<U, T> && std::convertible_to<U*, T*>)
  Ref(const Ref<U>& other) : Ref(other.get()) {}  // NOLINT(google-explicit-constructor): likewise
  Ref& operator=(Ref other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Ref() {
    if (value_ != nullptr) value_->let_go();
  }

  T* get() const { return value_; }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }
  explicit operator bool() const { return value_ != nullptr; }
  bool operator==(const Ref& other) const { return value_ == other.value_; }

 private:
  T* value_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_counted(Arguments&&... arguments) {
  return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace fxtrace::internal::torchscript
