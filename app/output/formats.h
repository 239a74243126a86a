// The output formats of a collection and the options that select one, shared by commands that write
// collections.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "app/console.h"
#include "app/options/answer.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "graph/graph_collection.h"
#include "pictures/picture.h"

namespace CLI {
class App;
}

namespace fxtrace::internal::cli {

// A collection, and what is shown of it.
struct Drawing {
  const GraphCollection& collection;
  const PictureOptions& options;
};

// The parsed options.  CLI11 writes into this object after add_to(), so it must not be moved before parsing
// ends.
class FormatArguments : AnswerFormats<Drawing> {
 public:
  FormatArguments();
  void add_to(CLI::App& app);

  using AnswerFormats::layout;
  using AnswerFormats::output;
  // Returns the format of -f, or by the suffix of -o, or else JSON.  Throws Error(kUsage) for an unknown
  // suffix, and for options that do not apply to the format.
  const AnswerFormat& format() const;
  // Throws what format() throws, and Error(kUsage) for output that a terminal cannot show well: a binary
  // format, and with `asks_format` JSON if neither -o nor -f asks for it.
  void check_terminal(const Console& console, bool asks_format) const;
  void write(const GraphCollection& collection, std::ostream& out) const;

 private:
  std::optional<std::int64_t> max_label_;
  PictureOptions picture_;
};

}  // namespace fxtrace::internal::cli
