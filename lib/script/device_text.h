// Devices by their names: "cpu", "cuda:1".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shapes/device.h"

namespace fxtrace::script {

struct DeviceText {
  std::optional<Device> device;
  std::string why;  // there is none, as LibTorch says it
};

// As torch.device(text) reads it: of the devices that LibTorch knows.
DeviceText read_device(std::string_view text);
// Of those of other makers as well ("npu:0"), on which archives were saved.
DeviceText read_saved_device(std::string_view text);

}  // namespace fxtrace::script
