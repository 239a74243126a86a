#include "app/output/formats.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/options/option_checks.h"
#include "app/output/graphviz.h"
#include "support/error.h"
#include "support/text/shell_word.h"
#include "support/text/words.h"
#include "writers/graphs/fx_writer.h"
#include "writers/graphs/json_writer.h"
#include "writers/graphs/text_writer.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/mermaid_writer.h"
#include "writers/pictures/model_explorer_writer.h"

namespace fxtrace::cli {
namespace {

template <void (*Write)(const GraphCollection&, std::ostream&)>
void write_whole(const GraphCollection& collection, std::ostream& out, const PictureOptions&) {
  Write(collection, out);
}

// The only list of formats; the first is the default.
constexpr Format kFormats[] = {
    {"json", ".json", false, write_whole<write_json>},
    {"svg", ".svg", true, write_dot, "svg"},
    {"png", ".png", true, write_dot, "png"},
    {"html", ".html", true, write_html, nullptr, true},
    {"dot", ".dot", true, write_dot},
    {"mermaid", ".mmd", true, write_mermaid},
    {"model-explorer", "", false, write_whole<write_model_explorer>},
    {"fx", ".py", false, write_whole<write_fx>},
    {"text", ".txt", false, write_whole<write_text>},
};

const Format* find_format(const std::function<bool(const Format&)>& fits) {
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats), fits);
  return found == std::end(kFormats) ? nullptr : found;
}

// Joins one member of all formats: "a, b and c".  Empty texts are left out.
std::string column(const char* Format::* member, const std::string& separator, const std::string& last,
                   bool only_pictures = false) {
  std::vector<std::string> texts;
  for (const Format& format : kFormats) {
    if (only_pictures && !format.is_picture) continue;
    if (*(format.*member) != '\0') texts.emplace_back(format.*member);
  }
  return listed(texts, last, separator);
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

}  // namespace

void FormatArguments::add_to(CLI::App& app) {
  const char* output = "Output";
  add_last_value(app, output, "-o,--output", output_, "FILE",
                 "write to FILE instead of stdout; FILE is left as it was if anything fails");
  add_last_value(app, output, "-f,--format", format_, column(&Format::name, "|", "|"),
                 "output format; default: by FILE's suffix (" + column(&Format::suffix, ", ", ", ") + "), " +
                     kFormats[0].name + " without one")
      ->check(one_of(names()));
  const char* pictures = "Pictures";
  add_last_value(app, pictures, "--depth", picture_.depth, "N",
                 "show nested modules down to depth N; default: as many as fit one picture")
      ->check(integer_from(1));
  add_last_value(app, pictures, "--focus", picture_.focus, "PATH",
                 "show only the module PATH and its neighbours");
  app.add_flag("!--no-fold", picture_.fold, "show equal siblings one by one")->group(pictures);
  app.add_flag("--show-plumbing", picture_.plumbing,
               "show what pictures leave out: sizes and arithmetic on them, asserts, dtype and device "
               "queries, constants")
      ->group(pictures);
  app.add_flag("--show-parameters", picture_.parameters,
               "show all parameters and buffers, those of leaf modules inside their boxes")
      ->group(pictures);
  app.add_flag("--order", picture_.order, "number modules and parameters in the order of their use")
      ->group(pictures);
  add_last_value(app, pictures, "--max-label", max_label_, "N", "truncate labels to N characters")
      ->check(integer_from(1));
}

const Format& FormatArguments::chosen() const {
  if (format_) return *find_format([&](const Format& format) { return *format_ == format.name; });
  std::string suffix = std::filesystem::path(output_).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (suffix.empty()) return kFormats[0];
  if (const Format* found = find_format([&](const Format& format) { return suffix == format.suffix; })) {
    return *found;
  }
  throw usage_error(
      "-o " + shell_word(output_) + ": unknown suffix '" + suffix + "', expected " +
          column(&Format::suffix, ", ", " or "),
      {column(&Format::name, ", ", " or ") + " after -f selects a format whatever the file is called"});
}

const Format& FormatArguments::format() const {
  const Format& format = chosen();
  const bool has_options = picture_.depth || picture_.focus || !picture_.fold || picture_.plumbing ||
                           picture_.parameters || picture_.order || max_label_;
  if (!format.is_picture && has_options) {
    throw usage_error(
        "--depth, --focus, --no-fold, --show-plumbing, --show-parameters, --order and --max-label only "
        "apply to pictures",
        {"-f " + column(&Format::name, ", ", " and ", true) + " are pictures"});
  }
  if (format.is_opened_by_reader && (picture_.depth || picture_.focus || picture_.order || max_label_)) {
    throw usage_error("--depth, --focus, --order and --max-label do not apply to " + std::string(format.name),
                      {"in the page, boxes are opened and closed with a click"});
  }
  return format;
}

void FormatArguments::check_terminal(const Console& console, bool asks_format) const {
  if (!console.out_is_terminal() || output_ != "-" || !asks_format || format_) return;
  throw usage_error("without -o and -f this writes JSON, which is long for a terminal",
                    {"-o picture.svg draws it, -f text shows it here, and -f json shows the JSON"});
}

void FormatArguments::connect(Output& output, const IsolationArguments& isolation, Console& console) const {
  connect_graphviz(output, format().graphviz, isolation, console);
}

void FormatArguments::write(const GraphCollection& collection, std::ostream& out) const {
  PictureOptions options = picture_;
  if (max_label_) options.max_label = static_cast<std::size_t>(*max_label_);
  if (format().graphviz != nullptr) options.most_boxes = Graphviz::kMostBoxes;
  format().write(collection, out, options);
}

}  // namespace fxtrace::cli
