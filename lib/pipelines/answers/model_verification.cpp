#include "pipelines/answers/model_verification.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "exported/program/exported_program.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "verify/calls/graph_run.h"
#include "verify/inputs/given_inputs.h"
#include "verify/inputs/inputs.h"

namespace fxtrace::internal {
namespace {

// Returns the values to run on that were given, as files or as the sample inputs of an exported program.
verify::GivenInputs given_inputs(const verify::Engine& engine, const std::vector<ModelFile>& files,
                                 const TraceOptions& options, const ModuleGraph& graph,
                                 const ExportedProgram* program) {
  verify::GivenInputs given;
  if (files.empty()) {
    if (program == nullptr || !options.inputs.empty()) return given;
    given.origin = verify::InputOrigin::kSample;
    given.values = sample_values(engine, *program);
    return given;
  }
  given.origin = verify::InputOrigin::kFile;
  verify::CallInputs inputs;
  for (const ModelFile& file : files) {
    try {
      verify::CallInputs read = verify::read_inputs(engine, file);
      std::ranges::move(read.positional, std::back_inserter(inputs.positional));
      std::ranges::move(read.named, std::back_inserter(inputs.named));
    } catch (const verify::RunError& error) {
      throw input_error(error.what()).at(file.path());
    }
  }
  try {
    std::vector<std::string> fixed;
    for (const ConcreteArg& argument : options.concrete) fixed.push_back(argument.name);
    given.values = program == nullptr ? values_for_graph(inputs, graph, fixed)
                                      : values_for_program(engine, inputs, *program);
  } catch (const verify::RunError& error) {
    throw input_error(error.what()).at(files.back().path());
  }
  return given;
}

// The model of VerificationRequest::against, to which the program is compared.
struct Other {
  FileInfo info;
  std::unique_ptr<const Program> program;
};

Other read_other(const ModelFile& file, const TraceOptions& options, Run& run) {
  run.reads(1);
  Other other;
  other.info = identify_file(file);
  if (!is_traceable(other.info.kind)) throw not_traceable(other.info).at(file.path());
  TraceOptions own;
  own.op_schemas = options.op_schemas;
  own.registered = options.registered;
  other.program = load_program(file, other.info, own, run.listener());
  run.reads(0);
  return other;
}

// The options select a method of the TorchScript archive, but `forward` of the program that was made from it.
// The program is traced into all its modules.
void set_up_for_other(Config& config) {
  config.options.method = "forward";
  config.options.default_leaves = false;
}

}  // namespace

VerifiedModel verify_model(const Config& config, const VerificationRequest& request, const NamedFile& named,
                           const FxtraceEngine& api, Run& run) {
  const ModelFile& file = named.file;
  const FileInfo info = identify_file(file);
  if (!is_traceable(info.kind)) throw not_traceable(info).at(file.path());
  at_file(file, [&] { info.zip->check_is_whole(); });
  Config traced = config;
  std::optional<GraphCollection> given;
  if (request.collection) {
    given = read_collection_file(*request.collection, run.listener());
    read_config(given->options_json, request.collection->path(), traced);
    traced.passes.clear();
  }
  std::optional<Other> other;
  if (request.against) {
    if (info.kind != FileKind::kExportedProgram)
      throw input_error("--against expects a torch.export program (.pt2) as MODEL, got " + info.what)
          .at(file.path());
    other = read_other(*request.against, config.options, run);
    set_up_for_other(traced);
  }
  TraceRequest wanted;
  wanted.input_options = info.kind == FileKind::kTorchScript;
  TraceResult& result = trace_file(named, info, traced, wanted, run);
  if ((given ? *given : result.collection).graphs.empty() || result.collection.graphs.empty())
    throw input_error("the model has no graph to run").at(file.path());
  GraphCollection& collection = given ? *given : result.collection;
  if (!given) run_passes(traced.passes, collection, run.listener());
  const auto finish = [&](verify::Verification verification) {
    if (file.has_changed() || (request.against && request.against->has_changed()))
      throw input_error(
          "the file changed meanwhile, so the graph and the model that ran may be of different files")
          .at(file.path());
    check_strict(traced, collection, file, run);
    VerifiedModel verified{std::move(verification), {}};
    if (const auto& profile = verified.verification.profile)
      verified.measured = measured_summary(collection, *profile);
    return verified;
  };
  run.listener().status("running the code of the model");
  run.begins(Stage::kRunModel);

  const verify::Engine engine(api);
  verify::keep_callable_operators(engine);
  const verify::ModelSource source{engine, file, info.root, collection, traced.options};
  const auto* program = as_exported(result.program.get());
  const verify::Load load = [&] {
    return program == nullptr ? verify::load_script_model(source)
                              : verify::load_program_model(source, *program);
  };
  verify::Load load_other;
  if (other) {
    verify::ModelSource of{engine, *request.against, other->info.root, collection, traced.options};
    of.method = config.options.method;
    for (const ParameterRecord& parameter : other->program->parameters()) {
      if (parameter.kind == ParameterKind::kBuffer && !parameter.alias_of) of.state.push_back(parameter.name);
    }
    const auto* exported = as_exported(other->program.get());
    load_other = [of, exported] {
      return exported == nullptr ? verify::load_script_model(of) : verify::load_program_model(of, *exported);
    };
  }
  // Without given inputs, random values are drawn: the sample inputs of a converted program are zeros, which
  // show hardly anything.
  const verify::GivenInputs inputs =
      other && request.inputs.empty()
          ? verify::GivenInputs()
          : given_inputs(engine, request.inputs, traced.options, collection.graphs.front(), program);
  const auto cannot_run = [&](const std::string& what, std::vector<std::string> hints = {}) {
    return input_error(what, std::move(hints)).at(file.path());
  };
  try {
    return finish(
        verify_graph(engine, collection, traced.options, load, request.options, inputs, load_other));
  } catch (const verify::MissingInput& missing) {
    if (auto known = verify::not_verified(collection)) return finish(*std::move(known));
    std::vector<std::string> hints;
    for (const std::string& option : result.input_options) hints.push_back("for example " + option);
    hints.emplace_back("--inputs FILE gives values that torch.save or numpy has written");
    throw cannot_run(missing.what(), std::move(hints));
  } catch (const verify::Refused& error) {
    throw cannot_run("the model cannot be run with " + verify::sizes_text(error.sizes) + ": " + error.what(),
                     {"--dim NAME=LO..HI draws other sizes"});
  } catch (const verify::CannotRun& error) {
    throw cannot_run(std::string("it cannot be run without Python: ") + error.what());
  } catch (const verify::RunError& error) {
    throw cannot_run(std::string("the model cannot be run: ") + error.what());
  }
}

}  // namespace fxtrace::internal
