// Plain values of reports: what devices take, memory call by call, what is quantized, and what files are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// Columns of `fxtrace summary` that are shown on request, in the order of its help.
enum class CostColumn : std::uint8_t { kWeights, kKvCache, kIntensity, kFlops, kQuantization };

// A device on which a model may run: what its vendor says of speed and memory.
struct Accelerator {
  std::string name;                           // "h100-sxm"
  std::string title = {}, source = {};        // "NVIDIA H100 SXM" (empty: the name); what has the numbers
  std::vector<std::string> other_names = {};  // "h100"
  std::int64_t memory_bytes = 0;
  double bandwidth = 0;                      // of the memory, bytes/s
  std::map<std::string, double> peaks = {};  // operations/s of dense matrix products, by dtype

  // Returns the peak for a dtype of torch: float8 stands for each of its kinds, int8 for quantized ones,
  // float32 for complex64, and float64 for complex128.
  std::optional<double> peak(std::string_view dtype) const;

  // Those that come with fxtrace, and the one of a name, "h100".  Throws Error(kUsage), which lists them.
  static const std::vector<Accelerator>& shipped();
  static const Accelerator& named(const std::string& name);
  // Reads a table (schemas/devices.schema.json); `file` is its name in errors.  Throws Error(kUsage) with
  // line and column.
  static std::vector<Accelerator> of_json(std::string_view text, const std::string& file = "devices");
};

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

// The memory that a graph holds while it runs, call by call, where all sizes are numbers.
struct MemoryTimeline {
  // What happens to memory, in bytes, in a call.
  struct Step {
    std::string node, module, target;  // of the first step, for the inputs: empty
    std::int64_t allocated = 0;        // for results, and inside a leaf
    std::int64_t live = 0;             // while it runs, with arguments and results
    std::int64_t kept = 0;             // after what nobody uses any more was freed
  };
  // A tensor that is live at the peak.
  struct Tensor {
    std::string node, module;  // that made it
    std::int64_t bytes = 0;
    bool is_inside = false;    // what the leaf needs besides its results
    std::size_t made = 0;      // indices of steps
    std::size_t last_use = 0;  // the last step for what lives to the end
  };

  std::vector<Step> steps;      // the inputs, then the calls in the order of execution
  std::size_t peak = 0;         // the first step with the most live bytes
  std::vector<Tensor> tensors;  // those live at the peak, the largest first
};

// What of the calls with MACs of a module, or of one call, is quantized: torch's pt2e quantization puts
// operators between a dequantize and a quantize, which backends replace by integer kernels.
struct QuantizedCompute {
  std::set<std::string> weights;  // as they are stored: "int8", "int8 (4 bits)", "float32"
  std::int64_t calls = 0;
  std::int64_t quantized = 0;  // takes dequantized tensors alone, and all users quantize the result again
  void add(const QuantizedCompute& other);  // saturating
};

// A licence that a file gives.
struct FoundLicence {
  std::string id;      // of SPDX's list: "Apache-2.0"; empty: the text is none that is known
  std::string text;    // the first line of what stands there
  std::string record;  // where it stands in the archive: "extra/LICENSE"
};

// What a file of a model is and is made of.
struct Material {
  std::string name;                                    // base name of the file
  std::uint64_t size = 0;                              // in bytes
  std::string kind;                                    // "exported_program", as fxtrace inspect gives it
  std::string sha256 = {};                             // of the whole file, in digits
  std::string type = {};                               // the root's; empty: unknown
  std::string producer = {};                           // "PyTorch 2.13.0"; empty: the file does not say
  std::map<std::string, std::int64_t> operators = {};  // the number of calls, by namespace: "aten"
  std::int64_t failed = 0;  // modules that could not be traced, whose operators are not counted
  std::vector<FoundLicence> licences = {};
};

}  // namespace fxtrace
