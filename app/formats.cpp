#include "app/formats.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/checks.h"
#include "support/error.h"
#include "writers/html_writer.h"
#include "writers/json_writer.h"
#include "writers/text_writer.h"

namespace fxtrace::cli {
namespace {

// The one list of formats; the first is the default.
constexpr Format kFormats[] = {
    {"json", ".json", false,
     [](const auto& collection, auto& out, const auto&) { write_json(collection, out); }},
    {"dot", ".dot", true, write_dot},
    {"text", ".txt", false,
     [](const auto& collection, auto& out, const auto&) { write_text(collection, out); }},
    {"html", ".html", false,
     [](const auto& collection, auto& out, const auto&) { write_html(collection, out, {}); }},
};

const Format* find_format(const std::function<bool(const Format&)>& fits) {
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats), fits);
  return found == std::end(kFormats) ? nullptr : found;
}

// "a, b and c".
std::string listed(const char* Format::* member, const std::string& separator, const std::string& last) {
  std::string list;
  for (const Format& format : kFormats) {
    const bool is_last = &format == std::end(kFormats) - 1;
    list += (list.empty() ? "" : is_last ? last : separator) + format.*member;
  }
  return list;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

}  // namespace

void FormatArguments::add_to(CLI::App& app) {
  const char* output = "Output";
  app.add_option("-o,--output", output_,
                 "write to FILE instead of stdout; FILE is left as it was if anything fails")
      ->type_name("FILE")
      ->group(output)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("-f,--format", format_,
                 "output format; default: by FILE's suffix (" + listed(&Format::suffix, ", ", ", ") +
                     "), else " + kFormats[0].name)
      ->type_name(listed(&Format::name, "|", "|"))
      ->group(output)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check(one_of(names()));
  app.add_option("--max-label", max_label_, "DOT: truncate labels to N characters")
      ->type_name("N")
      ->group(output)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check(integer_from(1));
  app.add_flag("--show-parameters", show_parameters_,
               "DOT: show parameters and buffers, those of leaf modules inside their boxes")
      ->group(output);
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
  std::vector<std::string> hints = {listed(&Format::name, ", ", " or ") +
                                    " behind -f writes that format into a file of any name"};
  if (suffix == ".svg" || suffix == ".png" || suffix == ".pdf") {
    hints = {"for a picture, let Graphviz draw the DOT: fxtrace " + usage_ + " -f dot | dot -T" +
             suffix.substr(1) + " -o " + output_};
  }
  throw usage_error("-o " + output_ + ": no format has the suffix '" + suffix + "', only " +
                        listed(&Format::suffix, ", ", " and "),
                    hints);
}

const Format& FormatArguments::format() const {
  const Format& format = chosen();
  if (!format.is_picture && (show_parameters_ || max_label_)) {
    throw usage_error("--show-parameters and --max-label only apply to DOT", {"add -f dot"});
  }
  return format;
}

void FormatArguments::write(const GraphCollection& collection, std::ostream& out) const {
  DotOptions options;
  options.parameters = show_parameters_;
  if (max_label_) options.max_label = static_cast<std::size_t>(*max_label_);
  format().write(collection, out, options);
}

}  // namespace fxtrace::cli
