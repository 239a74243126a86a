// Reports of verifications: text and JSON (schemas/verification.schema.json).
#pragma once

#include <ostream>
#include <string>

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
