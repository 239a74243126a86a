#include "torchscript/values/device_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/text/words.h"

namespace fxtrace::internal::torchscript {
namespace {

constexpr std::array<std::string_view, 20> kDevices{
    "cpu",  "cuda", "ipu", "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip",  "ve",
    "fpga", "maia", "xla", "lazy", "vulkan", "mps",    "meta",   "hpu",   "mtia", "privateuseone"};

DeviceText invalid(std::string_view text) {
  return {std::nullopt, "Invalid device string: '" + std::string(text) + "'"};
}

}  // namespace

DeviceText read_saved_device(std::string_view text) {
  if (text.empty()) return {std::nullopt, "Device string must not be empty"};
  const auto colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  const bool is_word = !type.empty() && std::ranges::all_of(type, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  if (!is_word) return invalid(text);
  Device device{std::string(type), -1};
  if (colon != std::string_view::npos) {
    constexpr int kMostIndex = 127;
    const std::string_view number = text.substr(colon + 1);
    const bool is_number = !number.empty() && (number.size() == 1 || number[0] != '0') &&
                           std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) return invalid(text);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), device.index);
    if (read.ec != std::errc{} || device.index > kMostIndex) return invalid(text);
  }
  return {std::move(device), {}};
}

DeviceText read_device(std::string_view text) {
  DeviceText read = read_saved_device(text);
  if (!read.device || std::ranges::find(kDevices, read.device->type) != kDevices.end()) return read;
  return {std::nullopt, "Expected one of " + joined(kDevices) +
                            " device type at start of device string: " + read.device->type};
}

}  // namespace fxtrace::internal::torchscript
