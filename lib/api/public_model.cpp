#include "fxtrace/model.h"

#include <algorithm>
#include <filesystem>
#include <ios>
#include <istream>
#include <iterator>
#include <ostream>
#include <ranges>
#include <system_error>

#include <unistd.h>

#include "api/public_parts.h"
#include "costs/custom_costs.h"
#include "pipelines/answers/questions.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "support/descriptor_stream.h"
#include "support/error.h"
#include "support/file_aside.h"
#include "support/text/glob.h"
#include "trace/options/input_spec.h"
#include "trace/options/option_json.h"

namespace fxtrace {

namespace internal {

namespace {

// Throws Error(kUsage) unless the value is one that JSON has.
void check_concrete(const Argument& value, const std::string& name) {
  const auto check_all = [&](const std::vector<Argument>& items) {
    for (const Argument& item : items) check_concrete(item, name);
  };
  if (value.is<Argument::None>() || value.is<bool>() || value.is<std::int64_t>() || value.is<double>() ||
      value.is<std::string>())
    return;
  if (const auto* list = value.get_if<Argument::List>()) return check_all(list->items);
  const auto* dict = value.get_if<Argument::Dict>();
  if (dict == nullptr)
    throw usage_error("concrete value of " + name + ": expected None, bools, numbers, texts, lists or dicts");
  for (const auto& [key, item] : dict->items) {
    if (!key.is<std::string>()) throw usage_error("concrete value of " + name + ": keys of dicts are texts");
    check_concrete(item, name);
  }
}

}  // namespace

Config config_of(const fxtrace::TraceOptions& given, std::vector<std::string> passes) {
  check_passes(passes);
  Config config;
  config.passes = std::move(passes);
  TraceOptions& options = config.options;
  static_cast<fxtrace::TraceOptions&>(options) = given;
  for (LeafRule& rule : options.leaf_rules) {
    if (rule.text.empty()) rule.text = rule_text(rule);
  }
  for (const WrapRule& rule : options.wrap_rules) static_cast<void>(Glob(rule.glob));
  for (InputSpec& input : options.inputs) input = read_input_spec(input.name + "=" + input.text);
  for (DimensionRange& range : options.dimensions)
    range = read_dimension_range(range.name + "=" + range_text(range));
  for (CustomCost& cost : options.custom_costs) cost = read_custom_cost(cost.name + "=" + cost.text);
  for (const ConcreteArg& argument : options.concrete) check_concrete(argument.value, argument.name);
  if (options.max_depth && *options.max_depth < 0) throw usage_error("max_depth is at least 0");
  for (const std::int64_t limit :
       {options.limits.iterations, options.limits.nodes, options.limits.call_depth}) {
    if (limit < 1) throw usage_error("a limit is at least 1");
  }
  return config;
}

ExtractRequest request_of(const Part& part) {
  return {.module = part.module,
          .call = part.call,
          .from = part.from,
          .to = part.to,
          .run = {},
          .graph = part.graph};
}

SummaryRequest request_of(const SummaryOptions& how) {
  const auto is_positive = [](double number) { return number > 0; };
  if (how.on && (how.on->memory_bytes < 1 || !is_positive(how.on->bandwidth) ||
                 !std::ranges::all_of(how.on->peaks | std::views::values, is_positive)))
    throw usage_error("memory, bandwidth and peaks of a device are positive").at(how.on->name);
  SummaryRequest request{.at = {}, .memory = how.memory, .on = how.on, .columns = how.columns};
  if (request.on && request.on->title.empty()) request.on->title = how.on->name;
  for (const auto& [name, sizes] : how.at) request.at.push_back({name, sizes});
  return request;
}

DifferenceKinds kinds_of(const DiffOptions& how) {
  DifferenceKinds kinds = how.only.empty() ? DifferenceKinds::usual() : DifferenceKinds();
  for (const std::string& name : how.only) kinds.add(difference_kind(name));
  for (const std::string& name : how.ignore) kinds.remove(difference_kind(name));
  return kinds;
}

Comparison compared(Owner before, Owner after, DifferenceKinds kinds) {
  ModelComparison comparison = compare(*before, *after, {.kinds = kinds});
  return Comparison(std::make_shared<const ComparedPair>(
      ComparedPair{std::move(before), std::move(after), std::move(comparison)}));
}

bool are_given(const Config& config, const Config& others) {
  return options_json(config) != options_json(others);
}

}  // namespace internal

namespace {

using internal::LibraryRun;

std::string text_of(std::istream& in, const std::string& name) {
  try {
    if (in) {
      std::string bytes(std::istreambuf_iterator<char>(in), {});
      if (!in.bad()) return bytes;
    }
  } catch (const std::ios_base::failure&) {  // of a folder
  }
  throw internal::input_error("cannot read the stream").at(name);
}

}  // namespace

Model Model::open(const std::string& file) {
  return Model(std::make_shared<const internal::ModelFile>(file));
}
Model Model::open(std::istream& in, const std::string& name) { return of_bytes(text_of(in, name), name); }
Model Model::of_bytes(std::string_view bytes, const std::string& name) {
  return Model(std::make_shared<const internal::ModelFile>(internal::ModelFile::of_bytes(bytes, name)));
}

const std::string& Model::name() const { return file().path(); }

Inspection Model::inspect(const TraceOptions& options, const Listener& listener) const {
  internal::Config config = internal::config_of(options);
  LibraryRun run(config, file(), listener);
  return Inspection(std::make_shared<const internal::InspectionOf>(
      internal::InspectionOf{inspect_file(config, file(), run)}));
}

GraphCollection Model::trace(const TraceOptions& options, const Listener& listener) const {
  internal::Config config = internal::config_of(options);
  LibraryRun run(config, file(), listener);
  internal::GraphCollection& traced = read_model_or_collection(config, are_given(config), file(), run);
  return GraphCollection(std::make_shared<const internal::GraphCollection>(std::move(traced)));
}

Summary Model::summary(const SummaryOptions& how, const TraceOptions& options,
                       const Listener& listener) const {
  internal::Config config = internal::config_of(options);
  LibraryRun run(config, file(), listener);
  internal::SummaryRequest request = internal::request_of(how);
  request.has_trace_options = are_given(config);
  return internal::summary_of(summarize_file(config, request, file(), run));
}

Order Model::order(const TraceOptions& options, const Listener& listener) const {
  internal::Config config = internal::config_of(options);
  config.options.beyond_ranges = true;
  LibraryRun run(config, file(), listener);
  return internal::order_of(read_model_or_collection(config, are_given(config), file(), run));
}

Explanation Model::why(const Question& question, const TraceOptions& options,
                       const Listener& listener) const {
  if (question.module.has_value() + question.dimension.has_value() + question.guard.has_value() > 1)
    throw internal::usage_error("a question is about a module, a dimension or a guard");
  internal::Config config = internal::config_of(options);
  LibraryRun run(config, file(), listener);
  return Explanation(
      std::make_shared<const internal::Explanation>(explain_model(config,
                                                                  {.path = question.module,
                                                                   .dimension = question.dimension,
                                                                   .guard = question.guard,
                                                                   .has_trace_options = are_given(config)},
                                                                  file(), run)));
}

GraphCollection Model::extract(const Part& part, const TraceOptions& options,
                               const Listener& listener) const {
  return trace(options, listener).extract(part);
}

Conversion Model::convert(const ConvertOptions& how, const TraceOptions& options,
                          const Listener& listener) const {
  internal::Config config = internal::config_of(options, how.passes);
  internal::Config only_model;
  only_model.options.model = options.model;
  only_model.options.method = options.method;
  const internal::ConversionRequest request{.methods = how.methods,
                                            .sharing = {},
                                            .part = internal::request_of(how.part),
                                            .hints = how.hints,
                                            .has_example_inputs = how.example_inputs,
                                            .grad = how.grad,
                                            .is_functional = how.functional,
                                            .freezes_state = how.freeze_state,
                                            .decomposes_quantized = how.decompose_quantized,
                                            .dropped_outputs = how.dropped_outputs,
                                            .taps = how.taps,
                                            .names = how.names,
                                            .for_torch = how.for_torch,
                                            .is_changed = are_given(config, only_model)};
  LibraryRun run(config, file(), listener);
  return Conversion(std::make_shared<const internal::ConvertedModel>(
      internal::ConvertedModel{file(), convert_model(config, request, file(), run)}));
}

BillOfMaterials Model::bom(const TraceOptions& options, const Listener& listener) const {
  return fxtrace::bom({*this}, options, listener);
}

BillOfMaterials bom(const std::vector<Model>& models, const TraceOptions& options, const Listener& listener) {
  if (models.empty()) throw internal::usage_error("a bill of materials is of at least one model");
  internal::Config config = internal::config_of(options);
  LibraryRun run(config, models.front().file(), listener);
  BillOfMaterials bill;
  for (const Model& model : models) bill.materials.push_back(material_of(config, model.file(), run));
  return bill;
}

Verification Model::verify(const VerifyOptions& how, const TraceOptions& options,
                           const Listener& listener) const {
  internal::Config config = internal::config_of(options);
  internal::VerificationRequest request;
  request.options = {how.runs, how.seed, how.absolute, how.relative, false};
  if (how.runs < 1) throw internal::usage_error("the number of runs is at least 1");
  if (how.against) request.against.emplace(*how.against);
  for (const std::string& file : how.inputs) request.inputs.emplace_back(file);
  internal::Run run(listener);
  const FxtraceEngine* engine = at_file(file(), [&] { return open_libraries(config.options, true, run); });
  internal::VerifiedReport report{
      verify_model(config, request, file(), *engine, run),
      {file().base_name(), request.options, request.against ? request.against->base_name() : ""}};
  return Verification(std::make_shared<const internal::VerifiedReport>(std::move(report)));
}

Comparison diff(const Model& before, const Model& after, const DiffOptions& how, const TraceOptions& options,
                const Listener& listener) {
  const internal::DifferenceKinds kinds = internal::kinds_of(how);
  internal::Config config = internal::config_of(options);
  LibraryRun run(config, before.file(), listener);
  const auto [first, second] = read_model_pair(config, before.file(), after.file(), run);
  return internal::compared(std::make_shared<const internal::GraphCollection>(std::move(first)),
                            std::make_shared<const internal::GraphCollection>(std::move(second)), kinds);
}
Comparison diff(const GraphCollection& before, const GraphCollection& after, const DiffOptions& how) {
  return internal::compared(before.owner(), after.owner(), internal::kinds_of(how));
}

// --- Conversion ---

std::vector<NotConvertible> Conversion::refusals() const {
  std::vector<NotConvertible> refusals;
  for (const internal::Refusal& refusal : data_->conversion.refusals)
    refusals.push_back({refusal.module, refusal.what, refusal.why, refusal.help, refusal.source});
  return refusals;
}

void Conversion::write(std::ostream& out, bool with_weights) const {
  if (!is_possible()) {
    const internal::Refusal& first = data_->conversion.refusals.front();
    throw internal::input_error("no program can be made of it: " + first.what + ": " + first.why)
        .at(data_->file.path())
        .in(first.module);
  }
  data_->conversion.write(data_->file, with_weights, out);
  if (!out) throw internal::input_error("the program cannot be written to the stream").at(data_->file.path());
}

void Conversion::write(const std::string& file, bool with_weights) const {
  try {
    const std::filesystem::path target = std::filesystem::weakly_canonical(file);
    if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target))
      throw internal::input_error("cannot write it: it is not a regular file").at(file);
    internal::FileAside aside(target);
    internal::DescriptorStream out(aside.descriptor());
    write(out, with_weights);
    out.flush();
    std::vector<internal::Refusal> faults;
    add_faults(identify_file(internal::ModelFile(internal::Descriptor(::dup(aside.descriptor())), file)),
               faults);
    if (!faults.empty()) {
      throw internal::input_error("what was written is no program of torch.export: " + faults.front().what +
                                  ": " + faults.front().why)
          .at(file);
    }
    aside.replace_target();
  } catch (const std::system_error& error) {
    throw internal::input_error("cannot write it: " + error.code().message()).at(file);
  }
}

}  // namespace fxtrace
