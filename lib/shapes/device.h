// The device of a tensor.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

struct Device {
  std::string type = "cpu";  // "cuda", "meta", or a name of another vendor
  int index = -1;            // -1: the current one of that type

  bool is_cpu() const { return type == "cpu"; }
  std::string text() const { return index < 0 ? type : type + ":" + std::to_string(index); }  // "cuda:0"
  bool operator==(const Device&) const = default;
};

}  // namespace fxtrace
