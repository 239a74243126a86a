// The device of a tensor.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace fxtrace::internal {

struct Device {
  std::string type = "cpu";  // "cuda", "meta", or a name of another vendor
  int index = -1;            // -1: the current one of that type

  // Parses a text of the form that text() writes; any other text becomes a type without an index.
  static Device named(std::string_view text) {
    if (const auto colon = text.find(':'); colon != std::string_view::npos) {
      Device device{.type = std::string(text.substr(0, colon)), .index = -1};
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), device.index);
      if (device.text() == text) return device;
    }
    return {.type = std::string(text), .index = -1};
  }

  bool has_index() const { return index >= 0; }
  bool is_cpu() const { return type == "cpu"; }
  std::string text() const { return index < 0 ? type : type + ":" + std::to_string(index); }  // "cuda:0"
  bool operator==(const Device&) const = default;
};

}  // namespace fxtrace::internal
