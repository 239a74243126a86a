// The parts that commands share that answer a question: the formats of the answer, and reading the model or
// collection.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/console.h"
#include "app/output/files.h"
#include "app/process/isolation.h"
#include "graph/graph_collection.h"
#include "trace/options/config.h"
#include "trace/search/trace_program.h"
#include "writers/formats/text_layout.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

struct AnswerFormat {
  const char* suffix;            // suffix of the FILE of -o: ".json"
  const char* option = nullptr;  // the option that chooses the format, "--json"; null: none
  const char* help = "";         // the help of that option
};

// A format of one command's answer, and its writer.
template <class Answer>
struct AnswerRow {
  AnswerFormat format;
  void (*write)(const Answer& answer, std::ostream& out, const TextLayout& layout);
  const char* graphviz = nullptr;  // the format into which Graphviz converts what is written; null: none
};

// Adapts the writer of a format that has no layout.
template <auto Write, class Answer>
void write_plain(const Answer& answer, std::ostream& out, const TextLayout&) {
  Write(answer, out);
}

// The options -o, --json and the like of one command.  CLI11 writes into this object after add_to(), so it
// must not be moved before parsing ends.
class AnswerArguments {
 public:
  // The first format is the default.
  explicit AnswerArguments(std::vector<AnswerFormat> formats) : formats_(std::move(formats)) {}
  // Takes the formats from rows that have a member `format`.
  template <class Row, std::size_t Count>
  explicit AnswerArguments(const Row (&rows)[Count]) {
    for (const Row& row : rows) formats_.push_back(row.format);
  }
  // `more` is added to the help of -o, after the list of suffixes.  `by_name`: -f names a format as well,
  // text for .txt and else the suffix.
  void add_to(CLI::App& app, const std::string& more = "", bool by_name = false);

  const std::string& output() const { return output_; }  // the FILE of -o; "-" is stdout
  // Returns the index of the format.  Throws Error(kUsage) for a suffix that none has.
  std::size_t format() const;
  // Returns the layout of a text for people: as wide as the terminal if it goes there.
  TextLayout layout(const Console& console) const;

 private:
  std::vector<AnswerFormat> formats_;
  std::string output_ = "-";
  std::size_t chosen_ = 0;
  bool is_chosen_ = false;
};

// Returns the trace of a model, or the collection that `fxtrace trace` saved, which has no program;
// `isolated` owns it.  Throws as read_model_or_collection() does.
TraceResult& trace_or_read(const Config& config, bool has_trace_options, const InputFile& input,
                           Isolated& isolated, Console& console);

// Returns the collection of a model, traced and after the passes of the configuration, or the one that
// `fxtrace trace` saved; `isolated` owns it.  Throws Error(kUsage) if options of a trace are given for a
// saved one (`has_trace_options`), and Error(kInput).
GraphCollection& read_model_or_collection(const Config& config, bool has_trace_options,
                                          const InputFile& input, Isolated& isolated, Console& console);

// Returns kModuleFailed, with an error on the console, if --strict is given and strict_failure() finds
// something; else returns `code`.
int strict_code(const Config& config, const GraphCollection& collection, const InputFile& input,
                Console& console, int code);

}  // namespace fxtrace::cli
