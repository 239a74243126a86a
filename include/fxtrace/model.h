// Models in files: what the commands of the program do, in the process of the caller.
//
//   const fxtrace::Model model = fxtrace::Model::open("model.pt2");
//   for (const fxtrace::Node& node : model.trace().root().nodes()) std::cout << node.text() << "\n";
//
// Problems with a file, an option or a model's archive are thrown as fxtrace::Error; a module that cannot be
// traced is not an error but data, Module::failure().  Names and values in results come from the file and are
// not sanitised.
//
// Unlike the program, the library reads the model in the calling process, without limits on memory and time
// other than those of a trace.  For untrusted models, run the program, which uses a sandboxed process
// (docs/explanation/security.md), and read its JSON with GraphCollection::open().  A trace needs a stack of
// 8 MiB, as main threads have.  Several threads may use a model at the same time.
//
// Libraries of operators (TraceOptions::op_libraries) and verify() need LibTorch and fxtrace's plugin, which
// fxtrace/plugin_folder.h tells how to find.  Both stay open.  Only one thread at a time may use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fxtrace/collection.h"
#include "fxtrace/listener.h"
#include "fxtrace/reports.h"
#include "fxtrace/trace_options.h"

namespace fxtrace {

namespace internal {
class ModelFile;
struct ConvertedModel;
}  // namespace internal

// A question to Model::why(): about a module, a dimension or a guard; without one, about failures.
struct Question {
  std::optional<std::string> module = {};     // a path, or a glob over paths
  std::optional<std::string> dimension = {};  // its name
  std::optional<std::string> guard = {};      // its number, from 1, or its expression
};

struct ConvertOptions {
  std::vector<std::string> methods = {};  // several become several programs; empty: the one of the trace
  Part part = {};                         // empty: the whole method
  std::map<std::string, std::int64_t> hints = {};  // example sizes of dimensions
  bool example_inputs = true;                      // zeros, of a few bytes
  bool grad = false;                // what the program assumes where code asks whether gradients are enabled
  bool functional = false;          // without writes in place (dialect aten)
  bool freeze_state = false;        // attributes that a run changes stay what they are in the file
  bool decompose_quantized = true;  // quantized tensors become integer tensors
  std::set<std::size_t> dropped_outputs = {};                   // results of the method to leave out, from 0
  std::vector<std::string> passes = {};                         // run before
  std::vector<std::string> taps = {};                           // nodes whose values become results, by name
  std::vector<std::pair<std::string, std::string>> names = {};  // old and new ones: {"s77", "batch"}
  std::optional<std::string> for_torch = {};                    // the release that has to load it: "2.7"
};

// Something that a program of torch.export cannot express, or that is not known.
struct NotConvertible {
  std::string module;  // path of the module that it is in
  std::string what;    // its subject, an operator or an input: "aten.nonzero.default"
  std::string why;
  std::string help;  // how to avoid it; may be empty
  std::optional<SourceLocation> source;
};

// `fxtrace convert`: the program that was made of a model, or why none can be made.
class Conversion {
 public:
  bool is_possible() const { return refusals().empty(); }
  std::vector<NotConvertible> refusals() const;
  // Write the program (.pt2) with the weights, which are copied from the model's file, or with zeros.  A file
  // is replaced as a whole, or left as it was.  Throw Error(kInput) if the conversion is not possible, if
  // writing fails, and if what was written is not what a program of torch.export is.
  void write(const std::string& file, bool with_weights = true) const;
  void write(std::ostream& out, bool with_weights = true) const;

  explicit Conversion(std::shared_ptr<const internal::ConvertedModel> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::ConvertedModel> data_;
};

struct VerifyOptions {
  std::int64_t runs = 1;  // each draws the sizes of named dimensions from their ranges
  std::uint64_t seed = 0;
  double absolute = 0, relative = 0;        // tolerances; both 0: bit for bit
  std::vector<std::string> inputs = {};     // files of values; empty: samples of the file, or random ones
  std::optional<std::string> against = {};  // the model that this program was converted from
};

// A model's file: a TorchScript archive (.pt), an exported program (.pt2), or the JSON of a collection, for
// which options of a trace do not apply.  Copies share the open file.
class Model {
 public:
  // Throw Error(kInput) when the file, or all of the stream, cannot be read; what it holds shows when it is
  // used.  The file must stay as it is for as long as the model and its conversions.  `name` is for messages.
  static Model open(const std::string& file);
  static Model open(std::istream& in, const std::string& name = "stream");
  static Model of_bytes(std::string_view bytes, const std::string& name = "bytes");

  const std::string& name() const;

  // All throw Error: kUsage for wrong options, kInput for what is wrong with the file.
  Inspection inspect(const TraceOptions& options = {}, const Listener& listener = {}) const;
  GraphCollection trace(const TraceOptions& options = {}, const Listener& listener = {}) const;
  // Without options that say which modules are leaves, the operators inside of all of them count.
  Summary summary(const SummaryOptions& how = {}, const TraceOptions& options = {},
                  const Listener& listener = {}) const;
  Order order(const TraceOptions& options = {}, const Listener& listener = {}) const;
  Explanation why(const Question& question = {}, const TraceOptions& options = {},
                  const Listener& listener = {}) const;
  GraphCollection extract(const Part& part, const TraceOptions& options = {},
                          const Listener& listener = {}) const;
  Conversion convert(const ConvertOptions& how = {}, const TraceOptions& options = {},
                     const Listener& listener = {}) const;
  BillOfMaterials bom(const TraceOptions& options = {}, const Listener& listener = {}) const;
  // Runs the code of the model, in LibTorch, in this process.
  Verification verify(const VerifyOptions& how = {}, const TraceOptions& options = {},
                      const Listener& listener = {}) const;

  // A move copies, so that no model is without a file.
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;
  ~Model() = default;
  explicit Model(std::shared_ptr<const internal::ModelFile> file) : file_(std::move(file)) {}
  const internal::ModelFile& file() const { return *file_; }  // for the library

 private:
  std::shared_ptr<const internal::ModelFile> file_;
};

// Of several files.  Throws Error(kUsage) without any.
BillOfMaterials bom(const std::vector<Model>& models, const TraceOptions& options = {},
                    const Listener& listener = {});

// Kinds of differences, "nodes", "shapes" (docs/how-to/diff.md), to report alone or not at all.
struct DiffOptions {
  std::vector<std::string> only = {};  // empty: all but names and sources
  std::vector<std::string> ignore = {};
};

// Compares two models.  An option that only one kind of file takes goes to the model of that kind.
Comparison diff(const Model& before, const Model& after, const DiffOptions& how = {},
                const TraceOptions& options = {}, const Listener& listener = {});
// Compares two collections, as of models that were traced with options of their own.
Comparison diff(const GraphCollection& before, const GraphCollection& after, const DiffOptions& how = {});

}  // namespace fxtrace
