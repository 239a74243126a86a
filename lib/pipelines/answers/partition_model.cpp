#include "pipelines/answers/partition_model.h"

#include <algorithm>
#include <utility>

#include "convert/lower/lowering.h"
#include "pipelines/passes.h"
#include "support/text/did_you_mean.h"

namespace fxtrace::internal {

PartitionedModel partition_model(const Config& config, bool has_trace_options, PartitionRequest request,
                                 const std::vector<Gate>& gates, const std::vector<GivenSizes>& at,
                                 const NamedFile& file, Run& run) {
  TraceResult& traced = trace_or_read(config, has_trace_options, file, run);
  run_passes(config.passes, traced.collection, run.listener());
  apply_costs(config, at, traced.collection, run.listener());
  PartitionAnswer answer{at_file(file.file, [&] { return partition(traced.collection, std::move(request)); }),
                         file.file.path(),
                         {},
                         &traced.collection};
  answer.gates = try_gates(gates, answer.partition);
  const Partition& result = answer.partition;
  for (const std::string& name : result.unmatched)
    run.listener().warning(shell_quoted(name) +
                           " matches nothing of the model, nor a known operator or type");
  const auto names_programs = [](const OperatorSet& set) {
    return find_shipped_set(set.name) != nullptr && !set.name.ends_with("-torchscript");
  };
  if (result.model.is_torchscript() && std::ranges::any_of(result.sets, names_programs))
    run.listener().hint(
        "the sets name operators of exported programs: fxtrace convert makes one of TorchScript");
  check_strict(config, traced.collection, file.file, run);
  return {traced, std::move(answer)};
}

Pieces make_pieces(const PartitionedModel& partitioned, const Config& config, const ModelFile& file,
                   const Listener& listener) {
  const Program& model = *partitioned.traced.program;
  LoweringOptions options = lowering_options(config.options, model, false);
  options.functional = std::ranges::find(config.passes, kFunctional) != config.passes.end();
  const auto make = [&] {
    return at_file(file, [&] {
      return make_pieces(partitioned.answer.partition, partitioned.traced.collection, model, options);
    });
  };
  Pieces pieces = make();
  if (options.functional && !pieces.refusals.empty()) {  // writes in place may be what is refused
    options.functional = false;
    Pieces with_writes = make();
    if (with_writes.refusals.empty()) pieces = std::move(with_writes);
  }
  for (const std::string& note : pieces.notes) listener.status(note);
  return pieces;
}

}  // namespace fxtrace::internal
