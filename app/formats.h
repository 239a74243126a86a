// The formats of a collection, and the options that choose one: shared by the commands that write
// collections.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "app/isolation.h"
#include "app/output.h"
#include "graph/graph_collection.h"
#include "pictures/picture.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

struct Format {
  const char* name;    // as -f has it
  const char* suffix;  // of -o; empty: only -f chooses it
  bool is_picture;     // leaves out what no picture shows; the options of pictures are for these
  void (*write)(const GraphCollection& collection, std::ostream& out, const PictureOptions& options);
  const char* graphviz = nullptr;    // what is written is DOT, from which `dot` makes this
  bool is_opened_by_reader = false;  // it holds all boxes, and who reads it opens and closes them
};

// What the command line said; add_to() fills it while CLI11 parses, so it must stay where it is until then.
class FormatArguments {
 public:
  void add_to(CLI::App& app);

  const std::string& output() const { return output_; }  // the FILE of -o; "-" is stdout
  // The format of -f, else what the suffix of -o says, else JSON.  Throws Error(kUsage) for a suffix of no
  // format, and for options that do not apply to it.
  const Format& format() const;
  // Lets Graphviz draw what is written, where the format needs it.  Throws Error(kInput) where that is not
  // installed.  `isolation` must live as long as `output`.
  void connect(Output& output, const IsolationArguments& isolation) const;
  void write(const GraphCollection& collection, std::ostream& out) const;

 private:
  const Format& chosen() const;

  std::string output_ = "-";
  std::optional<std::string> format_;
  std::optional<std::int64_t> max_label_;
  PictureOptions picture_;
};

}  // namespace fxtrace::cli
