#include "catalog/row_stream.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/error.h"
#include "support/text/utf8.h"

namespace fxtrace::internal::catalog {
namespace {

enum class Tag : std::uint8_t { kNull, kInteger, kText };

template <class T>
void put(std::ostream& out, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.write(bytes.data(), bytes.size());
}

}  // namespace

void RowWriter::row(TableId table, const Cells& cells) {
  if (cells.size() != cell_count(table))
    throw Error(ErrorKind::kInternal, "a row has the wrong number of cells");
  put(out_, static_cast<std::uint8_t>(table));
  for (const Cell& cell : cells) {
    put(out_, static_cast<std::uint8_t>(cell.index()));
    if (const auto* number = std::get_if<std::int64_t>(&cell)) put(out_, *number);
    if (const auto* text = std::get_if<std::string>(&cell)) {
      const std::string valid = valid_utf8(*text);
      put(out_, static_cast<std::uint64_t>(valid.size()));
      out_.write(valid.data(), static_cast<std::streamsize>(valid.size()));
    }
  }
}

template <class T>
T RowReader::number() {
  if (left_.size() < sizeof(T)) throw input_error("a row is cut off");
  T value{};
  std::copy_n(left_.begin(), sizeof(T), reinterpret_cast<char*>(&value));  // NOLINT: any bytes are a number
  left_.remove_prefix(sizeof(T));
  return value;
}

std::optional<RowReader::Row> RowReader::next() {
  if (left_.empty()) return std::nullopt;
  const auto table = number<std::uint8_t>();
  if (table >= kTables) throw input_error("a row belongs to an unknown table");
  Row row{static_cast<TableId>(table), {}};
  row.cells.reserve(cell_count(row.table));
  for (std::size_t i = 0; i < cell_count(row.table); ++i) {
    switch (static_cast<Tag>(number<std::uint8_t>())) {
      case Tag::kNull:
        row.cells.emplace_back();
        break;
      case Tag::kInteger:
        row.cells.emplace_back(number<std::int64_t>());
        break;
      case Tag::kText: {
        const auto size = number<std::uint64_t>();
        if (size > left_.size()) throw input_error("a row is cut off");
        row.cells.emplace_back(std::string(left_.substr(0, size)));
        left_.remove_prefix(size);
        break;
      }
      default:
        throw input_error("a cell of a row has an unknown type");
    }
  }
  return row;
}

}  // namespace fxtrace::internal::catalog
