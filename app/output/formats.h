// The formats of products: of collections, and of the answers of commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/console.h"
#include "app/output/files.h"
#include "app/output/graphviz.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "graph/graph_collection.h"
#include "pictures/picture.h"
#include "trace/options/options.h"
#include "writers/formats/text_layout.h"
#include "writers/pictures/overlay.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fxtrace::internal::cli {

// The parts that commands share that answer a question: the formats of the answer, and reading the model or
// collection.

struct AnswerFormat {
  const char* suffix;              // suffix of the FILE of -o: ".json"; empty: none
  const char* option = nullptr;    // an option that does the same as -f with its name, "--json"; null: none
  const char* help = "";           // the help of that option
  const char* graphviz = nullptr;  // the format into which Graphviz converts what is written; null: none
  const char* other_name = nullptr;
  bool is_picture = false;           // shows only a part of a collection
  bool is_opened_by_reader = false;  // has all boxes, which the reader opens and closes
  bool has_marks = false;            // of a picture: shows the values of an overlay

  // Returns the name for -f: "text" for .txt, else the suffix without its dot, unless there is another one.
  std::string name() const;
  bool is_json() const { return std::string_view(suffix) == ".json"; }
  bool is_for_people() const {
    return std::string_view(suffix) == ".txt" || std::string_view(suffix) == ".md";
  }
};

// A format of one command's answer, and its writer.
template <class Answer>
struct AnswerRow {
  AnswerFormat format;
  void (*write)(const Answer& answer, std::ostream& out, const TextLayout& layout);
};

// Adapts the writer of a format that has no layout.
template <auto Write, class Answer>
void write_plain(const Answer& answer, std::ostream& out, const TextLayout&) {
  Write(answer, out);
}
// Adapts a writer of text that writes Markdown, too.
template <auto Write, class Answer>
void write_markdown(const Answer& answer, std::ostream& out, const TextLayout&) {
  Write(answer, out, {.is_markdown = true});
}

// The options -o, --json and the like of one command.  CLI11 writes into this object after add_to(), so it
// must not be moved before parsing ends.
class AnswerArguments {
 public:
  // The first format is the default.
  explicit AnswerArguments(std::vector<AnswerFormat> formats) : formats_(std::move(formats)) {}
  // `more` is added to the help of -o, after the list of suffixes.
  void add_to(CLI::App& app, const std::string& more = "");

  const std::string& output() const { return output_; }  // the FILE of -o; "-" is stdout
  // Throws Error(kUsage) for a suffix that no format has.
  const AnswerFormat& format() const;
  // Returns the layout of a text for people: as wide as the terminal if it goes there.
  TextLayout layout(const Console& console) const;

 protected:
  AnswerArguments() = default;
  CLI::Option* add_names(CLI::App& app, const std::string& help);  // adds -f
  // Returns one text of each format, if it is not empty.
  template <class Text>
  std::vector<std::string> each(Text text) const {
    std::vector<std::string> texts;
    for (const AnswerFormat& format : formats_) texts.emplace_back(std::invoke(text, format));
    std::erase(texts, "");
    return texts;
  }

  std::vector<AnswerFormat> formats_;
  std::string output_ = "-";
  const AnswerFormat* chosen_ = nullptr;  // by an option
};

// The same for the formats of one answer, found with their writers.
template <class Answer>
class AnswerFormats : public AnswerArguments {
 public:
  template <std::size_t Count>
  explicit AnswerFormats(const AnswerRow<Answer> (&rows)[Count]) : rows_(rows) {
    for (const auto& row : rows) formats_.push_back(row.format);
  }
  // Throws Error(kUsage).
  const AnswerRow<Answer>& row() const { return rows_[&format() - formats_.data()]; }

 private:
  const AnswerRow<Answer>* rows_;
};

// Reads, asks and writes: calls ask(arguments, config, layout, file, output, isolated), which writes the
// answer, in the process that reads the model of the arguments.  Returns the exit code.
template <class Arguments, class Ask>
int run_answer(const Arguments& arguments, Config config, Console& console, const Ask& ask) {
  const AnswerFormat& format = arguments.answer.format();  // reports a wrong one before any work
  const InputFile input(arguments.model, console, arguments.isolation.seconds());
  Output output(arguments.answer.output(), input, console);
  connect_graphviz(output, format.graphviz, arguments.isolation, console);
  const TextLayout layout = arguments.answer.layout(console);
  return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
    return ask(arguments, config, layout, NamedFile(input), output, isolated);
  });
}

// The output formats of a collection and the options that select one, shared by commands that write
// collections.

// A collection, and what is shown of it.
struct Drawing {
  const GraphCollection& collection;
  const PictureOptions& options;
  const Marking& marking;
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
  // Reads the file of --overlay.  Throws Error(kUsage).
  void read_overlay(Console& console);
  // Throws what format() throws, and Error(kUsage) for output that a terminal cannot show well: a binary
  // format, and with `asks_format` JSON if neither -o nor -f asks for it.
  void check_terminal(const Console& console, bool asks_format) const;
  // The listener is warned of values of an overlay that have no place.
  void write(const GraphCollection& collection, std::ostream& out, const Listener& listener) const;

 private:
  std::optional<std::int64_t> max_label_;
  PictureOptions picture_;
  std::string overlay_file_;
  Overlay overlay_;
};

}  // namespace fxtrace::internal::cli
