#include "catalog/tables.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/error.h"
#include "support/text/unicode.h"

namespace fxtrace::internal::catalog {
namespace {

constexpr Column kModel = {"model", "INTEGER NOT NULL", "models.id"};

std::vector<Table> make_tables() {
  return {{"models",
           "one row for each file, or program of a file",
           {{"id", "INTEGER PRIMARY KEY", ""},
            {"path", "TEXT NOT NULL", "as it was found: the folder that was given, and what is below it"},
            {"file_bytes", "INTEGER NOT NULL", ""},
            {"modified_ns", "INTEGER NOT NULL", "nanoseconds since 1970"},
            {"content", "TEXT NOT NULL", "equal for files of equal content; see docs/how-to/catalog.md"},
            {"program", "TEXT", "its name, if the archive has several exported programs"},
            {"error", "TEXT", "why it could not be read; then the columns below are NULL"},
            {"advice", "TEXT", "what would help"},
            {"kind", "TEXT", "'torchscript', 'exported_program'"},
            {"type", "TEXT", "class of the root"},
            {"method", "TEXT", "that was traced"},
            {"written_by", "TEXT", "'PyTorch 2.13.0'"},
            {"graphs", "INTEGER", ""},
            {"nodes", "INTEGER", "of all graphs"},
            {"modules", "INTEGER", "shared ones once"},
            {"failed", "INTEGER", "modules that could not be traced"},
            {"parameters", "INTEGER", "elements, tied ones once"},
            {"parameter_bytes", "INTEGER", ""},
            {"buffers", "INTEGER", "likewise"},
            {"buffer_bytes", "INTEGER", ""},
            {"macs", "INTEGER", "multiply-accumulates; NULL where unknown or an expression"},
            {"macs_of_dims", "TEXT", "the expression of named dimensions: '2*batch'"},
            {"flops", "INTEGER", "as torch.utils.flop_counter counts them; NULL likewise"},
            {"flops_of_dims", "TEXT", ""},
            {"macs_left_out", "INTEGER", "calls whose MACs are unknown"},
            {"peak_bytes", "INTEGER", "of activations"},
            {"peak_bytes_of_dims", "TEXT", ""}},
           "",
           {"path", "content", "macs"}},
          {"modules",
           "one row for each module",
           {kModel,
            {"id", "INTEGER NOT NULL", "0 is the root"},
            {"path", "TEXT NOT NULL", "'encoder.layers.0'; '' is the root"},
            {"type", "TEXT", "'torch.nn.modules.linear.Linear'"},
            {"status", "TEXT NOT NULL", "'traced', 'leaf', 'failed', 'unvisited'"},
            {"alias_of", "TEXT", "of a later name of a shared module: its first path"},
            {"rule", "TEXT", "that made it a leaf"},
            {"calls", "INTEGER NOT NULL", ""},
            {"parameters", "INTEGER NOT NULL", "elements, of submodules too"},
            {"parameter_bytes", "INTEGER NOT NULL", ""},
            {"macs", "INTEGER", "of all calls, submodules included"},
            {"macs_of_dims", "TEXT", ""}},
           "model, id",
           {"type", "path"}},
          {"parameters",
           "one row for each parameter, buffer and custom object",
           {kModel,
            {"name", "TEXT NOT NULL", "'encoder.layers.0.weight'"},
            {"kind", "TEXT NOT NULL", "'parameter', 'buffer', 'custom_object'"},
            {"dtype", "TEXT", "'float32'"},
            {"shape", "TEXT", "'[64,3,7,7]'"},
            {"elements", "INTEGER", ""},
            {"bytes", "INTEGER", ""},
            {"device", "TEXT", "on which it was saved, unless that is the CPU"},
            {"alias_of", "TEXT", "of tied tensors: the first name"},
            {"used", "INTEGER NOT NULL", "0: no graph uses it"},
            {"content", "TEXT", "equal for equal bytes, most likely; NULL where the archive does not tell"}},
           "model, name",
           {"dtype", "content"}},
          {"graphs",
           "one row for each graph",
           {kModel,
            {"id", "INTEGER NOT NULL", ""},
            {"parent", "INTEGER", "of a subgraph of control flow: the graph that has it"},
            {"name", "TEXT", "of a subgraph"},
            {"module", "TEXT NOT NULL", "path of the module whose forward it is"},
            {"nodes", "INTEGER NOT NULL", ""},
            {"macs", "INTEGER", ""},
            {"macs_of_dims", "TEXT", ""}},
           "model, id",
           {}},
          {"nodes",
           "one row for each node",
           {kModel,
            {"graph", "INTEGER NOT NULL", "graphs.id"},
            {"id", "INTEGER NOT NULL", "in order of execution"},
            {"name", "TEXT NOT NULL", ""},
            {"op", "TEXT NOT NULL", "'call_function'"},
            {"target", "TEXT NOT NULL", "'aten.add.Tensor'"},
            {"module", "TEXT NOT NULL", "path of the module whose forward made it"},
            {"type", "TEXT", "'Tensor'"},
            {"dtype", "TEXT", ""},
            {"shape", "TEXT", "'[batch,3,224,224]'"},
            {"macs", "INTEGER", ""},
            {"macs_of_dims", "TEXT", ""},
            {"file", "TEXT", "of the model's Python"},
            {"line", "INTEGER", ""}},
           "model, graph, id",
           {"target"}},
          {"edges",
           "one row for each use of a node's value, in the order of the arguments",
           {kModel,
            {"graph", "INTEGER NOT NULL", "graphs.id"},
            {"node", "INTEGER NOT NULL", "nodes.id of the user"},
            {"position", "INTEGER NOT NULL", "among the values that it uses"},
            {"source", "INTEGER NOT NULL", "nodes.id of what is used"}},
           "model, graph, node, position",
           {}},
          {"operators",
           "one row for each function, method or module type that a model calls",
           {kModel,
            {"op", "TEXT NOT NULL", "'call_function', 'call_method', 'call_module'"},
            {"target", "TEXT NOT NULL", "'aten.add.Tensor'; of a module its type"},
            {"uses", "INTEGER NOT NULL", "nodes of all graphs"},
            {"macs", "INTEGER", "of those whose MACs are numbers"}},
           "model, op, target",
           {"target"}},
          {"failures",
           "one row for each module that could not be traced",
           {kModel,
            {"module", "TEXT NOT NULL", "its path"},
            {"kind", "TEXT NOT NULL", "'data_dependent_control_flow'"},
            {"message", "TEXT NOT NULL", ""},
            {"operation", "TEXT", "'prim::If'"},
            {"file", "TEXT", ""},
            {"line", "INTEGER", ""},
            {"text", "TEXT", "the source line"}},
           "model, module",
           {}},
          {"backends",
           "one row for each backend (--backend): what it takes of the model, see docs/how-to/partition.md",
           {kModel,
            {"backend", "TEXT NOT NULL", "its set of operators: 'xnnpack'"},
            {"regions", "INTEGER NOT NULL", "parts that it takes"},
            {"calls", "INTEGER NOT NULL", "of operators"},
            {"taken_calls", "INTEGER NOT NULL", ""},
            {"operators", "INTEGER NOT NULL", ""},
            {"taken_operators", "INTEGER NOT NULL", "of which all calls are taken"},
            {"macs", "INTEGER", ""},
            {"taken_macs", "INTEGER", ""},
            {"cut_edges", "INTEGER NOT NULL", "values that go from part to part"},
            {"cut_bytes", "INTEGER", ""},
            {"first_left", "TEXT", "the operator with the most to gain: 'aten.embedding.default'"},
            {"first_reason", "TEXT", "why it is left"}},
           "model, backend",
           {}}};
}

}  // namespace

const std::vector<Table>& tables() {
  static const std::vector<Table> tables = make_tables();
  return tables;
}

std::size_t cell_count(TableId table) {
  const std::size_t columns = tables()[static_cast<std::size_t>(table)].columns.size();
  return columns - (table == TableId::kModels ? kFileColumns : 1);
}

std::string create_statements() {
  std::string sql;
  for (const Table& table : tables()) {
    const bool has_key = *table.key != '\0';
    sql += std::string("CREATE TABLE ") + table.name + " (  -- " + table.what + "\n";
    for (const Column& column : table.columns) {
      const bool is_last = &column == &table.columns.back() && !has_key;
      sql += std::string("  ") + column.name + " " + column.type + (is_last ? "" : ",");
      if (*column.what != '\0') sql += std::string("  -- ") + column.what;
      sql += '\n';
    }
    if (has_key) sql += std::string("  PRIMARY KEY (") + table.key + ")\n";
    // Without a row id, rows are in the order of their key, without a second copy of it.
    sql += has_key ? ") WITHOUT ROWID;\n" : ");\n";
    for (const char* columns : table.indices) {
      sql += std::string("CREATE INDEX ") + table.name + "_" + columns + " ON " + table.name + " (" +
             columns + ");\n";
    }
  }
  return sql;
}

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
