#include "app/model_pair.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/answer.h"
#include "app/model.h"
#include "graph/collection_summary.h"
#include "rules/check.h"
#include "support/words.h"
#include "trace/input_spec.h"

namespace fxtrace::cli {
namespace {

// "float32[s77,3,32,32]"; nothing where not all of it is known.
std::optional<std::string> spec_text(const Meta& meta) {
  if (!meta.shape || !meta.dtype) return std::nullopt;
  for (const Meta::Dim& dim : *meta.shape) {
    if (dim.size() == nullptr) return std::nullopt;
  }
  const std::string sizes = joined(*meta.shape, [](const Meta::Dim& dim) { return dim.text(); });
  return *meta.dtype + "[" + sizes + "]" + (meta.device ? "@" + *meta.device : "");
}

// The configuration with the program's inputs, by their names or places; nothing where they are not known.
std::optional<Config> config_as_exported(Config config, const GraphCollection& program, bool has_names) {
  TraceOptions& options = config.options;
  if (!options.inputs.empty() || !options.concrete.empty() || options.input_names || program.graphs.empty())
    return std::nullopt;
  const Graph& graph = program.graphs.front().graph;
  std::size_t place = 0;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Opcode::kPlaceholder) continue;
    const std::string name = has_names ? *node.target : std::to_string(place);
    ++place;
    if (const auto text = spec_text(node.meta)) options.inputs.push_back({name, *text});
  }
  const std::vector<std::string> named = named_dimensions(options.inputs);
  ShapeEnv dimensions;
  add_guards(program, dimensions);
  for (const std::string& name : named) {
    const Range range = dimensions.range(name);
    options.dimensions.push_back({name, range.low, range.high});
  }
  std::vector<WrapRule> rules{{"torch.nn.functional.**", false}, {"torch.functional.**", false}};
  rules.insert(rules.end(), options.wrap_rules.begin(), options.wrap_rules.end());
  options.wrap_rules = std::move(rules);
  return config;
}

// What is said of a trace goes to the console when it is the one that is taken.
class Reader {
 public:
  Reader(const Config& config, Isolated& isolated, Console& console)
      : config_(config), isolated_(isolated), console_(console) {}

  const GraphCollection& read(const InputFile& input, const FileInfo& info, const FileInfo& other) {
    const bool differ = is_traceable(info.kind) && is_traceable(other.kind) && info.kind != other.kind;
    return read(differ ? config_for(config_, info.kind) : config_, input);
  }

  // TorchScript, as the program was exported.
  const GraphCollection& read_beside(const GraphCollection& program, const InputFile& input,
                                     const FileInfo& info, const FileInfo& other) {
    for (const bool has_names : {true, false}) {
      try {
        const auto config = config_as_exported(config_for(config_, info.kind), program, has_names);
        if (!config) break;
        const GraphCollection& collection = read(*config, input);
        if (count_failed(collection) == 0) return collection;
        const GraphCollection& plain = read(input, info, other);
        return count_failed(plain) < count_failed(collection) ? plain : collection;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kUsage) throw;
      }
    }
    return read(input, info, other);
  }

 private:
  const GraphCollection& read(const Config& config, const InputFile& input) {
    return read_model_or_collection(config, false, input, isolated_, console_);
  }

  const Config& config_;
  Isolated& isolated_;
  Console& console_;
};

}  // namespace

ModelPair read_model_pair(const Config& config, const InputFile& first, const InputFile& second,
                          Isolated& isolated, Console& console) {
  const auto identify = [](const InputFile& input) {
    return with_input(input, [&] { return identify_file(input.file()); });
  };
  Reader reader(config, isolated, console);
  const FileInfo info = identify(first);
  isolated.reads(1);
  const FileInfo other = identify(second);
  const auto is_script = [](const FileInfo& file) { return file.kind == FileKind::kTorchScript; };
  const bool second_first = is_script(info) && !is_script(other);
  const GraphCollection* before = nullptr;
  const GraphCollection* after = nullptr;
  const auto read = [&](bool is_second) {
    isolated.reads(is_second ? 1 : 0);
    const GraphCollection*& collection = is_second ? after : before;
    const GraphCollection* known = is_second ? before : after;
    const InputFile& input = is_second ? second : first;
    const FileInfo& own = is_second ? other : info;
    const FileInfo& others = is_second ? info : other;
    const bool beside_program = known != nullptr && is_script(own) && known->model.kind == "exported_program";
    collection =
        beside_program ? &reader.read_beside(*known, input, own, others) : &reader.read(input, own, others);
  };
  read(second_first);
  read(!second_first);
  isolated.reads(Isolated::kAllFiles);
  return {*before, *after};
}

}  // namespace fxtrace::cli
