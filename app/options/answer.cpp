#include "app/options/answer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "app/options/option_checks.h"
#include "support/text/shell_word.h"
#include "support/text/words.h"

namespace fxtrace::internal::cli {

namespace {
constexpr const char* kGroup = "Output";
}  // namespace

std::string AnswerFormat::name() const {
  if (other_name != nullptr) return other_name;
  return std::string_view(suffix) == ".txt" ? "text" : suffix + 1;
}

void AnswerArguments::add_to(CLI::App& app, const std::string& more, bool by_name) {
  std::string help = "write to FILE instead of stdout";
  if (formats_.size() > 1)
    help += ", in the format of its suffix: " + joined(formats_, &AnswerFormat::suffix);
  add_last_value(app, kGroup, "-o,--output", output_, "FILE",
                 help + more + "; FILE is left as it was if anything fails");
  std::vector<CLI::Option*> added;
  for (const AnswerFormat& format : formats_) {
    if (format.option == nullptr) continue;
    added.push_back(
        app.add_flag_callback(format.option, [this, &format] { chosen_ = &format; }, format.help));
  }
  if (by_name) added.push_back(add_names(app, "write in this format, whatever FILE is called"));
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
  const auto found = std::ranges::find(formats_, suffix, &AnswerFormat::suffix);
  if (found != formats_.end()) return *found;
  const auto options = each([](const auto& format) { return format.option == nullptr ? "" : format.option; });
  throw usage_error(
      "-o " + shell_word(output_) + ": unknown suffix '" + suffix + "', expected " +
          listed(each(&AnswerFormat::suffix), " or "),
      {(options.empty() ? listed(each(&AnswerFormat::name), " or ") + " after -f" : listed(options, " or ")) +
       " selects a format whatever the file is called"});
}

TextLayout AnswerArguments::layout(const Console& console) const {
  return output_ == "-" ? TextLayout{console.out_width(), console.out_colour()} : TextLayout{};
}

}  // namespace fxtrace::internal::cli
