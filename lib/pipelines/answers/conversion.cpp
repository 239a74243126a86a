#include "pipelines/answers/conversion.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "convert/write/program_archive.h"
#include "convert/write/program_copy.h"
#include "convert/write/program_rewrite.h"
#include "exported/program/exported_program.h"
#include "exported/verifier/program_verifier.h"
#include "pipelines/configs.h"
#include "pipelines/passes.h"
#include "security/security_scan.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// Gives the program the names and the form that are asked for.  `dimensions`: symbols of named dimensions.
void rewrite(const ConversionRequest& request, const std::map<std::string, std::string>& dimensions,
             ProgramRecords& records, Conversion& conversion, const Listener& listener) {
  if (!request.for_torch && request.names.empty()) return;
  const JsonDocument document(records.json, "the program");
  const NewNames names = new_names(document.root(), request.names, dimensions);
  const auto release = request.for_torch ? std::optional(release_of(*request.for_torch)) : std::nullopt;
  RewrittenProgram rewritten = rewrite_program(document.root(), release, names);
  records.json = std::move(rewritten.json);
  std::ranges::move(rewritten.refusals, std::back_inserter(conversion.refusals));
  for (const std::string& note : rewritten.notes) listener.status(note);
}

// Copies an exported program that is only to be written anew.
void copy(const ConversionRequest& request, const ExportedProgram& program, const ModelFile& file,
          const FileInfo& info, Conversion& conversion, const Listener& listener) {
  conversion.programs.push_back(copy_program(program, request.has_example_inputs, conversion.refusals));
  rewrite(request, {}, conversion.programs.back(), conversion, listener);
  add_faults(info, conversion.refusals);
  const std::string graph = program.archive().program_record(program.name());
  const std::string examples = program.archive().example_inputs_record(program.name());
  for (const SecurityFinding& finding : scan_security(file, info)) {
    if (finding.kind == SecurityKind::kLibrary ||
        (finding.record != graph && !finding.record.starts_with(examples)))
      continue;
    if (std::ranges::find(conversion.refusals, finding.message, &Refusal::why) == conversion.refusals.end())
      conversion.refusals.push_back({.what = finding.record, .why = finding.message});
  }
  const auto is_example = [&](const Refusal& refusal) { return refusal.what.starts_with(examples); };
  if (!request.has_example_inputs) std::erase_if(conversion.refusals, is_example);
  for (Refusal& refusal : conversion.refusals) {
    if (is_example(refusal)) refusal.help = "--sample-inputs none";
  }
}

// Keeps the options of inputs that belong to this method, as several methods share the options.
void keep_own_inputs(const Program& program, const std::vector<std::string>& methods, TraceOptions& options) {
  std::set<std::string> own, others;
  for (const std::string& method : methods) {
    for (const InputGuess& input : program.guess_inputs(method))
      (method == options.method ? own : others).insert(input.name);
  }
  const auto is_of_another = [&](const auto& given) {
    const std::string name = given.name.substr(0, given.name.find('.'));
    return !own.contains(name) && others.contains(name);
  };
  std::erase_if(options.inputs, is_of_another);
  std::erase_if(options.concrete, is_of_another);
}

// Returns the nodes of `flat`, in which no module is a leaf, that the node of `graph` stands for.  Throws
// Error(kUsage) where they cannot be told apart.
std::vector<NodeId> nodes_for(const Node& node, const Graph& graph, const Graph& flat) {
  std::vector<NodeId> found;
  if (node.op == Opcode::kCallModule) {
    std::size_t calls = 0;
    for (const NodeId id : graph.order()) {
      const Node& other = graph.node(id);
      calls += other.op == node.op && other.target == node.target ? 1 : 0;
    }
    if (calls > 1)
      throw usage_error("the node " + node.name + " is one of " + std::to_string(calls) + " calls of " +
                            *node.target + ", which is no part by itself",
                        {"--module " + shell_word(*node.target) + " --call N converts one of them"});
    for (const NodeId id : flat.order()) {
      const Node& inner = flat.node(id);
      const std::string& path = inner.scope->module_path;
      if (inner.op == Opcode::kCallFunction && (path == *node.target || path.starts_with(*node.target + ".")))
        found.push_back(id);
    }
    return found;
  }
  const auto is_alike = [&](const Node& other) {
    return other.op == node.op && other.target == node.target && *other.scope == *node.scope;
  };
  std::size_t before = 0;  // the number of such nodes before it
  for (const NodeId id : graph.order()) {
    if (graph.node(id).id == node.id) break;
    before += is_alike(graph.node(id)) ? 1 : 0;
  }
  for (const NodeId id : flat.order()) {
    if (is_alike(flat.node(id)) && before-- == 0) return {id};
  }
  return found;
}

