#include "catalog/sqlite.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>
#include <unordered_set>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/tables.h"
#include "support/text/words.h"

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

// Returns the bytes that SQLite had at most, with the largest number that it asked for at once, since the
// last call with `anew`.
sqlite3_int64 most_memory(bool anew) {
  sqlite3_int64 now = 0, largest = 0;
  sqlite3_status64(SQLITE_STATUS_MALLOC_SIZE, &now, &largest, anew ? 1 : 0);
  return sqlite3_memory_highwater(anew ? 1 : 0) + largest;
}

}  // namespace

Error failed(const std::string& file, sqlite3* database, int code) {
  // SQLite also says so of a text that it cannot read, in a schema that is damaged.
  constexpr sqlite3_int64 kMuch = 8 << 20;  // bytes
  if (code == SQLITE_NOMEM && most_memory(false) > kMuch) throw std::bad_alloc();
  if (code == SQLITE_NOMEM)
    return input_error(std::string("SQLite: ") + sqlite3_errstr(SQLITE_CORRUPT)).at(file);
  if (code == SQLITE_NOTADB) return input_error("this is not an SQLite database").at(file);
  std::string text = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int system = database != nullptr ? sqlite3_system_errno(database) : 0;
  if (code == SQLITE_CANTOPEN && system != 0) text = std::generic_category().message(system);
  return input_error("SQLite: " + text).at(file);
}

Database open_database(const std::string& name, const std::string& file) {
  most_memory(true);
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database opened(database);
  if (code != SQLITE_OK) throw failed(file, database, code);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  return opened;
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

namespace {

// The functions that statements may call: those of SQLite's documentation that compute with their arguments.
// Which ones a library has depends on how it was built: Debian's has fts3_tokenizer(), which gives and takes
// addresses of memory, and others have functions that read and write files.
bool is_harmless_function(std::string_view name) {
  static const std::unordered_set<std::string_view> functions = words_of(
      "-> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling changes char coalesce concat "
      "concat_ws cos cosh count cume_dist current_date current_time current_timestamp date datetime degrees "
      "dense_rank exp first_value floor format glob group_concat hex highlight if ifnull iif instr json "
      "json_array json_array_insert json_array_length json_error_position json_extract json_group_array "
      "json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace "
      "json_set json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array "
      "jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set julianday "
      "lag last_insert_rowid last_value lead length like likelihood likely ln log log10 log2 lower ltrim match "
      "matchinfo max median min mod nth_value ntile nullif octet_length offsets percent_rank percentile "
      "percentile_cont percentile_disc pi pow power printf quote radians random randomblob rank regexp replace "
      "round row_number rtrim sign sin sinh snippet soundex sqlite_compileoption_get sqlite_compileoption_used "
      "sqlite_source_id sqlite_version sqrt strftime string_agg substr substring subtype sum tan tanh time "
      "timediff total total_changes trim trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely "
      "upper zeroblob");
  return functions.contains(name);
}

// Allows only actions that read this database.
int authorize(void* /*unused*/, int action, const char* /*first*/, const char* second,
              const char* /*database*/, const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && is_harmless_function(second) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// Limits for databases of unknown origin, which may have anything in their schema, and views that never end.
constexpr struct {
  int what;
  int most;
} kQueryLimits[] = {{SQLITE_LIMIT_LENGTH, kMaxText},
                    {SQLITE_LIMIT_VDBE_OP, 10'000'000},
                    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1'000},
                    {SQLITE_LIMIT_ATTACHED, 0},
                    {SQLITE_LIMIT_WORKER_THREADS, 0}};

Error cannot_read(const ModelFile& file) {
  return input_error("cannot read the file: " + std::generic_category().message(errno)).at(file.path());
}

}  // namespace

DatabaseImage::DatabaseImage(const ModelFile& file) {
  struct stat status{};
  if (::fstat(file.descriptor(), &status) != 0) throw cannot_read(file);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (mapped == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
  if (mapped == MAP_FAILED) throw cannot_read(file);
  bytes_ = static_cast<unsigned char*>(mapped);
  leave_log_out();
}
DatabaseImage::~DatabaseImage() {
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
}

// Marks a database as one without a log: SQLite does not read a database in memory whose header says that
// changes may be in a log beside it.
void DatabaseImage::leave_log_out() {
  constexpr std::size_t kWriteVersion = 18, kReadVersion = 19;
  constexpr unsigned char kHasLog = 2, kHasNone = 1;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (size_ <= kReadVersion || bytes_[kReadVersion] != kHasLog) return;
  const std::string first(reinterpret_cast<const char*>(bytes_), std::min(size_, page));  // NOLINT: bytes
  void* own = ::mmap(bytes_, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (own == MAP_FAILED) throw std::bad_alloc();
  std::memcpy(bytes_, first.data(), first.size());
  bytes_[kWriteVersion] = bytes_[kReadVersion] = kHasNone;
}

Database open_image(const DatabaseImage& image, const std::string& file, std::uint64_t memory) {
  sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(memory));
  Database database = open_database(":memory:", file);
  sqlite3* raw = database.get();
  const auto check = [&](int result) {
    if (result != SQLITE_OK) throw failed(file, raw, result);
  };
  if (image.size() > 0) {
    check(sqlite3_deserialize(raw, "main", image.bytes(), image.size(), image.size(),
                              SQLITE_DESERIALIZE_READONLY));
  }
  check(sqlite3_exec(raw, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON", nullptr, nullptr,
                     nullptr));
  for (const auto& limit : kQueryLimits) sqlite3_limit(raw, limit.what, limit.most);
  check(sqlite3_exec(raw, "SELECT 1 FROM sqlite_master", nullptr, nullptr, nullptr));
  return database;
}

void allow_only_reading(sqlite3* database) { sqlite3_set_authorizer(database, authorize, nullptr); }

}  // namespace fxtrace::internal::catalog
