// Reports of verifications: text and JSON (schemas/verification.schema.json).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <ostream>
#include <ranges>
#include <string>

#include "graph/collection_fields.h"
#include "summaries/model_summary.h"
#include "verify/verification.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal::verify {

// The subject of a verification, and its settings.
struct Subject {
  std::string model;  // name of the file
  VerifyOptions options;
  std::string against = {};                // name of the other model's file, if there is one
  const ModelSummary* measured = nullptr;  // measured_summary(), if there is a profile
};

// Writes the text, without the profile.
void write_text(const Verification& verification, const Subject& subject, std::ostream& out,
                const TextLayout& layout);
void write_json(const Verification& verification, const Subject& subject, std::ostream& out);

}  // namespace fxtrace::internal::verify

// The JSON of `fxtrace verify` (schemas/verification.schema.json); graph/collection_fields.h says what a
// description is.

namespace fxtrace::internal {

template <>
inline constexpr bool kOnLines<verify::Fault> = true;

void describe(auto& io, const FxtraceStatistics& of) {
  io.field("elements", of.elements);
  io.field("not_finite", of.not_finite);
  const auto finite = [](double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; };
  io.nullable("least", finite(of.least));
  io.nullable("greatest", finite(of.greatest));
  io.nullable("mean", finite(of.mean));
}

}  // namespace fxtrace::internal

namespace fxtrace::internal::verify {

struct VerificationAnswer {
  const Verification& verification;
  const Subject& subject;
};

void describe(auto& io, const Fault& fault) {
  const auto& difference = fault.difference;
  io.field("kind", fault.kind);
  io.field("run", fault.run);
  io.field("message", fault.what);
  io.nullable("place", fault.place);
  io.nullable("node", fault.node);
  io.nullable("text", fault.text);
  io.nullable("module", fault.node.empty() ? std::nullopt : std::optional(fault.module));
  io.nullable("source", fault.source);
  io.nullable("graph_statistics", fault.ours);
  io.nullable("model_statistics", fault.theirs);
  io.nullable("different_elements", difference ? std::optional(difference->elements) : std::nullopt);
  io.nullable("greatest_difference", difference ? std::optional(difference->greatest) : std::nullopt);
  io.field("nodes_after", fault.more);
}

void describe(auto& io, const VerificationAnswer& answer) {
  const auto& [verification, subject] = answer;
  io.field("format", "fxtrace.verification");
  io.field("version", 1);
  io.field("model", subject.model);
  io.nullable("against", subject.against);
  io.field("equal", verification.verdict() == Verdict::kEqual);
  io.field("verdict", verification.verdict());
  io.nullable("why", verification.why);
  io.field("runs", verification.sizes.size());
  io.field("seed", static_cast<std::int64_t>(subject.options.seed));
  io.field("atol", subject.options.absolute);
  io.field("rtol", subject.options.relative);
  io.field("sizes", verification.sizes);
  io.field("inputs", verification.origins);
  io.list("refused", verification.refusals, [&](const Refusal& refusal) {
    io.field("sizes", sizes_text(refusal.sizes));
    io.field("message", refusal.what);
  });
  io.field("nodes", verification.nodes);
  io.field("tensors", verification.tensors);
  io.field("guards", verification.guards);
  io.field("own_modules", verification.own_modules);
  io.field("failed_modules", verification.failed_modules);
  io.nullable("fault", verification.fault);
  if (!verification.profile || subject.measured == nullptr) return io.null("profile");
  io.block("profile", [&] {
    const double all = verification.profile->modules.at("").seconds;
    const auto has_time = [](const SummaryRow& row) { return row.measured.has_value(); };
    io.field("runs", verification.profile->runs);
    io.lines("modules", std::views::filter(subject.measured->rows, has_time), [&](const SummaryRow& row) {
      io.field("path", row.path);
      io.field("type", row.type);
      io.field("calls", row.calls);
      io.field("seconds", row.measured->seconds);
      io.field("share", all > 0 ? row.measured->seconds / all : 0);
      io.field("allocated_bytes", row.measured->allocated_bytes);
      io.field("peak_bytes", row.measured->peak_bytes);
      io.nullable("macs", row.macs ? row.macs->number() : std::nullopt);
      io.nullable("flops_per_second", flops_per_second(row));
    });
  });
}

}  // namespace fxtrace::internal::verify
