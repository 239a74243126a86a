#include "app/options/answer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "app/exit_codes.h"
#include "app/options/model.h"
#include "app/options/option_checks.h"
#include "app/options/passes.h"
#include "graph/analysis/collection_summary.h"
#include "support/text/shell_word.h"
#include "support/text/words.h"

namespace fxtrace::cli {

void AnswerArguments::add_to(CLI::App& app, const std::string& more, bool by_name) {
  const char* group = "Output";
  std::string help = "write to FILE instead of stdout";
  if (formats_.size() > 1)
    help += ", in the format of its suffix: " + joined(formats_, &AnswerFormat::suffix);
  add_last_value(app, group, "-o,--output", output_, "FILE",
                 help + more + "; FILE is left as it was if anything fails");
  std::vector<CLI::Option*> added;
  for (std::size_t i = 0; i < formats_.size(); ++i) {
    if (formats_[i].option == nullptr) continue;
    CLI::Option* option =
        app.add_flag_callback(formats_[i].option, [this, i] { chosen_ = i; }, formats_[i].help);
    option->group(group);
    for (CLI::Option* other : added) option->excludes(other);
    added.push_back(option);
  }
  if (!by_name) return;
  std::vector<std::string> names;
  for (const AnswerFormat& format : formats_)
    names.emplace_back(std::string_view(format.suffix) == ".txt" ? "text" : format.suffix + 1);
  CLI::Option* option = app.add_option_function<std::string>(
      "-f,--format",
      [this, names](const std::string& name) {
        chosen_ = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
        is_chosen_ = true;
      },
      "write in this format, whatever FILE is called");
  option->type_name(joined(names, {}, "|"))
      ->check(one_of(names))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(group);
  for (CLI::Option* other : added) option->excludes(other);
}

std::size_t AnswerArguments::format() const {
  if (chosen_ != 0 || is_chosen_) return chosen_;
  std::string suffix = std::filesystem::path(output_).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  if (suffix.empty()) return 0;
  std::vector<std::string> suffixes, options;
  for (std::size_t i = 0; i < formats_.size(); ++i) {
    if (suffix == formats_[i].suffix) return i;
    suffixes.emplace_back(formats_[i].suffix);
    if (formats_[i].option != nullptr) options.emplace_back(formats_[i].option);
  }
  throw usage_error(
      "-o " + shell_word(output_) + ": unknown suffix '" + suffix + "', expected " + listed(suffixes, " or "),
      {listed(options, " or ") + " selects a format whatever the file is called"});
}

TextLayout AnswerArguments::layout(const Console& console) const {
  return output_ == "-" ? TextLayout{console.out_width(), console.out_colour()} : TextLayout{};
}

TraceResult& trace_or_read(const Config& config, bool has_trace_options, const InputFile& input,
                           Isolated& isolated, Console& console) {
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  if (is_traceable(info.kind)) return trace_file(input, info, config, {}, isolated, console);
  if (info.kind != FileKind::kText) throw input.with_display(not_traceable(info));
  TraceResult& result = isolated.keep_alive(TraceResult{});
  result.collection = read_saved_collection(has_trace_options, input, console);
  result.collection.model.file = input.base_name();
  return result;
}

GraphCollection& read_model_or_collection(const Config& config, bool has_trace_options,
                                          const InputFile& input, Isolated& isolated, Console& console) {
  GraphCollection& collection = trace_or_read(config, has_trace_options, input, isolated, console).collection;
  run_passes(config.passes, collection, console);
  return collection;
}

int strict_code(const Config& config, const GraphCollection& collection, const InputFile& input,
                Console& console, int code) {
  const auto failure = config.strict ? strict_failure(config.passes, collection) : std::nullopt;
  if (!failure) return code;
  console.error(input.with_display(input_error(*failure)));
  return kModuleFailed;
}

}  // namespace fxtrace::cli
