#include "verify/report.h"

#include <cmath>
#include <functional>
#include <string>

#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "writers/formats/document.h"
#include "writers/formats/field_writer.h"

namespace fxtrace::internal::verify {
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

void write_text(const Verification& verification, const Subject& subject, std::ostream& out,
                const TextLayout& layout) {
  Document document(out, layout);
  const auto line = [&](const std::string& text) { document.line(printable(text)); };
  const auto says = [&](const std::string& verdict, const std::string& text) {
    document.line(document.bold(verdict) + printable(text));
  };
  const auto with_sizes = [&](std::size_t run) {
    const std::string& sizes = verification.sizes.at(run);
    return sizes.empty() ? std::string() : " (" + sizes + ")";
  };
  const Verdict verdict = verification.verdict();
  if (verdict == Verdict::kNotVerified) return says("not verified", ": " + verification.why);
  if (verdict != Verdict::kNotEqual) {
    if (verdict == Verdict::kCannotTell) {
      says("cannot tell", " whether they are equal:");
      line("  " + verification.why);
    }
    std::string text = ", " + tolerance(subject.options) + ": " +
                       counted(verification.nodes, "node", "nodes") + ", " +
                       counted(verification.tensors, "tensor", "tensors") + " as the graph says";
    if (verification.guards != 0) text += ", " + counted(verification.guards, "guard holds", "guards hold");
    text += own_text(verification) + runs_text(verification, with_sizes);
    verdict == Verdict::kEqual ? says("equal", text) : line("  all compared values are equal" + text);
    if (!verification.failed_modules.empty()) line(failed_text(verification));
    if (!verification.refusals.empty()) line(refused_text(verification.refusals));
    return;
  }
  const Fault& fault = *verification.fault;
  std::string where;
  if (!fault.node.empty()) where = "at " + fault.text;
  if (!fault.node.empty() && !fault.module.empty()) where += ", in " + fault.module;
  if (!fault.source.empty()) where += (where.empty() ? "at " : ", ") + fault.source;
  says("not equal", (where.empty() ? "" : " " + where) + ":");
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
  write_fields(VerificationAnswer{verification, subject}, out);
}

}  // namespace fxtrace::internal::verify