// Translates the names of nodes of a part, which are those of `fxtrace trace`, to names in the graph that is
// converted, in which no module is a leaf.
ExtractRequest part_in(const Graph& flat, const Graph& traced, const ExtractRequest& part) {
  ExtractRequest result = part;
  result.from.clear();
  result.to.clear();
  const auto translate = [&](const std::vector<std::string>& names, std::vector<std::string>& to, bool ends) {
    for (const std::string& name : names) {
      const Node* node = traced.find(name);
      const std::vector<NodeId> all =
          node == nullptr ? std::vector<NodeId>() : nodes_for(*node, traced, flat);
      if (all.empty()) to.push_back(name);  // a name of the flat graph, or none
      for (const NodeId id : all) {
        const bool leaves = std::ranges::any_of(
            flat.node(id).users, [&](NodeId user) { return std::ranges::find(all, user) == all.end(); });
        if (!ends || leaves) to.push_back(flat.node(id).name);
      }
    }
  };
  translate(part.from, result.from, false);
  translate(part.to, result.to, true);
  return result;
}

// Returns the node of `flat` whose value the node of that name gives, which is of the graph that
// `fxtrace trace` shows, or of `flat`.  Throws Error(kUsage).
NodeId tapped_node(const std::string& name, const Graph& flat, const Graph& traced) {
  const Node* node = traced.find(name);
  const std::vector<NodeId> all = node == nullptr ? std::vector<NodeId>() : nodes_for(*node, traced, flat);
  std::vector<NodeId> given;  // the values that are used elsewhere
  for (const NodeId id : all) {
    if (std::ranges::any_of(flat.node(id).users,
                            [&](NodeId user) { return std::ranges::find(all, user) == all.end(); }))
      given.push_back(id);
  }
  if (given.empty() && all.size() == 1) given = all;
  if (const Node* inner = flat.find(name); given.empty() && inner != nullptr) given.push_back(inner->id);
  if (given.size() == 1) return given.front();
  std::vector<std::string> names;
  for (const Graph* graph : {&traced, &flat}) {
    for (const NodeId id : graph->order()) names.push_back(graph->node(id).name);
  }
  if (given.empty())
    throw usage_error(
        "--tap " + shell_word(name) + ": the graph has no node of that name" + did_you_mean(name, names),
        {"fxtrace trace MODEL -f text lists the nodes"});
  throw usage_error("--tap " + shell_word(name) + ": the module gives several values: " +
                    joined(given, [&](NodeId id) { return flat.node(id).name; }));
}

// Adds the values of nodes to the results of the graph: behind them, or under their names in a dict.
void add_results(const std::vector<std::string>& taps, const Graph& traced, Graph& flat) {
  const NodeId output = flat.last();
  if (!output.valid() || flat.node(output).op != Opcode::kOutput || flat.node(output).args.empty()) return;
  Argument result = flat.node(output).args.front();
  const bool is_several =
      result.is<Argument::List>() || result.is<Argument::Tuple>() || result.is<Argument::Dict>();
  if (!is_several) result = Argument::Tuple{{result}, {}};
  for (const std::string& name : taps) {
    const NodeId value = tapped_node(name, flat, traced);
    if (auto* dict = std::get_if<Argument::Dict>(&result.value)) {
      dict->items.push_back({name, value});
    } else if (auto* list = std::get_if<Argument::List>(&result.value)) {
      list->items.emplace_back(value);
    } else if (auto* tuple = std::get_if<Argument::Tuple>(&result.value)) {
      tuple->names = nullptr;
      tuple->items.emplace_back(value);
    }
  }
  flat.set_args(output, {result}, {});
}

ProgramRecords lower_method(const ConversionRequest& request, const Config& config, const ModelFile& file,
                            const TraceResult& traced, const ExtractRequest& part, Conversion& conversion,
                            const Listener& listener) {
  LoweringOptions options = lowering_options(config.options, *traced.program, !request.has_part());
  options.hints = request.hints;
  options.functional = request.is_functional;
  options.freeze_state = request.freezes_state;
  options.dropped_outputs = request.dropped_outputs;
  options.quantized = request.decomposes_quantized;
  Lowered lowered = at_file(file, [&] {
    if (!request.has_part()) return lower(traced.collection, *traced.program, options);
    return lower(extract_part(traced.collection, part), *traced.program, options);
  });
  std::ranges::move(lowered.refusals, std::back_inserter(conversion.refusals));
  if (!lowered.refusals.empty()) return {};
  for (const std::string& note : lowered.notes) listener.status(note);
  ProgramRecords records = records_of(lowered.program, request.has_example_inputs);
  std::map<std::string, std::string> dimensions;
  for (const auto& [name, symbol] : lowered.program.symbols) dimensions.emplace(name, symbol.name);
  rewrite(request, dimensions, records, conversion, listener);
  std::ranges::move(refused_texts(records), std::back_inserter(conversion.refusals));
  return records;
}

}  // namespace

