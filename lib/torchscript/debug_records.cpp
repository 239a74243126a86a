#include "torchscript/debug_records.h"

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/source_range_serialization.h>

#include <algorithm>
#include <charconv>

#include "archive/pickle_check.h"

namespace fxtrace {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  const auto last = text.find_last_not_of(" \t\r");
  return std::string(text.substr(first, last - first + 1));
}

// Text of a source in pieces, as the string table has it.
struct SourceText {
  std::string text;
  std::string file;
  std::int64_t first_line = 0;
};

SourceText read_source(const at::IValue& value, const std::vector<std::string>& strings) {
  const auto& fields = value.toTupleRef().elements();
  SourceText source;
  if (fields.at(0).isString()) {
    source.text = fields[0].toStringRef();
    if (fields.at(1).isString()) source.file = fields[1].toStringRef();
  } else {
    for (const std::int64_t piece : fields.at(0).toIntVector()) {
      source.text += strings.at(static_cast<std::size_t>(piece));
    }
    const std::int64_t file = fields.at(1).toInt();
    if (file >= 0) source.file = strings.at(static_cast<std::size_t>(file));
  }
  source.first_line = fields.at(2).toInt();
  return source;
}

// torch.jit.trace keeps Python's stack as text instead: "net.py(12): forward" and so on, innermost first.
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

}  // namespace

DebugRecords::Table DebugRecords::parse(const std::string& pickle) {
  check_pickle(pickle);
  const at::IValue root = torch::jit::unpickle(pickle.data(), pickle.size());
  const auto* fields = &root.toTupleRef().elements();
  std::vector<std::string> strings;
  at::IValue lines_holder;
  if (!fields->empty() && (*fields)[0].isString() &&
      (*fields)[0].toStringRef() == torch::jit::kFormatWithStringTable) {
    for (const auto& text : fields->at(1).toTupleRef().elements()) strings.push_back(text.toStringRef());
    lines_holder = fields->at(2);
    fields = &lines_holder.toTupleRef().elements();
  }
  Table table;
  std::unordered_map<const void*, SourceText> sources;
  for (const auto& line : *fields) {
    const auto& parts = line.toTupleRef().elements();
    const auto& range = parts.at(torch::jit::kSourceRangeIndex).toTupleRef().elements();
    auto& source = sources[range.at(0).internalToPointer()];
    if (source.text.empty()) source = read_source(range.at(0), strings);
    Entry entry;
    entry.offset = parts.at(torch::jit::kByteOffsetIndex).toInt();
    entry.file = source.file;
    const auto start = std::min(static_cast<std::size_t>(std::max<std::int64_t>(0, range.at(1).toInt())),
                                source.text.size());
    if (source.file.empty()) {
      const std::string_view first = std::string_view(source.text).substr(0, source.text.find('\n'));
      parse_stack_line(first, entry.file, entry.line, entry.function);
    } else {
      entry.line =
          source.first_line +
          std::count(source.text.begin(), source.text.begin() + static_cast<std::ptrdiff_t>(start), '\n');
      const auto begin = start == 0 ? std::string::npos : source.text.rfind('\n', start - 1);
      const auto from = begin == std::string::npos ? 0 : begin + 1;
      const auto end = source.text.find('\n', start);
      entry.text =
          trimmed(std::string_view(source.text).substr(from, end == std::string::npos ? end : end - from));
    }
    table.push_back(std::move(entry));
  }
  std::stable_sort(table.begin(), table.end(),
                   [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  return table;
}

std::optional<SourceLocation> DebugRecords::find(const torch::jit::SourceRange& range) {
  if (!range.source() || !range.source()->filename()) return std::nullopt;
  const std::string& code_file = *range.source()->filename();
  auto known = tables_.find(code_file);
  if (known == tables_.end()) {
    Table table;
    try {
      if (const auto record = read_(code_file + ".debug_pkl")) table = parse(*record);
    } catch (const std::exception&) {
      table.clear();  // positions are a convenience: a damaged record only costs them
    }
    known = tables_.emplace(code_file, std::move(table)).first;
  }
  const Table& table = known->second;
  const auto offset = static_cast<std::int64_t>(edits_.original(code_file, range.start()));
  const auto after = std::upper_bound(table.begin(), table.end(), offset,
                                      [](std::int64_t o, const Entry& entry) { return o < entry.offset; });
  if (after == table.begin()) return std::nullopt;
  const Entry& entry = *std::prev(after);
  if (entry.file.empty()) return std::nullopt;
  return SourceLocation{entry.file, entry.line, entry.function, entry.text};
}

}  // namespace fxtrace
