#include "trace/front_end.h"

#include "costs/graph_costs.h"
#include "support/timer.h"
#include "trace/hints.h"

namespace fxtrace {

TraceResult trace_model(const std::function<std::unique_ptr<const Program>()>& load,
                        const TraceOptions& options, const Wanted& wanted, const Listener& listener) {
  const Timer load_time;
  const std::shared_ptr<const Program> program = load();
  listener.progress("loaded " + std::to_string(program->modules().size()) + " modules and " +
                    std::to_string(program->parameters().size()) + " parameters and buffers in " +
                    load_time.milliseconds());
  const bool is_method_asked_for = options.method != TraceOptions().method;
  if (wanted.graphs_if_any && !is_method_asked_for && !program->has_method(options.method)) {
    TraceResult result = describe(*program, options);
    result.program = program;
    return result;
  }
  const Timer trace_time;
  TraceResult result = trace(*program, options, wanted.description);
  const Timer cost_time;
  add_costs(result.collection);
  std::size_t nodes = 0;
  for (const auto& graph : result.collection.graphs) nodes += graph.graph.size();
  listener.progress("traced " + std::to_string(result.collection.graphs.size()) + " graphs with " +
                    std::to_string(nodes) + " nodes in " + trace_time.milliseconds() +
                    ", of which costs took " + cost_time.milliseconds());
  if (wanted.input_options) result.input_options = guess_input_options(*program, options);
  if (wanted.hint) result.hint = find_hint(*program, options, result.collection);
  result.program = program;
  return result;
}

}  // namespace fxtrace