void Conversion::write(const ModelFile& file, bool with_weights, std::ostream& out) const {
  at_file(file, [&] { write_program_archive(programs, *model, file, with_weights, out, layout); });
}

void Conversion::write_weights(const ModelFile& file, std::ostream& out) const {
  at_file(file, [&] { weights->write(*model, file, out); });
}

Conversion convert_model(const Config& given, const ConversionRequest& request, const NamedFile& file,
                         Run& run) {
  check_request(request.part);
  std::vector<std::string> methods = request.methods;
  for (const std::string& method : methods) {
    if (std::ranges::count(methods, method) > 1)
      throw usage_error("the method '" + method + "' is given twice");
  }
  for (const auto& [name, size] : request.hints) {
    if (size < 0) throw usage_error("the example size of " + name + " is negative");
  }
  if (request.has_part() && !request.taps.empty())
    throw usage_error("--tap adds results to the whole method, not to a part");
  if (request.for_torch) static_cast<void>(release_of(*request.for_torch));  // before the model is read
  const FileInfo info = identify_file(file.file);
  Conversion conversion;
  if (methods.empty()) methods.push_back(given.options.method);
  if (info.kind == FileKind::kExportedProgram && !request.has_part() && request.taps.empty() &&
      !request.is_functional && !request.is_changed) {
    at_file(file.file, [&] {
      const auto program = std::make_shared<const ExportedProgram>(info, given.options.model);
      conversion.model = program;
      static_cast<void>(program->method_to_trace(methods.front()));
      copy(request, *program, file.file, info, conversion, run.listener());
    });
  } else {
    Config flat = given;
    enter_everything(flat.options);
    if (request.is_functional) flat.passes.emplace_back("functional");
    flat.options.grad = request.grad;
    TraceRequest wanted{.costs = false};
    const std::vector<std::string>& sharing = request.sharing.empty() ? methods : request.sharing;
    if (sharing.size() > 1 && info.kind == FileKind::kTorchScript)
      wanted.loaded = load_program(file.file, info, flat.options, run.listener());
    for (const std::string& method : methods) {
      Config config = flat;
      config.options.method = method;
      if (wanted.loaded) {
        at_file(file.file, [&] { keep_own_inputs(*wanted.loaded, sharing, config.options); });
      }
      TraceResult& traced = trace_file(file, info, config, wanted, run);
      // Returns the graph whose names of nodes `fxtrace trace` shows; null where there is none.
      const auto named_graph = [&]() -> const Graph* {
        Config named_as = given;
        named_as.options.method = method;
        const TraceResult& named =
            trace_file(file, info, named_as, {.costs = false, .loaded = traced.program}, run);
        const bool has_both = !named.collection.graphs.empty() && !traced.collection.graphs.empty();
        return has_both ? &named.collection.graphs.front().graph : nullptr;
      };
      if (!request.taps.empty()) {
        if (const Graph* named = named_graph())
          at_file(file.file,
                  [&] { add_results(request.taps, *named, traced.collection.graphs.front().graph); });
      }
      run_passes(config.passes, traced.collection, run.listener());
      ExtractRequest part = request.part;
      if (!part.from.empty() || !part.to.empty()) {
        if (const Graph* named = named_graph())
          part = at_file(file.file,
                         [&] { return part_in(traced.collection.graphs.front().graph, *named, part); });
      }
      conversion.programs.push_back(
          lower_method(request, config, file.file, traced, part, conversion, run.listener()));
      if (methods.size() > 1) conversion.programs.back().name = method;
      conversion.model = traced.program;
    }
  }
  if (request.for_torch) conversion.layout = layout_for(release_of(*request.for_torch), conversion.programs);
  if (conversion.layout == ArchiveLayout::kFlat && methods.size() > 1)
    throw usage_error(
        "torch before 2.8 reads one program of a file: convert each --method to a file of its own");
  if (request.has_external_weights) {
    if (conversion.layout != ArchiveLayout::kOwnRecords)
      throw usage_error(
          "--external-weights leaves zeros in the program, which torch before 2.9 does not read");
    conversion.weights.emplace(conversion.programs);
    std::ranges::copy(conversion.weights->refusals(), std::back_inserter(conversion.refusals));
  }
  return conversion;
}

void add_faults(const FileInfo& info, std::vector<Refusal>& refusals) {
  for (const ProgramFault& fault : verify_programs(info, {.contents = false})) {
    refusals.push_back({.module = fault.module,
                        .what = fault.node.value_or(fault.record.value_or("the program")),
                        .why = fault.message,
                        .source = fault.source});
  }
}

}  // namespace fxtrace::internal
