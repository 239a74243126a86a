// Answers about models.  Each is a value with what it found, and writes itself as the program does.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fxtrace/graph.h"
#include "fxtrace/report_values.h"

namespace fxtrace {

namespace internal {
struct ModelSummary;
struct UseOrder;
struct OrderOf;
struct Explanation;
struct InspectionOf;
struct VerifiedReport;
struct ComparedPair;
}  // namespace internal

// The forms of a report.  write() throws Error(kUsage) for one that the report does not have; whether it
// could be written, the stream tells.
enum class ReportFormat { kText, kMarkdown, kJson, kCsv };

// Numbers for dimensions, or the sizes of inputs: {"batch", {1}}, {"x", {1, 3, 224, 224}}.
using Sizes = std::map<std::string, std::vector<std::int64_t>>;

struct SummaryOptions {
  Sizes at = {};                         // shapes and costs are at these sizes
  std::optional<Accelerator> on = {};    // fills in Summary::fit() and Row::least
  bool memory = false;                   // fills in Summary::memory(), which CSV then has instead of the rows
  std::vector<CostColumn> columns = {};  // more columns for write(); rows() has them all
};

// `fxtrace summary`: parameters and costs, module by module.
class Summary {
 public:
  struct Row {
    std::string path, type;
    std::int64_t depth = 0;  // below the root
    std::int64_t calls = 0;
    std::int64_t parameters = 0, parameter_bytes = 0;  // submodules included
    // Of all calls, submodules included; absent when unknown.  FLOPs are those that torch.utils.flop_counter
    // counts.
    std::optional<Size> macs, flops, activation_bytes;
    // Of all calls, too: bytes of the weights that are read, and of the keys and values of attention.
    std::optional<Size> weights_read, kv_cache_bytes;
    std::optional<double> arithmetic_intensity;  // operations for each byte, if all sizes are numbers
    QuantizedCompute quantization;
    std::optional<LeastTime> least;  // on the device; absent: unknown
    bool is_partial = false;         // some operators inside have an unknown cost
  };
  std::vector<Row> rows() const;  // in pre-order, the root first
  std::int64_t parameters() const;
  std::int64_t parameter_bytes() const;
  std::optional<Size> macs() const;
  std::optional<Size> flops() const;             // as torch.utils.flop_counter counts them
  std::optional<Size> activation_bytes() const;  // of all results together
  std::optional<Size> peak_bytes() const;        // of the results that live at a time

  const std::optional<DeviceFit>& fit() const;
  // Of the root's graph; without steps where it is unknown.  If sizes have names, it is at the sizes of an
  // example: memory_sizes() is "batch=1, seq=128".
  const std::optional<MemoryTimeline>& memory() const;
  const std::string& memory_sizes() const;

  void write(std::ostream& out, ReportFormat format = ReportFormat::kText) const;  // any format
  void write_perfetto(std::ostream& out) const;  // memory(), for ui.perfetto.dev and Chrome

  explicit Summary(std::shared_ptr<const internal::ModelSummary> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::ModelSummary> data_;
};

// `fxtrace order`: the order in which modules and parameters are used.
class Order {
 public:
  struct Use {
    std::string name;             // the path of a module, or the qualified name of a parameter
    std::int64_t bytes = 0;       // of its parameters
    std::int64_t first_call = 0;  // the number of the first call that uses it; 0: unknown
    std::int64_t uses = 0;
  };
  std::vector<Use> modules() const;     // in the order of first calls
  std::vector<Use> parameters() const;  // in the order of first uses
  std::vector<std::string> unused_parameters() const;

  void write(std::ostream& out, ReportFormat format = ReportFormat::kText) const;  // text, JSON, CSV
  void write_fsdp2(std::ostream& out) const;  // Python that shards the model by fully_shard

  explicit Order(std::shared_ptr<const internal::OrderOf> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::OrderOf> data_;
};

// `fxtrace inspect`: what a file has.
class Inspection {
 public:
  const char* kind() const;                   // "exported_program"
  const std::string& description() const;     // "an exported program (torch.export)"
  std::vector<std::string> programs() const;  // to choose from by TraceOptions::model, if there are several
  std::vector<std::string> methods() const;   // of the root
  std::string producer() const;               // "PyTorch 2.13.0"; empty if unknown
  std::vector<std::string> compiled() const;  // models that AOTInductor compiled

  void write(std::ostream& out, ReportFormat format = ReportFormat::kText) const;  // text, JSON

  explicit Inspection(std::shared_ptr<const internal::InspectionOf> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::InspectionOf> data_;
};

// `fxtrace why`: why modules failed and which options help, or the fate of modules, a dimension or a guard.
class Explanation {
 public:
  struct FailedModule {
    std::vector<std::string> paths;  // in equal blocks
    std::string type;
    Failure failure;
  };
  std::vector<FailedModule> failures() const;
  // Options of the command line that leave the fewest failures; empty: none that was tried helps.
  std::vector<std::string> best_options() const;

  void write(std::ostream& out, ReportFormat format = ReportFormat::kText) const;  // text, JSON

  explicit Explanation(std::shared_ptr<const internal::Explanation> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::Explanation> data_;
};

// `fxtrace bom`: what files are and are made of.
struct BillOfMaterials {
  enum class Format { kCyclonedx, kSpdx };
  std::vector<Material> materials;  // of the files, in their order

  void write(std::ostream& out, Format format = Format::kCyclonedx) const;  // CycloneDX 1.6, SPDX 2.3
};

// `fxtrace verify`: the graph and the model ran side by side.
class Verification {
 public:
  bool is_equal() const;
  std::string verdict() const;                        // "equal", "not equal", "cannot tell", "not verified"
  std::int64_t runs() const;                          // that were compared
  std::optional<std::string> difference() const;      // the first: "it is float32[2,3], but ..."
  std::optional<std::string> different_node() const;  // its node, where there is one

  void write(std::ostream& out, ReportFormat format = ReportFormat::kText) const;  // text, JSON

  explicit Verification(std::shared_ptr<const internal::VerifiedReport> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::VerifiedReport> data_;
};

// `fxtrace diff`: what differs between two models.
class Comparison {
 public:
  struct Difference {
    std::string kind;     // "nodes", "shapes", "parameters": see docs/how-to/diff.md
    std::string change;   // "added", "removed", "moved", "changed"
    std::string module;   // the path of the module that has it
    std::string subject;  // the name of a node or a parameter, the path of a module, a guard
    std::string field;    // what of it differs; empty: all
    std::optional<std::string> before, after;
    std::optional<SourceLocation> source;
  };
  bool is_equal() const;
  std::int64_t count(const std::string& kind) const;  // of all differences, listed or not
  std::vector<Difference> differences() const;

  void write(std::ostream& out, ReportFormat format = ReportFormat::kText) const;  // text, Markdown, JSON
  void write_html(std::ostream& out) const;  // a picture of both models in one

  explicit Comparison(std::shared_ptr<const internal::ComparedPair> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::ComparedPair> data_;
};

}  // namespace fxtrace
