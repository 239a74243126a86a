#include "interpreter/program/debug_records.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "interpreter/program/names.h"
#include "support/error.h"
#include "support/text/utf8.h"
#include "torchscript/objects/pickle_values.h"

namespace fxtrace::internal::interpreter {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  const auto last = text.find_last_not_of(" \t\r");
  return std::string(text.substr(first, last - first + 1));
}

// The largest text of one record that is kept: pieces are shared, so a small file can have a large text.
constexpr std::size_t kMaxText = std::size_t{64} << 20;
// Texts up to these sizes are not kept, but built each time that they are asked for.
constexpr std::size_t kMaxShortText = 4'096;
constexpr std::size_t kMaxShortPieces = 64;
// The longest source line of a node, and the largest text of a stack.
constexpr std::size_t kMaxLine = 1000;
constexpr std::size_t kMaxStack = 20'000;

// Parses one line of a Python stack, which torch.jit.trace keeps as text: "net.py(12): forward", innermost
// first.
bool parse_stack_line(std::string_view line, std::string& file, std::int64_t& number, std::string& function) {
  const auto close = line.find("): ");
  if (close == std::string_view::npos) return false;
  const auto open = line.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return false;
  const char* end = line.data() + close;
  const auto [stop, error] = std::from_chars(line.data() + open + 1, end, number);
  if (error != std::errc{} || stop != end) return false;
  file = line.substr(0, open);
  function = trimmed(line.substr(close + 3));
  return true;
}

// Reads a pickle that has numbers, texts and containers only: a callable returns its first argument, which
// makes lists of numbers, and other objects are refused.
class PlainHost final : public torchscript::PickleValues::Host {
 public:
  Value global(const std::string& /*module*/, const std::string& /*name*/) override {
    return make_counted<Maker>();
  }
  Value call(torchscript::Handle& /*callable*/, const Value& arguments) override {
    return arguments.items().at(0);
  }
  Value build(torchscript::Handle& /*type*/, const Value& /*state*/) override {
    throw input_error("an object");
  }
  Value persistent(const torchscript::TupleValue& /*id*/) override { throw input_error("a storage"); }

 private:
  struct Maker : torchscript::Handle {
    TypePtr type() const override { return torchscript::any_type(); }
  };
};

}  // namespace

DebugRecords::Source DebugRecords::read_source(const Value& value, std::vector<std::string>& strings) {
  const auto& fields = value.items();
  Source source;
  if (fields.at(0).is_string()) {
    source.pieces.push_back(static_cast<std::uint32_t>(strings.size()));
    strings.push_back(fields[0].to_string());
    if (fields.at(1).is_string()) source.file = fields[1].to_string();
  } else {  // the text is given in pieces of the table of strings
    const auto& pieces = fields.at(0).items();
    source.pieces.reserve(pieces.size());
    for (const Value& piece : pieces) {
      const auto index = static_cast<std::size_t>(piece.to_int());
      if (index >= strings.size()) throw std::out_of_range("a piece of a debug record");
      source.pieces.push_back(static_cast<std::uint32_t>(index));
    }
    const std::int64_t file = fields.at(1).to_int();
    if (file >= 0) source.file = strings.at(static_cast<std::size_t>(file));
  }
  source.first_line = fields.at(2).to_int();
  source.file = cut(source.file, kMaxLine);
  return source;
}

DebugRecords::Table DebugRecords::parse(const Record& pickle) {
  PlainHost host;
  const Value root = torchscript::PickleValues(pickle.bytes, pickle.stored, host).run();
  const auto* fields = &root.items();
  Table table;
  Value lines_holder;
  if (!fields->empty() && (*fields)[0].is_string() &&
      (*fields)[0].to_string() == "FORMAT_WITH_STRING_TABLE") {
    for (const auto& text : fields->at(1).items()) table.strings.push_back(text.to_string());
    lines_holder = fields->at(2);
    fields = &lines_holder.items();
  }
  std::unordered_map<const void*, std::size_t> known;
  table.entries.reserve(fields->size());
  for (const auto& line : *fields) {
    const auto& parts = line.items();
    const auto& range = parts.at(1).items();
    const auto [source, is_new] = known.try_emplace(range.at(0).identity(), table.sources.size());
    if (is_new) table.sources.push_back(read_source(range.at(0), table.strings));
    table.entries.push_back({parts.at(0).to_int(), source->second,
                             static_cast<std::size_t>(std::max<std::int64_t>(0, range.at(1).to_int()))});
  }
  if (!std::ranges::is_sorted(table.entries, {}, &Entry::offset))
    std::ranges::stable_sort(table.entries, {}, &Entry::offset);
  return table;
}

