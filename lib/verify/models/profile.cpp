#include "verify/models/profile.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "support/text/qualified_name.h"

namespace fxtrace::internal::verify {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Measures one run.  The time and memory of a node are those since the node before it; so a node that runs a
// subgraph does not count the subgraph.
class Meter {
 public:
  explicit Meter(const FxtraceEngine& api) : api_(api) {}

  void start() {
    parts_.clear();
    before_ = api_.memory();
    begin_ = before_;
    start_ = Clock::now();
  }

  void node_has_run(const Node& node) {
    const double seconds = seconds_since(start_);
    const FxtraceMemory memory = api_.memory();
    Measured& part = parts_[&node.scope->module_path];
    part.seconds += seconds;
    part.allocated_bytes += memory.allocated - before_.allocated;
    part.peak_bytes = std::max(part.peak_bytes, memory.peak - begin_.held);
    before_ = memory;
    start_ = Clock::now();
  }

  std::map<std::string, Measured> modules() const {
    std::map<std::string, Measured> found;
    for (const auto& [module, part] : parts_) {
      std::string path = *module;
      while (true) {
        Measured& sum = found[path];
        sum.seconds += part.seconds;
        sum.allocated_bytes += part.allocated_bytes;
        sum.peak_bytes = std::max(sum.peak_bytes, part.peak_bytes);
        if (path.empty()) break;
        path = std::string(QualifiedName(path).parent());
      }
    }
    return found;
  }

 private:
  const FxtraceEngine& api_;
  // By the address of the path in the nodes; several may have the same path.
  std::unordered_map<const std::string*, Measured> parts_;
  FxtraceMemory begin_{}, before_{};
  Clock::time_point start_;
};

}  // namespace

Profile profile_graph(const Engine& engine, const ModuleGraph& graph, ModelParts& parts,
                      const std::function<std::vector<RunValue>()>& inputs, std::int64_t given_runs) {
  constexpr std::size_t kFewest = 3, kMost = 50, kMostWarmUps = 5;
  constexpr double kLongEnough = 1, kWarm = 0.2;  // seconds
  const std::size_t given = given_runs > 1 ? static_cast<std::size_t>(given_runs) : 0;
  Meter meter(engine.api());
  const auto watcher = [&](const ModuleGraph&, const Node& node, const RunValue&) {
    meter.node_has_run(node);
  };
  run_graph(engine, graph, inputs(), parts, nullptr);
  engine.api().count_memory(true);
  std::vector<std::map<std::string, Measured>> runs;
  try {
    // Warm-up runs, with the watcher: afterwards kernels are chosen, and memory and threads exist.
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < kMostWarmUps && (i == 0 || seconds_since(begin) < kWarm); ++i) {
      const std::vector<RunValue> values = inputs();
      meter.start();
      run_graph(engine, graph, values, parts, watcher);
    }
    const Clock::time_point start = Clock::now();
    const auto are_enough = [&] {
      if (given != 0) return runs.size() >= given;
      return runs.size() >= kFewest && (runs.size() >= kMost || seconds_since(start) >= kLongEnough);
    };
    while (!are_enough()) {
      const std::vector<RunValue> values = inputs();
      meter.start();
      run_graph(engine, graph, values, parts, watcher);
      runs.push_back(meter.modules());
    }
  } catch (...) {
    engine.api().count_memory(false);
    throw;
  }
  engine.api().count_memory(false);
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::ranges::nth_element(runs, middle, {}, [](const auto& run) { return run.at("").seconds; });
  Profile profile;
  profile.runs = static_cast<std::int64_t>(runs.size());
  profile.modules = std::move(*middle);
  return profile;
}

ModelSummary measured_summary(const GraphCollection& collection, const Profile& profile) {
  ModelSummary summary = summarize_model(collection);
  const auto number = [&](std::optional<SymInt>& size) {
    const auto value = size ? size->evaluate(profile.sizes) : std::nullopt;
    if (value) size = SymInt(*value);
  };
  for (SummaryRow& row : summary.rows) {
    number(row.macs);
    number(row.activation_bytes);
    const auto found = profile.modules.find(row.path);
    if (found != profile.modules.end() && !row.alias_of) row.measured = found->second;
  }
  return summary;
}

}  // namespace fxtrace::internal::verify
