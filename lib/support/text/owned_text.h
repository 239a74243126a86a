// A text that is part of something larger, of which it owns a share: a text of a JSON document.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace fxtrace::internal {

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
