#include "app/output/formats.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/options/option_checks.h"
#include "app/output/graphviz.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/words.h"
#include "writers/graphs/collection_writers.h"
#include "writers/graphs/fx_writer.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/mermaid_writer.h"
#include "writers/pictures/model_explorer_writer.h"

namespace fxtrace::internal::cli {
namespace {
constexpr const char* kGroup = "Output";
}  // namespace

std::string AnswerFormat::name() const {
  if (other_name != nullptr) return other_name;
  return std::string_view(suffix) == ".txt" ? "text" : suffix + 1;
}

void AnswerArguments::add_to(CLI::App& app, const std::string& more) {
  std::string help = "write to FILE instead of stdout";
  if (formats_.size() > 1)
    help += ", in the format of its suffix: " + joined(formats_, &AnswerFormat::suffix);
  add_last_value(app, kGroup, "-o,--output", output_, "FILE",
                 help + more + "; FILE is left as it was if anything fails");
  std::vector<CLI::Option*> added{add_names(app, "write in this format, whatever FILE is called")};
  for (const AnswerFormat& format : formats_) {
    if (format.option == nullptr) continue;
    added.push_back(
        app.add_flag_callback(format.option, [this, &format] { chosen_ = &format; }, format.help));
  }
  for (CLI::Option* option : added) {
    option->group(kGroup);
    for (CLI::Option* other : added) {
      if (other == option) break;
      option->excludes(other);
    }
  }
}

CLI::Option* AnswerArguments::add_names(CLI::App& app, const std::string& help) {
  const std::vector<std::string> names = each(&AnswerFormat::name);
  return app
      .add_option_function<std::string>(
          "-f,--format",
          [this](const std::string& name) {
            chosen_ = &*std::ranges::find(formats_, name, &AnswerFormat::name);
          },
          help)
      ->transform(CLI::Validator(
          [this](std::string& word) {  // the suffix or the option of a format names it as well
            const auto found = std::ranges::find_if(formats_, [&](const AnswerFormat& format) {
              return "." + word == format.suffix ||
                     (format.option != nullptr && "--" + word == format.option);
            });
            if (found != formats_.end()) word = found->name();
            return std::string();
          },
          ""))
      ->type_name(joined(names, {}, "|"))
      ->check(one_of(names))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(kGroup);
}

const AnswerFormat& AnswerArguments::format() const {
  if (chosen_ != nullptr) return *chosen_;
  std::string suffix = std::filesystem::path(output_).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  if (suffix.empty()) return formats_.front();
  for (const AnswerFormat& format : formats_) {  // a suffix of two parts says more than its last part
    if (std::string_view(format.suffix).size() > suffix.size() && output_.ends_with(format.suffix))
      return format;
  }
  const auto found = std::ranges::find(formats_, suffix, &AnswerFormat::suffix);
  if (found != formats_.end()) return *found;
  throw usage_error(
      "-o " + shell_word(output_) + ": unknown suffix '" + suffix + "', expected " +
          listed(each(&AnswerFormat::suffix), " or "),
      {listed(each(&AnswerFormat::name), " or ") + " after -f selects a format whatever the file is called"});
}

TextLayout AnswerArguments::layout(const Console& console) const {
  return output_ == "-" ? TextLayout{console.out_width(), console.out_colour()} : TextLayout{};
}

namespace {

template <void (*Write)(const GraphCollection&, std::ostream&)>
void write_whole(const Drawing& drawing, std::ostream& out, const TextLayout&) {
  Write(drawing.collection, out);
}
template <auto Write>
void write_picture(const Drawing& drawing, std::ostream& out, const TextLayout&) {
  if constexpr (requires { Write(drawing.collection, out, drawing.options, drawing.marking); }) {
    Write(drawing.collection, out, drawing.options, drawing.marking);
  } else {
    Write(drawing.collection, out, drawing.options);
  }
}

// The only list of formats; the first is the default.
constexpr AnswerRow<Drawing> kFormats[] = {
    {{.suffix = ".json"}, write_whole<write_json>},
    {{.suffix = ".svg", .graphviz = "svg", .is_picture = true, .has_marks = true}, write_picture<write_dot>},
    {{.suffix = ".png", .graphviz = "png", .is_picture = true, .has_marks = true}, write_picture<write_dot>},
    {{.suffix = ".html", .is_picture = true, .is_opened_by_reader = true, .has_marks = true},
     write_picture<write_html>},
    {{.suffix = ".dot", .is_picture = true, .has_marks = true}, write_picture<write_dot>},
    {{.suffix = ".mmd", .other_name = "mermaid", .is_picture = true}, write_picture<write_mermaid>},
    {{.suffix = "", .other_name = "model-explorer"}, write_whole<write_model_explorer>},
    {{.suffix = ".py", .other_name = "fx"}, write_whole<write_fx>},
    {{.suffix = ".txt"}, write_whole<write_text>},
    {{.suffix = "", .other_name = "graph"}, write_whole<write_torch_graph>},
};

}  // namespace

FormatArguments::FormatArguments() : AnswerFormats(kFormats) {}

void FormatArguments::add_to(CLI::App& app) {
  add_last_value(app, "Output", "-o,--output", output_, "FILE",
                 "write to FILE instead of stdout; FILE is left as it was if anything fails");
  add_names(app, "output format; default: by FILE's suffix (" + joined(each(&AnswerFormat::suffix)) + "), " +
                     formats_.front().name() + " without one");
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
  add_last_value(
      app, pictures, "--overlay", overlay_file_, "FILE",
      "colour nodes and modules by the values in FILE, and show these: node data of Model Explorer (JSON)");
}

void FormatArguments::read_overlay(Console& console) {
  if (!overlay_file_.empty())
    overlay_ = internal::read_overlay(read_small_file(overlay_file_, console), overlay_file_);
}

const AnswerFormat& FormatArguments::format() const {
  const AnswerFormat& format = AnswerFormats::format();
  const bool has_options = picture_.depth || picture_.focus || !picture_.fold || picture_.plumbing ||
                           picture_.parameters || picture_.order || max_label_;
  if (!format.is_picture && has_options) {
    throw usage_error(
        "--depth, --focus, --no-fold, --show-plumbing, --show-parameters, --order and --max-label only "
        "apply to pictures",
        {"-f " + listed(each([](const auto& each) { return each.is_picture ? each.name() : ""; }), " and ") +
         " are pictures"});
  }
  if (!format.has_marks && !overlay_file_.empty()) {
    throw usage_error(
        "--overlay does not apply to " + format.name(),
        {"-f " + listed(each([](const auto& each) { return each.has_marks ? each.name() : ""; }), " and ") +
         " show values"});
  }
  if (format.is_opened_by_reader && (picture_.depth || picture_.focus || picture_.order || max_label_)) {
    throw usage_error("--depth, --focus, --order and --max-label do not apply to " + format.name(),
                      {"in the page, boxes are opened and closed with a click"});
  }
  return format;
}

void FormatArguments::check_terminal(const Console& console, bool asks_format) const {
  if (!console.out_is_terminal() || output_ != "-" || !asks_format || chosen_ != nullptr) return;
  throw usage_error("without -o and -f this writes JSON, which is long for a terminal",
                    {"-o picture.svg draws it, -f text shows it here, and -f json shows the JSON"});
}

void FormatArguments::write(const GraphCollection& collection, std::ostream& out,
                            const Listener& listener) const {
  PictureOptions options = picture_;
  if (max_label_) options.max_label = static_cast<std::size_t>(*max_label_);
  if (format().graphviz != nullptr) options.most_boxes = Graphviz::kMostBoxes;
  if (overlay_.values.empty()) return row().write({collection, options, {}}, out, {});
  std::vector<std::string> unknown;
  const Marking marking = mark_values(overlay_, collection, unknown);
  if (!unknown.empty()) {
    constexpr std::size_t kMostNames = 3;
    const std::size_t shown = std::min(unknown.size(), kMostNames);
    listener.warning(
        overlay_file_ + ": " + std::to_string(unknown.size()) + " of " +
        counted(static_cast<std::int64_t>(overlay_.values.size()), "value") +
        " are of no node and no module: " + joined(std::span(unknown).first(shown), shell_quoted) +
        (shown < unknown.size() ? ", …" : ""));
  }
  row().write({collection, options, marking}, out, {});
}

}  // namespace fxtrace::internal::cli
