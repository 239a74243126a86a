#include "app/console.h"

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/log.h"
#include "support/text/numbers.h"
#include "support/text/unicode.h"

namespace fxtrace::internal::cli {
namespace {

// Returns the width from COLUMNS, else that of the terminal.
std::optional<std::size_t> terminal_width() {
  if (const char* columns = std::getenv("COLUMNS")) {
    if (const auto width = number_in<std::size_t>(columns); width.value_or(0) > 0) return width;
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace

Console::Console(std::istream& in, std::ostream& out, std::ostream& err) : in_(in), out_(out), err_(err) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  const bool may_colour = (no_color == nullptr || *no_color == '\0') && !is_dumb;
  owns_process_ = &err == &std::cerr;
  colour_ = owns_process_ && ::isatty(STDERR_FILENO) != 0 && may_colour;
  out_is_terminal_ = owns_process_ && ::isatty(STDOUT_FILENO) != 0;
  if (!out_is_terminal_) return;
  out_colour_ = may_colour;
  out_width_ = terminal_width().value_or(100);
}

void Console::has_read(const std::string& name) {
  struct stat status{};
  if (::stat(name.c_str(), &status) == 0) files_read_.push_back({name, {status.st_dev, status.st_ino}});
}

std::string Console::label(const char* text, const char* colour) const {
  return colour_ ? std::string("\033[") + colour + "m" + text + "\033[0m" : text;
}

void Console::note(const std::string& message) { err_ << "fxtrace: " << one_line(message) << std::endl; }

void Console::remark(const char* kind, const std::string& message) {
  err_ << kind << ": " << one_line(message) << std::endl;
}

void Console::warning(const std::string& message) {
  err_ << "fxtrace: " << label("warning:", "1;33") << " " << one_line(message) << std::endl;
}

void Console::error(const Error& error) {
  err_ << "fxtrace: " << label("error:", "1;31") << " ";
  if (!error.place().empty()) err_ << one_line(error.place()) << ": ";
  err_ << one_line(error.what()) << "\n";
  for (const auto& hint : error.hints()) err_ << "hint: " << one_line(hint) << "\n";
  err_.flush();
}

Listener listener_of(Console& console) {
  const auto remark = [&console](const char* kind) {
    return [&console, kind](const std::string& text) { console.remark(kind, text); };
  };
  return {.progress = log::info,
          .warning = [&console](const std::string& text) { console.warning(text); },
          .note = remark("note"),
          .hint = remark("hint"),
          .status = [&console](const std::string& text) { console.note(text); }};
}

}  // namespace fxtrace::internal::cli
