#include "verify/report.h"

#include <cmath>
#include <functional>
#include <optional>
#include <ranges>
#include <string>

#include "support/json_emitter.h"
#include "support/text/printable.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"

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

void statistics(JsonEmitter& json, const char* name, const std::optional<FxtraceStatistics>& of) {
  json.key(name);
  if (!of) return json.null();
  json.object([&] {
    json.field("elements", of->elements);
    json.field("not_finite", of->not_finite);
    json.field("least", of->least);
    json.field("greatest", of->greatest);
    json.field("mean", of->mean);
  });
}

void write_fault(JsonEmitter& json, const Fault& fault) {
  const auto& difference = fault.difference;
  json.field("kind", to_string(fault.kind));
  json.field("run", fault.run);
  json.field("message", fault.what);
  json.text_or_null("place", fault.place);
  json.text_or_null("node", fault.node);
  json.text_or_null("text", fault.text);
  json.field("module", fault.node.empty() ? std::nullopt : std::optional(fault.module));
  json.text_or_null("source", fault.source);
  statistics(json, "graph_statistics", fault.ours);
  statistics(json, "model_statistics", fault.theirs);
  json.field("different_elements", difference ? std::optional(difference->elements) : std::nullopt);
  json.field("greatest_difference", difference ? std::optional(difference->greatest) : std::nullopt);
  json.field("nodes_after", fault.more);
}

void write_profile(JsonEmitter& json, const Profile& profile, const ModelSummary& measured) {
  json.field("runs", profile.runs);
  const double all = profile.modules.at("").seconds;
  const auto has_time = [](const SummaryRow& row) { return row.measured.has_value(); };
  json.key("modules").objects_lines(std::views::filter(measured.rows, has_time), [&](const SummaryRow& row) {
    json.field("path", row.path);
    json.field("type", row.type);
    json.field("calls", row.calls);
    json.field("seconds", row.measured->seconds);
    json.field("share", all > 0 ? row.measured->seconds / all : 0);
    json.field("allocated_bytes", row.measured->allocated_bytes);
    json.field("peak_bytes", row.measured->peak_bytes);
    json.field("macs", row.macs ? row.macs->number() : std::nullopt);
    json.field("flops_per_second", flops_per_second(row));
  });
}

// Returns "; 2 modules ran as themselves", or nothing.
std::string own_text(const Verification& verification) {
  if (verification.own_modules.empty()) return {};
  const auto count = static_cast<std::int64_t>(verification.own_modules.size());
  return "; " + counted(count, "module ran as itself", "modules ran as themselves");
}

std::string failed_text(const Verification& verification) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> paths = verification.failed_modules;
  const std::size_t more = paths.size() > kMost ? paths.size() - kMost : 0;
  paths.resize(paths.size() - more);
  const std::string rest = more == 0 ? "" : ", and " + std::to_string(more) + " more";
  return "  failed to trace, so nothing inside was compared: " + joined(paths, path_text) + rest;
}

// Returns "the model refused 2 runs (batch=3) (batch=5): its message; --dim NAME=LO..HI draws others".
std::string refused_text(const std::vector<Refusal>& refusals) {
  constexpr std::size_t kMost = 10;
  std::string text =
      "  the model refused " + counted(static_cast<std::int64_t>(refusals.size()), "more run", "more runs");
  for (std::size_t i = 0; i < refusals.size() && i < kMost; ++i)
    text += " (" + sizes_text(refusals[i].sizes) + ")";
  if (refusals.size() > kMost) text += " ...";
  const std::string& what = refusals.front().what;
  return text + ": " + what.substr(0, what.find('\n')) + "; --dim NAME=LO..HI draws others";
}

// Returns "; 2 runs (batch=3) (batch=5)", and the origin of their inputs.
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
  const Verdict verdict = verification.verdict();
  if (verdict == Verdict::kNotVerified) return line("not verified: " + verification.why);
  if (verdict != Verdict::kNotEqual) {
    if (verdict == Verdict::kCannotTell) {
      line("cannot tell whether they are equal:");
      line("  " + verification.why);
    }
    std::string text = (verdict == Verdict::kEqual ? "equal, " : "  all compared values are equal, ") +
                       tolerance(subject.options) + ": " + counted(verification.nodes, "node", "nodes") +
                       ", " + counted(verification.tensors, "tensor", "tensors") + " as the graph says";
    if (verification.guards != 0) text += ", " + counted(verification.guards, "guard holds", "guards hold");
    line(text + own_text(verification) + runs_text(verification, with_sizes));
    if (!verification.failed_modules.empty()) line(failed_text(verification));
    if (!verification.refusals.empty()) line(refused_text(verification.refusals));
    return;
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
  json.document([&] {
    json.field("format", "fxtrace.verification");
    json.field("version", 1);
    json.field("model", subject.model);
    json.text_or_null("against", subject.against);
    json.field("equal", verification.verdict() == Verdict::kEqual);
    json.field("verdict", to_string(verification.verdict()));
    json.text_or_null("why", verification.why);
    json.field("runs", static_cast<std::int64_t>(verification.sizes.size()));
    json.field("seed", static_cast<std::int64_t>(subject.options.seed));
    json.field("atol", subject.options.absolute);
    json.field("rtol", subject.options.relative);
    json.field("sizes", verification.sizes);
    json.key("inputs").list(verification.origins,
                            [&](InputOrigin origin) { json.string(to_string(origin)); });
    json.key("refused").objects(verification.refusals, [&](const Refusal& refusal) {
      json.field("sizes", sizes_text(refusal.sizes));
      json.field("message", refusal.what);
    });
    json.field("nodes", verification.nodes);
    json.field("tensors", verification.tensors);
    json.field("guards", verification.guards);
    json.field("own_modules", verification.own_modules);
    json.field("failed_modules", verification.failed_modules);
    json.key("fault");
    if (verification.fault) {
      json.object_lines([&] { write_fault(json, *verification.fault); });
    } else {
      json.null();
    }
    json.key("profile");
    if (verification.profile && subject.measured != nullptr) {
      json.object_lines([&] { write_profile(json, *verification.profile, *subject.measured); });
    } else {
      json.null();
    }
  });
}

}  // namespace fxtrace::verify
