#include "catalog/catalog_reader.h"

#include <array>
#include <cstdint>
#include <sstream>
#include <utility>

#include "catalog/database_image.h"
#include "catalog/row_stream.h"
#include "catalog/tables.h"

namespace fxtrace::internal::catalog {

class CatalogReader::Impl {
 public:
  explicit Impl(const ModelFile& file)
      : file_(file.path()), image_(file), database_(open_image(image_, file_, 0)) {
    check_is_catalog(database_.get(), file_, {});
    allow_only_reading(database_.get());
    models_ = prepare("SELECT * FROM models ORDER BY path, id");
    for (std::size_t i = 1; i < kTables; ++i) {
      const Table& table = tables()[i];
      parts_[i] =
          prepare(std::string("SELECT * FROM ") + table.name + " WHERE " + table.columns[0].name + " = ?");
    }
  }

  std::string settings() {
    const Statement statement = prepare("SELECT value FROM catalog WHERE key = 'settings'");
    return step(statement.get()) ? text_of(statement.get(), 0) : "";
  }

  std::optional<FileRows> next() {
    if (!is_begun_) has_row_ = step(models_.get());
    is_begun_ = true;
    if (!has_row_) return std::nullopt;
    sqlite3_stmt* models = models_.get();
    FileRows file;
    file.path = text_of(models, kPath);
    file.state = {static_cast<std::uint64_t>(sqlite3_column_int64(models, kBytes)),
                  sqlite3_column_int64(models, kTime), text_of(models, kContent)};
    std::ostringstream out;
    RowWriter rows(out);
    do {
      if (file.state.content.empty() &&
          sqlite3_column_type(models, kFileColumns + kErrorCell) == SQLITE_NULL) {
        throw input_error("its models are being read again with other options, and not all were",
                          {"let the run of fxtrace catalog that adds to it end"})
            .at(file_);
      }
      add_row(models, TableId::kModels, kFileColumns, rows);
      const std::int64_t id = sqlite3_column_int64(models, 0);
      for (std::size_t i = 1; i < kTables; ++i) {
        sqlite3_stmt* part = parts_[i].get();
        sqlite3_bind_int64(part, 1, id);
        while (step(part)) add_row(part, static_cast<TableId>(i), 1, rows);
        sqlite3_reset(part);
      }
      has_row_ = step(models);
    } while (has_row_ && text_of(models, kPath) == file.path);
    file.rows = std::move(out).str();
    return file;
  }

 private:
  enum Place { kPath = 1, kBytes, kTime, kContent };  // columns of models

  Statement prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr);
    if (code != SQLITE_OK) throw failed(file_, database_.get(), code);
    return Statement(statement);
  }
  // Runs to the next row; returns whether there is one.
  bool step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) throw failed(file_, database_.get(), code);
    return code == SQLITE_ROW;
  }

  // Adds the columns from `first` on.
  void add_row(sqlite3_stmt* statement, TableId table, std::size_t first, RowWriter& rows) {
    Cells cells;
    const auto count = static_cast<std::size_t>(sqlite3_column_count(statement));
    for (std::size_t i = first; i < count; ++i) {
      const auto column = static_cast<int>(i);
      switch (sqlite3_column_type(statement, column)) {
        case SQLITE_NULL:
          cells.emplace_back();
          break;
        case SQLITE_INTEGER:
          cells.emplace_back(std::int64_t{sqlite3_column_int64(statement, column)});
          break;
        case SQLITE_TEXT:
          cells.emplace_back(text_of(statement, column));
          break;
        default:
          throw input_error("this catalog is damaged: a value is neither a number nor a text").at(file_);
      }
    }
    rows.row(table, cells);
  }

  std::string file_;
  DatabaseImage image_;
  Database database_;
  Statement models_;
  std::array<Statement, kTables> parts_;  // by table; none for models
  bool is_begun_ = false;
  bool has_row_ = false;  // models_ is at a row
};

CatalogReader::CatalogReader(const ModelFile& file) : impl_(std::make_unique<Impl>(file)) {}
CatalogReader::~CatalogReader() = default;
std::string CatalogReader::settings() { return impl_->settings(); }
std::optional<FileRows> CatalogReader::next() { return impl_->next(); }

}  // namespace fxtrace::internal::catalog
