#include "exported/program/stack_trace.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace fxtrace::internal {
namespace {

constexpr std::string_view kFrame = "File \"";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Returns the line of text at `at`, and moves `at` to the beginning of the next line.
std::string_view line_at(std::string_view text, std::size_t& at) {
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const auto line = text.substr(at, end - at);
  at = std::min(end + 1, text.size());
  return line;
}

struct Frame {
  SourceLocation location;
  std::int64_t column = -1;  // position in the text of the line; -1 if unknown
  std::size_t next = 0;      // offset of the text behind the frame
};

// Returns the frame whose first line starts at `at`:   File "net.py", line 12, in forward
//                                                      return x + y
std::optional<Frame> frame_at(std::string_view text, std::size_t at) {
  auto line = trimmed(line_at(text, at));
  if (!line.starts_with(kFrame)) return std::nullopt;
  line.remove_prefix(kFrame.size());
  const std::size_t quote = line.find('"');
  if (quote == std::string_view::npos) return std::nullopt;
  Frame frame;
  frame.location.file = line.substr(0, quote);
  line.remove_prefix(quote + 1);
  constexpr std::string_view kLine = ", line ";
  if (!line.starts_with(kLine)) return std::nullopt;
  line.remove_prefix(kLine.size());
  const auto number = std::from_chars(line.data(), line.data() + line.size(), frame.location.line);
  if (number.ec != std::errc()) return std::nullopt;
  frame.location.line = std::max<std::int64_t>(frame.location.line, 0);
  line.remove_prefix(static_cast<std::size_t>(number.ptr - line.data()));
  constexpr std::string_view kIn = ", in ";
  if (line.starts_with(kIn)) frame.location.function = line.substr(kIn.size());
  std::size_t behind = at;
  const auto code = trimmed(line_at(text, behind));
  if (!code.starts_with(kFrame)) {
    frame.location.text = code;
    const std::size_t indent = text.find_first_not_of(" \t", at);
    const std::size_t marks = behind;
    const auto line_of_marks = line_at(text, behind);
    const std::size_t mark = line_of_marks.find_first_not_of(' ');
    const bool are_marks = mark != std::string_view::npos &&
                           trimmed(line_of_marks).find_first_not_of("^~") == std::string_view::npos;
    if (are_marks && mark >= indent - at) frame.column = static_cast<std::int64_t>(mark - (indent - at));
    at = are_marks ? behind : marks;
  }
  frame.next = at;
  return frame;
}

}  // namespace

std::vector<StackFrame> frames(std::string_view stack_trace) {
  std::vector<StackFrame> found;
  for (std::size_t at = 0; at < stack_trace.size();) {
    auto frame = frame_at(stack_trace, at);
    if (!frame) {
      line_at(stack_trace, at);  // goes on to the next line
      continue;
    }
    SourceLocation& place = frame->location;
    found.push_back(
        {std::move(place.file), place.line, std::move(place.function), frame->column, std::move(place.text)});
    at = frame->next;
  }
  std::ranges::reverse(found);
  return found;
}

std::optional<SourceLocation> innermost_frame(std::string_view stack_trace) {
  // Frames of generated code come last in the trace; the frame of the user's code before them is preferred.
  std::optional<SourceLocation> generated;
  for (std::size_t end = stack_trace.size();;) {
    const std::size_t newline = end == 0 ? std::string_view::npos : stack_trace.rfind('\n', end - 1);
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    if (auto frame = frame_at(stack_trace, start)) {
      if (!frame->location.file.starts_with("<eval_with_key>")) return std::move(frame->location);
      if (!generated) generated = std::move(frame->location);
    }
    if (newline == std::string_view::npos) return generated;
    end = newline;
  }
}

std::optional<SourceLocation> calling_frame(std::string_view stack_trace, std::uint32_t depth,
                                            std::uint32_t modules) {
  std::optional<SourceLocation> previous;
  std::optional<SourceLocation> found;
  std::uint32_t forwards = 0;
  for (std::size_t at = 0; at < stack_trace.size();) {
    auto frame = frame_at(stack_trace, at);
    if (!frame) {
      line_at(stack_trace, at);  // goes on to the next line
      continue;
    }
    if (frame->location.function == "forward") {
      if (forwards == depth) found = previous;
      ++forwards;
    }
    previous = std::move(frame->location);
    at = frame->next;
  }
  if (forwards != modules) return std::nullopt;
  return found;
}

}  // namespace fxtrace::internal