std::string DebugRecords::Table::beginning(const Source& source, std::size_t most, bool line) const {
  std::string text;
  if (!line) {
    std::size_t size = 0;
    for (const std::uint32_t piece : source.pieces) size = std::min(size + strings[piece].size(), most);
    text.reserve(size);
  }
  for (const std::uint32_t piece : source.pieces) {
    text.append(strings[piece], 0, most - text.size());
    const std::size_t end = line ? text.find('\n') : std::string::npos;
    if (end == std::string::npos && text.size() < most) continue;
    text.resize(std::min(end, most));
    break;
  }
  return text;
}

const DebugRecords::Text& DebugRecords::Table::text_of(Source& source, Text& built) {
  if (source.text != nullptr) return *source.text;
  const bool is_short = [&] {
    if (source.pieces.size() > kMaxShortPieces) return false;
    built.whole = beginning(source, kMaxShortText + 1, false);
    return built.whole.size() <= kMaxShortText;
  }();
  if (!is_short) {
    built.whole = beginning(source, kMaxText - kept, false);
    kept += built.whole.size();
  }
  built.line_starts.push_back(0);
  for (std::size_t at = built.whole.find('\n'); at != std::string::npos; at = built.whole.find('\n', at + 1))
    built.line_starts.push_back(at + 1);
  if (is_short) return built;
  source.text = std::make_unique<Text>(std::move(built));
  return *source.text;
}

SourceLocation DebugRecords::Table::location(Source& source, std::size_t start) {
  SourceLocation result{source.file, 0, "", ""};
  if (source.file.empty()) {
    parse_stack_line(beginning(source, kMaxStack, true), result.file, result.line, result.function);
    result.file = cut(result.file, kMaxLine);
    result.function = cut(result.function, kMaxLine);
    return result;
  }
  Text built;
  const auto& [text, line_starts] = text_of(source, built);
  const auto after = std::ranges::upper_bound(line_starts, std::min(start, text.size()));
  const std::size_t from = *std::prev(after);
  const std::size_t end = text.find('\n', from);
  const std::string_view line =
      std::string_view(text).substr(from, end == std::string::npos ? end : end - from);
  std::string file;
  std::int64_t number = 0;
  if (parse_stack_line(line, file, number, result.function) && file == source.file) {
    result.line = number;
    result.function = cut(result.function, kMaxLine);
    return result;
  }
  result.function.clear();
  result.line = source.first_line + (after - line_starts.begin()) - 1;
  result.text = cut(trimmed(line), kMaxLine);
  return result;
}

DebugRecords::SourcePosition DebugRecords::find_source(const torchscript::SourcePlace& place) {
  const std::string& code_file = place.file;
  if (code_file.empty()) return {};
  auto known = tables_.find(code_file);
  if (known == tables_.end()) {
    Table table;
    try {
      if (const auto record = read_(code_file + ".debug_pkl")) table = parse(*record);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {
      table = {};  // a damaged record only loses its positions
    }
    known = tables_.emplace(code_file, std::move(table)).first;
  }
  Table& table = known->second;
  const auto offset = static_cast<std::int64_t>(place.offset);
  const auto after = std::ranges::upper_bound(table.entries, offset, {}, &Entry::offset);
  if (after == table.entries.begin()) return {};
  const Entry& entry = *std::prev(after);
  return {&table, &table.sources[entry.source], entry.start};
}

std::optional<SourceLocation> DebugRecords::find_location(const torchscript::SourcePlace& place) {
  const auto [table, source, start] = find_source(place);
  if (source == nullptr) return std::nullopt;
  SourceLocation found = table->location(*source, start);
  if (found.file.empty()) return std::nullopt;
  return found;
}

std::vector<StackFrame> DebugRecords::stack(const torchscript::SourcePlace& place) {
  std::vector<StackFrame> frames;
  const auto [table, source, start] = find_source(place);
  if (source == nullptr) return frames;
  const bool is_stack = source->file.empty();
  Text built;
  if (is_stack) built.whole = table->beginning(*source, kMaxStack, false);
  std::string_view text = is_stack ? built.whole : table->text_of(*source, built).whole;
  text = text.substr(std::min(is_stack ? 0 : start, text.size())).substr(0, kMaxStack);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    StackFrame frame;
    if (!parse_stack_line(text.substr(0, end), frame.file, frame.line, frame.function)) break;
    frames.push_back(std::move(frame));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return frames;
}

}  // namespace fxtrace::internal::interpreter
