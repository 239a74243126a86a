#include "catalog/sqlite_handles.h"

#include <new>
#include <system_error>

#include "catalog/tables.h"

namespace fxtrace::internal::catalog {
namespace {

std::string schema_of(sqlite3* database) {
  std::string schema;
  const auto add = [](void* text, int count, char** cells, char** /*names*/) -> int {
    for (int i = 0; i < count; ++i) *static_cast<std::string*>(text) += cells[i];
    return 0;
  };
  const int code = sqlite3_exec(database,
                                "SELECT quote(type), quote(name), quote(sql) FROM sqlite_master "
                                "WHERE type <> 'view' ORDER BY type, name",
                                add, &schema, nullptr);
  return code == SQLITE_OK ? schema : "";
}

std::int64_t first_number(sqlite3* database, const std::string& file, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);
  const Statement statement(raw);
  if (code == SQLITE_OK) code = sqlite3_step(raw);
  if (code != SQLITE_ROW) throw failed(file, database, code);
  return sqlite3_column_int64(raw, 0);
}

}  // namespace

Error failed(const std::string& file, sqlite3* database, int code) {
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_NOTADB) return input_error("this is not an SQLite database").at(file);
  std::string text = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int system = database != nullptr ? sqlite3_system_errno(database) : 0;
  if (code == SQLITE_CANTOPEN && system != 0) text = std::generic_category().message(system);
  return input_error("SQLite: " + text).at(file);
}

void distrust(sqlite3* database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* bytes =
      reinterpret_cast<const char*>(sqlite3_column_text(statement, column));  // NOLINT: SQLite's
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

std::string catalog_statements() {
  return "CREATE TABLE catalog (  -- how the models were read\n"
         "  key TEXT PRIMARY KEY,\n  value TEXT NOT NULL\n) WITHOUT ROWID;\n" +
         create_statements();
}

void check_is_catalog(sqlite3* database, const std::string& file, const std::vector<std::string>& hints) {
  if (first_number(database, file, "PRAGMA application_id") != kApplicationId)
    throw input_error("this database is not a catalog of fxtrace", hints).at(file);
  if (first_number(database, file, "PRAGMA user_version") != kFormatVersion) {
    throw input_error("this catalog was made by another version of fxtrace",
                      {"remove it, and it is made again"})
        .at(file);
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const Database made(raw);
  if (code != SQLITE_OK ||
      sqlite3_exec(raw, catalog_statements().c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::bad_alloc();
  if (schema_of(raw) != schema_of(database))
    throw input_error("the tables of this database are not those of a catalog of fxtrace", hints).at(file);
}

}  // namespace fxtrace::internal::catalog
