// Parses names of devices: "cpu", "cuda:1".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shapes/device.h"

namespace fxtrace::internal::torchscript {

struct DeviceText {
  std::optional<Device> device;
  std::string why;  // LibTorch's error message when there is no such device
};

// Parses a device as torch.device(text) does: only devices that LibTorch knows.
DeviceText read_device(std::string_view text);
// Parses a device on which an archive was saved, which may be one of other vendors ("npu:0").
DeviceText read_saved_device(std::string_view text);

}  // namespace fxtrace::internal::torchscript
