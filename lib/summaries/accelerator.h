// Devices on which a model may run: what their vendors say of speed and memory (schemas/devices.schema.json).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

struct Accelerator {
  std::string name;                      // "h100-sxm"
  std::string title, source;             // "NVIDIA H100 SXM"; the document that has the numbers
  std::vector<std::string> other_names;  // "h100"
  std::int64_t memory_bytes = 0;
  double bandwidth = 0;                 // of the memory, bytes/s
  std::map<std::string, double> peaks;  // operations/s of dense matrix products, by dtype

  // Returns the peak for a dtype of torch: float8 stands for each of its kinds, int8 for quantized ones,
  // float32 for complex64, and float64 for complex128.
  std::optional<double> peak(std::string_view dtype) const;
};

// Reads a table of devices; `file` is its name in errors.  Throws Error(kUsage) with line and column.
std::vector<Accelerator> read_accelerators(std::string_view text, const std::string& file);

// The table that the program contains, and its text.
std::string_view devices_text();
const std::vector<Accelerator>& shipped_accelerators();
// Throws Error(kUsage) for a name that no row has.
const Accelerator& find_accelerator(const std::string& name);

// The least time that a device takes for a module: it does all operations, two for each MAC, at the peak of
// their dtypes, and moves the weights and inputs that are read and the results that are written at its
// bandwidth, both at once.
struct LeastTime {
  double compute = 0, memory = 0;  // seconds
  double seconds() const { return compute > memory ? compute : memory; }
  const char* bound() const { return compute > memory ? "compute" : "memory"; }
};

// What of a model has to fit into the memory of a device, at sizes that are numbers.
struct DeviceFit {
  Accelerator device;
  std::map<std::string, std::int64_t> sizes;     // of named dimensions, at which all of this is
  std::int64_t weight_bytes = 0;                 // parameters, buffers and constants
  std::optional<std::int64_t> activation_bytes;  // the peak, inputs included; absent: unknown
  std::int64_t cache_bytes = 0;                  // the part of both that holds keys and values of attention
  std::set<std::string> unknown_dtypes;          // whose peak the device does not tell: no least time

  std::int64_t needed_bytes() const;
  std::optional<bool> fits() const;  // absent: unknown, as activations are
};

}  // namespace fxtrace::internal
