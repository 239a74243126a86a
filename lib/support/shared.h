// Values that share memory: copy-on-write values, and texts that are parts of larger ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fxtrace::internal {

// A copy-on-write value.  Values that many nodes share, or that are empty, take one pointer each.

template <class T>
class Shared {
 public:
  Shared() = default;  // T's default value, which takes no memory
  template <class U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Shared>)
  Shared(U&& value) {  // NOLINT: implicit on purpose, it stands for the value
    T own(std::forward<U>(value));
    if (!(own == T{})) value_ = std::make_shared<T>(std::move(own));
  }

  const T& operator*() const {
    static const T none{};
    return value_ == nullptr ? none : *value_;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // NOLINT: likewise
  operator std::string_view() const             // NOLINT: likewise
    requires std::is_same_v<T, std::string>
  {
    return **this;
  }

  // Returns the value to be changed; other copies do not see the changes.
  T& edit() {
    if (value_ == nullptr || value_.use_count() > 1) value_ = std::make_shared<T>(**this);
    return *value_;
  }

  bool operator==(const Shared& other) const { return value_ == other.value_ || **this == *other; }
  template <class U>
    requires(!std::is_same_v<U, Shared>)
  bool operator==(const U& other) const {
    return **this == other;
  }

 private:
  std::shared_ptr<T> value_;
};

// A text that is part of something larger, of which it owns a share: a text of a JSON document.

class OwnedText {
 public:
  OwnedText() = default;
  // `text` is in what `owner` owns.
  OwnedText(std::shared_ptr<const void> owner, std::string_view text)
      : owner_(std::move(owner)), text_(text) {}
  explicit OwnedText(std::string text) {
    auto own = std::make_shared<const std::string>(std::move(text));
    text_ = *own;
    owner_ = std::move(own);
  }

  std::string_view view() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view text_;
};

}  // namespace fxtrace::internal
