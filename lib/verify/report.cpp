#include "verify/report.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "support/printable.h"
#include "writers/json_emitter.h"

namespace fxtrace::verify {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string counted(std::int64_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

std::string tolerance(const VerifyOptions& options) {
  if (options.absolute == 0 && options.relative == 0) return "bit for bit";
  return "within atol " + number(options.absolute) + " and rtol " + number(options.relative);
}

std::string statistics_text(const FxtraceStatistics& of) {
  std::string text =
      "least " + number(of.least) + ", greatest " + number(of.greatest) + ", mean " + number(of.mean);
  if (of.not_finite != 0) text += ", " + std::to_string(of.not_finite) + " not finite";
  return text;
}

// A number, or null where JSON has none.
void real(JsonEmitter& json, double value) {
  if (std::isfinite(value)) return json.finite_double(value);
  json.null();
}

void statistics(JsonEmitter& json, const char* name, const std::optional<FxtraceStatistics>& of) {
  json.key(name);
  if (!of) return json.null();
  json.open('{');
  json.key("elements");
  json.integer(of->elements);
  json.key("not_finite");
  json.integer(of->not_finite);
  json.key("least");
  real(json, of->least);
  json.key("greatest");
  real(json, of->greatest);
  json.key("mean");
  real(json, of->mean);
  json.close('}');
}

void text_or_null(JsonEmitter& json, const char* name, const std::string& text) {
  json.key(name);
  if (text.empty()) return json.null();
  json.string(text);
}

template <class T>
void number_or_null(JsonEmitter& json, const char* name, const std::optional<T>& value) {
  json.key(name);
  if (!value) return json.null();
  if constexpr (std::is_same_v<T, double>) {
    real(json, *value);
  } else {
    json.integer(*value);
  }
}

void write_fault(JsonEmitter& json, const Fault& fault) {
  json.open_lines('{');
  json.key("kind");
  json.string(to_string(fault.kind));
  json.key("run");
  json.integer(fault.run);
  json.key("message");
  json.string(fault.what);
  text_or_null(json, "place", fault.place);
  text_or_null(json, "node", fault.node);
  text_or_null(json, "text", fault.text);
  json.key("module");
  if (fault.node.empty()) {
    json.null();
  } else {
    json.string(fault.module);
  }
  text_or_null(json, "source", fault.source);
  statistics(json, "graph_statistics", fault.ours);
  statistics(json, "model_statistics", fault.theirs);
  std::optional<std::int64_t> elements;
  std::optional<double> greatest;
  if (const auto& difference = fault.difference) {
    elements = difference->elements;
    greatest = difference->greatest;
  }
  number_or_null(json, "different_elements", elements);
  number_or_null(json, "greatest_difference", greatest);
  json.key("nodes_after");
  json.integer(fault.more);
  json.close('}');
}

void write_profile(JsonEmitter& json, const Profile& profile, const ModelSummary& measured) {
  json.open_lines('{');
  json.key("runs");
  json.integer(profile.runs);
  json.key("modules");
  json.open_lines('[');
  const double all = profile.modules.at("").seconds;
  for (const SummaryRow& row : measured.rows) {
    if (!row.measured) continue;
    json.item();
    json.open('{');
    json.key("path");
    json.string(row.path);
    json.key("type");
    json.string(row.type);
    json.key("calls");
    json.integer(row.calls);
    json.key("seconds");
    real(json, row.measured->seconds);
    json.key("share");
    real(json, all > 0 ? row.measured->seconds / all : 0);
    json.key("allocated_bytes");
    json.integer(row.measured->allocated_bytes);
    json.key("peak_bytes");
    json.integer(row.measured->peak_bytes);
    number_or_null(json, "macs", row.macs ? row.macs->number() : std::nullopt);
    number_or_null(json, "flops_per_second", flops_per_second(row));
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

// "; 2 runs (batch=3) (batch=5)", and where their inputs are from.
std::string runs_text(const Verification& verification,
                      const std::function<std::string(std::size_t)>& with_sizes) {
  std::string text = "; " + counted(verification.runs, "run", "runs");
  for (std::size_t i = 0; i < verification.sizes.size(); ++i) text += with_sizes(i);
  const InputOrigin first = verification.origins.front();
  if (first == InputOrigin::kFile) return text + " on the given inputs";
  if (first == InputOrigin::kRandom) return text;
  return text + (verification.runs == 1 ? " on the file's sample inputs"
                                        : ", the first on the file's sample inputs");
}

}  // namespace

void write_text(const Verification& verification, const Subject& subject, std::ostream& out) {
  const auto line = [&](const std::string& text) { out << printable(text) << "\n"; };
  const auto with_sizes = [&](std::size_t run) {
    const std::string& sizes = verification.sizes.at(run);
    return sizes.empty() ? std::string() : " (" + sizes + ")";
  };
  if (!verification.fault) {
    std::string text = "equal, " + tolerance(subject.options) + ": " +
                       counted(verification.nodes, "node", "nodes") + ", " +
                       counted(verification.tensors, "tensor", "tensors") + " as the graph says";
    if (verification.guards != 0) text += ", " + counted(verification.guards, "guard holds", "guards hold");
    return line(text + runs_text(verification, with_sizes));
  }
  const Fault& fault = *verification.fault;
  std::string where;
  if (!fault.node.empty()) where = "at " + fault.text;
  if (!fault.node.empty() && !fault.module.empty()) where += ", in " + fault.module;
  if (!fault.source.empty()) where += (where.empty() ? "at " : ", ") + fault.source;
  line("not equal" + (where.empty() ? ":" : " " + where + ":"));
  line("  " + (fault.place.empty() ? "" : fault.place + ": ") + fault.what);
  if (fault.difference && std::isfinite(fault.difference->greatest))
    line("  greatest difference " + number(fault.difference->greatest));
  if (fault.ours) line("  graph: " + statistics_text(*fault.ours));
  if (fault.theirs) line("  model: " + statistics_text(*fault.theirs));
  if (fault.more != 0)
    line("  " + counted(fault.more, "node", "nodes") + " after it " +
         (fault.more == 1 ? "differs" : "differ") + " too");
  line("  run " + std::to_string(fault.run) + with_sizes(static_cast<std::size_t>(fault.run)));
}

void write_json(const Verification& verification, const Subject& subject, std::ostream& out) {
  JsonEmitter json(out);
  json.open_lines('{');
  json.key("format");
  json.string("fxtrace.verification");
  json.key("version");
  json.integer(1);
  json.key("model");
  json.string(subject.model);
  json.key("equal");
  json.boolean(!verification.fault);
  json.key("runs");
  json.integer(subject.options.runs);
  json.key("seed");
  json.integer(static_cast<std::int64_t>(subject.options.seed));
  json.key("atol");
  real(json, subject.options.absolute);
  json.key("rtol");
  real(json, subject.options.relative);
  json.key("sizes");
  json.open('[');
  for (const std::string& sizes : verification.sizes) {
    json.item();
    json.string(sizes);
  }
  json.close(']');
  json.key("inputs");
  json.open('[');
  for (const InputOrigin origin : verification.origins) {
    json.item();
    json.string(to_string(origin));
  }
  json.close(']');
  json.key("nodes");
  json.integer(verification.nodes);
  json.key("tensors");
  json.integer(verification.tensors);
  json.key("guards");
  json.integer(verification.guards);
  json.key("fault");
  if (verification.fault) {
    write_fault(json, *verification.fault);
  } else {
    json.null();
  }
  json.key("profile");
  if (verification.profile && subject.measured != nullptr) {
    write_profile(json, *verification.profile, *subject.measured);
  } else {
    json.null();
  }
  json.close('}');
  json.raw("\n");
  json.flush();
}

}  // namespace fxtrace::verify
