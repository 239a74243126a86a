#include "catalog/database.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/descriptor.h"
#include "support/error.h"
#include "support/text/words.h"

namespace fxtrace::catalog {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

// Files have numbers below this one; the k-th program of file n, counted from 0, is n + k * kNextProgram.
constexpr std::int64_t kNextProgram = std::int64_t{1} << 32;
constexpr int kWait = 10'000;  // milliseconds to wait for other readers or writers

Error failed(const std::string& file, sqlite3* database, int code) {
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_NOTADB) return input_error("this is not an SQLite database").at(file);
  std::string text = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int system = database != nullptr ? sqlite3_system_errno(database) : 0;
  if (code == SQLITE_CANTOPEN && system != 0) text = std::generic_category().message(system);
  return input_error("SQLite: " + text).at(file);
}

// Protects against databases of unknown origin: what is in the schema must neither run nor cause a crash.
void distrust(sqlite3* database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
}

Database open(const std::string& file) {
  sqlite3* database = nullptr;
  // A name must not be read as a URI, which could set options.
  const std::string path = file.starts_with("/") ? file : "./" + file;
  const int code = sqlite3_open_v2(path.c_str(), &database,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database opened(database);
  if (code != SQLITE_OK) throw failed(file, database, code);
  sqlite3_busy_timeout(database, kWait);
  distrust(database);
  return opened;
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* bytes =
      reinterpret_cast<const char*>(sqlite3_column_text(statement, column));  // NOLINT: SQLite's
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

constexpr std::size_t kPageSize = 4096;  // the default of SQLite
constexpr std::size_t kPages = 8192;

// Gives SQLite memory for its pages that forked processes do not share.  Otherwise every page that is
// written after a fork would be copied first, and there is a fork for each model.  SQLite accepts this
// memory only before its first use.
void keep_pages_from_forks() {
  int header = 0;
  sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header);
  const std::size_t slot = kPageSize + static_cast<std::size_t>(header);
  const std::size_t size = slot * kPages;
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  ::madvise(pages, size, MADV_HUGEPAGE);  // SQLite touches all of it at once
  const bool is_taken = ::madvise(pages, size, MADV_DONTFORK) == 0 &&
                        sqlite3_config(SQLITE_CONFIG_PAGECACHE, pages, static_cast<int>(slot),
                                       static_cast<int>(kPages)) == SQLITE_OK;
  if (!is_taken) ::munmap(pages, size);
}

constexpr char kCatalogTable[] =
    "CREATE TABLE catalog (  -- how the models were read\n"
    "  key TEXT PRIMARY KEY,\n  value TEXT NOT NULL\n) WITHOUT ROWID;\n";

}  // namespace

class Catalog::Impl {
 public:
  Impl(std::string file, const std::string& settings) : file_(std::move(file)) {
    lock();
    keep_pages_from_forks();
    database_ = open(file_);
    if (first_number("PRAGMA schema_version") == 0) {
      make();
    } else if (first_number("PRAGMA application_id") != kApplicationId) {
      throw input_error("this database is not a catalog of fxtrace", {"give -o another file name"}).at(file_);
    } else if (first_number("PRAGMA user_version") != kFormatVersion) {
      throw input_error("this catalog was made by another version of fxtrace",
                        {"remove it, and it is made again"})
          .at(file_);
    }
    check_schema();
    execute("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = " +
            std::to_string(kPages));
    execute("BEGIN IMMEDIATE");
    same_settings_ = first_text("SELECT value FROM catalog WHERE key = 'settings'") == settings;
    const Statement statement = prepare("INSERT OR REPLACE INTO catalog VALUES ('settings', ?)");
    bind(statement.get(), 1, settings);
    finish(statement.get());
    if (!same_settings_) execute("UPDATE models SET content = ''");  // so that it is read again
  }

  std::int64_t number(const std::string& path) {
    const auto [place, is_new] = numbers_.try_emplace(path);
    if (!is_new) return place->second;
    sqlite3_stmt* statement =
        cached(number_, "SELECT id FROM models WHERE path = ? AND id < " + std::to_string(kNextProgram));
    bind(statement, 1, path);
    place->second = step(statement) ? sqlite3_column_int64(statement, 0) : next_free();
    sqlite3_reset(statement);
    return place->second;
  }

  std::optional<FileState> find(const std::string& path) {
    sqlite3_stmt* statement =
        cached(find_, "SELECT file_bytes, modified_ns, content, count(error) FROM models WHERE path = ?");
    bind(statement, 1, path);
    std::optional<FileState> state;
    if (step(statement) && sqlite3_column_bytes(statement, 2) > 0 &&
        sqlite3_column_int64(statement, 3) == 0) {
      state = FileState{static_cast<std::uint64_t>(sqlite3_column_int64(statement, 0)),
                        sqlite3_column_int64(statement, 1), text_of(statement, 2)};
    }
    sqlite3_reset(statement);
    return state;
  }

  const std::string& file() const { return file_; }

  // Works without a savepoint, which would copy every page that a model's rows change.
  std::optional<std::string> add(const std::string& path, const FileState& state, std::string_view rows) {
    try {
      auto told = insert_all(path, state, rows);
      numbers_.erase(path);
      return told;
    } catch (...) {
      remove_rows(path);
      throw;
    }
  }

  void touch(const std::string& path, const FileState& state) {
    sqlite3_stmt* statement =
        cached(touch_, "UPDATE models SET file_bytes = ?, modified_ns = ?, content = ? WHERE path = ?");
    bind_state(statement, 1, state);
    bind(statement, 4, path);
    finish(statement);
  }

  std::int64_t remove_unless(const std::function<bool(const std::string&)>& keep) {
    std::vector<std::string> gone;
    {
      const Statement all = prepare("SELECT DISTINCT path FROM models");
      while (step(all.get())) {
        std::string path = text_of(all.get(), 0);
        if (!keep(path)) gone.push_back(std::move(path));
      }
    }
    for (const std::string& path : gone) remove_rows(path);
    return static_cast<std::int64_t>(gone.size());
  }

  void commit() { execute("COMMIT; BEGIN IMMEDIATE"); }

 private:
  // Locks the file as long as the descriptor is open.  SQLite's own locks are held for moments only, so that
  // catalogs can be read while they grow.
  void lock() {
    lock_ = Descriptor(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock_)
      throw input_error("cannot open the file: " + std::generic_category().message(errno)).at(file_);
    if (::flock(lock_.number(), LOCK_EX | LOCK_NB) == 0) return;
    if (errno == EWOULDBLOCK) throw input_error("another fxtrace is adding to this catalog").at(file_);
  }

  void make() {
    execute("PRAGMA application_id = " + std::to_string(kApplicationId) +
            "; PRAGMA user_version = " + std::to_string(kFormatVersion));
    execute("BEGIN;" + std::string(kCatalogTable) + create_statements() + "COMMIT");
  }

  // Other parts of a schema, such as an index over an expression, would run when rows are added.
  void check_schema() {
    const Database made = open_memory();
    if (schema_of(made.get()) != schema_of(database_.get()))
      throw input_error("the tables of this database are not those of a catalog of fxtrace",
                        {"give -o another file name"})
          .at(file_);
  }
  Database open_memory() {
    sqlite3* raw = nullptr;
    check(sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr));
    Database database(raw);
    check(sqlite3_exec(raw, (kCatalogTable + create_statements()).c_str(), nullptr, nullptr, nullptr));
    return database;
  }
  // Returns the schema without views, which run only in queries of them.
  static std::string schema_of(sqlite3* database) {
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

  void check(int code) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
      throw failed(file_, database_.get(), code);
  }
  void execute(const std::string& sql) {
    check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }
  Statement prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    check(
        sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr));
    return Statement(statement);
  }
  sqlite3_stmt* cached(Statement& statement, const std::string& sql) {
    if (!statement) statement = prepare(sql);
    return statement.get();
  }
  // Runs to the next row; returns whether there is one.
  bool step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      const Error error = failed(file_, database_.get(), code);
      sqlite3_reset(statement);
      throw error;
    }
    return code == SQLITE_ROW;
  }
  void finish(sqlite3_stmt* statement) {
    step(statement);
    sqlite3_reset(statement);
  }
  // Binds a text, which must live until the statement has run.
  void bind(sqlite3_stmt* statement, int place, const std::string& text) {
    check(sqlite3_bind_text64(statement, place, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  void bind(sqlite3_stmt* statement, int place, const Cell& cell) {
    if (const auto* number = std::get_if<std::int64_t>(&cell)) {
      check(sqlite3_bind_int64(statement, place, *number));
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      bind(statement, place, *text);
    } else {
      check(sqlite3_bind_null(statement, place));
    }
  }
  void bind_state(sqlite3_stmt* statement, int place, const FileState& state) {
    check(sqlite3_bind_int64(statement, place, static_cast<std::int64_t>(state.bytes)));
    check(sqlite3_bind_int64(statement, place + 1, state.modified_ns));
    bind(statement, place + 2, state.content);
  }
  std::int64_t first_number(const std::string& sql) {
    const Statement statement = prepare(sql);
    return step(statement.get()) ? sqlite3_column_int64(statement.get(), 0) : 0;
  }
  std::string first_text(const std::string& sql) {
    const Statement statement = prepare(sql);
    return step(statement.get()) ? text_of(statement.get(), 0) : "";
  }

  std::optional<std::string> insert_all(const std::string& path, const FileState& state,
                                        std::string_view bytes) {
    std::int64_t id = number(path) - kNextProgram;
    remove_rows(path);
    std::optional<std::string> told;
    RowReader reader(bytes);
    while (const auto row = reader.next()) {
      const bool is_model = row->table == TableId::kModels;
      if (is_model) id += kNextProgram;
      if (id < 0) throw input_error("the rows of a model do not begin with its row in models");
      sqlite3_stmt* statement = insert(row->table);
      check(sqlite3_bind_int64(statement, 1, id));
      if (is_model) {
        bind(statement, 2, path);
        bind_state(statement, 3, state);
        const auto* error = std::get_if<std::string>(&row->cells[kErrorCell]);
        if (error != nullptr && !told) told = *error;
      }
      insert_cells(statement, is_model ? static_cast<int>(kFileColumns) + 1 : 2, row->cells);
    }
    if (id < 0) throw input_error("the model has no rows");
    return told;
  }

  void insert_cells(sqlite3_stmt* statement, int place, const Cells& cells) {
    for (const Cell& cell : cells) bind(statement, place++, cell);
    finish(statement);
  }

  void remove_rows(const std::string& path) {
    std::vector<std::int64_t> ids;
    sqlite3_stmt* programs = cached(programs_, "SELECT id FROM models WHERE path = ?");
    bind(programs, 1, path);
    while (step(programs)) ids.push_back(sqlite3_column_int64(programs, 0));
    sqlite3_reset(programs);
    for (const std::int64_t id : ids) {
      for (std::size_t i = 0; i < kTables; ++i) {
        const Table& table = tables()[i];
        sqlite3_stmt* remove = cached(removals_[i], std::string("DELETE FROM ") + table.name + " WHERE " +
                                                        table.columns[0].name + " = ?");
        check(sqlite3_bind_int64(remove, 1, id));
        finish(remove);
      }
    }
  }

  std::int64_t next_free() {
    if (next_ == 0) {
      const Statement all = prepare("SELECT id FROM models WHERE id BETWEEN 1 AND " +
                                    std::to_string(kNextProgram - 1) + " ORDER BY id DESC");
      while (step(all.get())) used_.push_back(sqlite3_column_int64(all.get(), 0));
      next_ = 1;
    }
    for (; !used_.empty() && used_.back() == next_; ++next_) used_.pop_back();
    return next_++;
  }

  sqlite3_stmt* insert(TableId id) {
    Statement& statement = inserts_[static_cast<std::size_t>(id)];
    if (statement) return statement.get();
    const Table& table = tables()[static_cast<std::size_t>(id)];
    // When a damaged model has a name twice, the first one counts.
    std::string sql = std::string("INSERT OR IGNORE INTO ") + table.name + " VALUES (?";
    for (std::size_t i = 1; i < table.columns.size(); ++i) sql += ",?";
    return cached(statement, sql + ")");
  }

  std::string file_;
  Descriptor lock_;  // closed last: closing any descriptor of a file ends SQLite's locks on it
  Database database_;
  Statement find_, number_, touch_, programs_;
  std::array<Statement, kTables> inserts_, removals_;
  bool same_settings_ = true;
  std::unordered_map<std::string, std::int64_t> numbers_;  // of files whose rows are not added yet, by path
  std::int64_t next_ = 0;           // the smallest number that may be free; 0: used_ was not read
  std::vector<std::int64_t> used_;  // the numbers from next_ on that were used at first, the smallest last
};

Catalog::Catalog(const std::string& file, const std::string& settings)
    : impl_(std::make_unique<Impl>(file, settings)) {}
Catalog::~Catalog() = default;
void Catalog::number(const std::string& path) { impl_->number(path); }
std::optional<FileState> Catalog::find_file(const std::string& path) const { return impl_->find(path); }
std::optional<std::string> Catalog::add(const std::string& path, const FileState& state,
                                        std::string_view rows) {
  return impl_->add(path, state, rows);
}
const std::string& Catalog::file() const { return impl_->file(); }
void Catalog::touch(const std::string& path, const FileState& state) { impl_->touch(path, state); }
std::int64_t Catalog::remove_unless(const std::function<bool(const std::string&)>& keep) {
  return impl_->remove_unless(keep);
}
void Catalog::commit() { impl_->commit(); }

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

Error more_than_read() {
  return usage_error("this statement does more than read; query runs only statements that read");
}

QueryValue value_of(sqlite3_stmt* statement, int column) {
  using Type = QueryValue::Type;
  QueryValue value;
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      value.type = Type::kInteger;
      value.integer = sqlite3_column_int64(statement, column);
      break;
    case SQLITE_FLOAT:
      value.type = Type::kReal;
      value.real = sqlite3_column_double(statement, column);
      break;
    case SQLITE_TEXT:
      value.type = Type::kText;
      value.text = text_of(statement, column);
      break;
    case SQLITE_BLOB: {
      value.type = Type::kBlob;
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
      const int size = sqlite3_column_bytes(statement, column);
      constexpr char kDigits[] = "0123456789abcdef";
      for (int i = 0; i < size; ++i) {
        value.text += kDigits[bytes[i] >> 4];
        value.text += kDigits[bytes[i] & 15];
      }
      break;
    }
    default:
      break;
  }
  return value;
}

// The bytes of a database file, mapped into memory; nobody may change the file meanwhile.
class Image {
 public:
  explicit Image(const ModelFile& file) {
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
  ~Image() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  unsigned char* bytes() const { return bytes_; }
  sqlite3_int64 size() const { return static_cast<sqlite3_int64>(size_); }

 private:
  static Error cannot_read(const ModelFile& file) {
    return input_error("cannot read the file: " + std::generic_category().message(errno)).at(file.path());
  }

  // Marks a database as one without a log: SQLite does not read a database in memory whose header says that
  // changes may be in a log beside it.
  void leave_log_out() {
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

  unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

// Limits for databases of unknown origin, which may have anything in their schema, and views that never end.
constexpr int kMaxText = 64 << 20;  // bytes of a value, and of a row
constexpr struct {
  int what;
  int most;
} kQueryLimits[] = {{SQLITE_LIMIT_LENGTH, kMaxText},
                    {SQLITE_LIMIT_VDBE_OP, 10'000'000},
                    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1'000},
                    {SQLITE_LIMIT_ATTACHED, 0},
                    {SQLITE_LIMIT_WORKER_THREADS, 0}};

Database open_image(const Image& image, const std::string& file, const QueryLimits& limits) {
  sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(limits.bytes));
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(":memory:", &raw,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) throw failed(file, raw, code);
  const auto check = [&](int result) {
    if (result != SQLITE_OK) throw failed(file, raw, result);
  };
  distrust(raw);
  if (image.size() > 0) {
    check(sqlite3_deserialize(raw, "main", image.bytes(), image.size(), image.size(),
                              SQLITE_DESERIALIZE_READONLY));
  }
  check(sqlite3_exec(raw, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON", nullptr, nullptr,
                     nullptr));
  for (const auto& limit : kQueryLimits) sqlite3_limit(raw, limit.what, limit.most);
  check(sqlite3_exec(raw, "SELECT 1 FROM sqlite_master", nullptr, nullptr, nullptr));
  sqlite3_set_authorizer(raw, authorize, nullptr);
  return database;
}

std::uint64_t processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec);
}

// The bytes of SQLite's locks (https://sqlite.org/src/file/src/os.h, "unixLock"): a reader locks a part of
// `kShared`.
constexpr off_t kPending = 0x40000000, kReserved = kPending + 1, kShared = kPending + 2;
constexpr off_t kSharedSize = 510;

// Takes a lock; returns whether it succeeded, or the file system has no locks.
bool take_lock(const ModelFile& file, short kind, off_t start, off_t size) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = size;
  return ::fcntl(file.descriptor(), F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool is_being_changed(const ModelFile& file) {
  struct flock lock{};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kReserved;
  lock.l_len = 1;
  return ::fcntl(file.descriptor(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// Returns whether there is a file beside the database that is not empty, and not marked as unused by a zero
// byte at its start.
bool has_beside(const ModelFile& file, const char* suffix) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(file.path(), failed);
  const std::string path = (failed ? file.path() : real.string()) + suffix;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return false;
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char first = 1;
  return !opened || ::pread(opened.number(), &first, 1, 0) != 1 || first != 0;
}

}  // namespace

void hold_for_reading(const ModelFile& file) {
  constexpr int kPause = 20;  // milliseconds
  bool is_held = false;
  for (int waited = 0; !is_held && waited < kWait; waited += kPause) {
    if (waited > 0) ::usleep(kPause * 1'000);
    if (!take_lock(file, F_RDLCK, kPending, 1)) continue;
    is_held = take_lock(file, F_RDLCK, kShared, kSharedSize);
    take_lock(file, F_UNLCK, kPending, 1);
  }
  if (!is_held) throw input_error("another program is writing to this database").at(file.path());
  const std::vector<std::string> hints = {"open it once with the program that wrote it, or with sqlite3"};
  if (has_beside(file, "-journal") && !is_being_changed(file)) {
    throw input_error("a change of this database was not finished, and its content is incomplete", hints)
        .at(file.path());
  }
  if (has_beside(file, "-wal")) {
    throw input_error("changes of this database are still in its log, the file whose name ends in -wal",
                      hints)
        .at(file.path());
  }
}

void query(const ModelFile& file, const std::string& sql, const QueryLimits& limits, const QueryRows& rows) {
  const Image image(file);
  const Database database = open_image(image, file.path(), limits);
  std::uint64_t end = processor_seconds() + limits.seconds;
  const auto is_over = [](void* seconds) -> int {
    return int{processor_seconds() > *static_cast<const std::uint64_t*>(seconds)};
  };
  constexpr int kOften = 100'000;  // operations between checks, some milliseconds
  if (limits.seconds != 0) sqlite3_progress_handler(database.get(), kOften, is_over, &end);
  const auto failure = [&](int code) {
    if (code == SQLITE_AUTH) return more_than_read();
    if (code == SQLITE_TOOBIG) {
      return input_error("a value or a row is larger than " + std::to_string(kMaxText >> 20) +
                         " MiB, the limit")
          .at(file.path());
    }
    if (code != SQLITE_INTERRUPT) return failed(file.path(), database.get(), code);
    return input_error("it needed more than " + std::to_string(limits.seconds) + " s of processor time",
                       {"--max-time SECONDS allows more"})
        .at(file.path());
  };
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(database.get(), sql.c_str(), static_cast<int>(sql.size()) + 1, &raw, &rest);
  const Statement statement(raw);
  if (code == SQLITE_ERROR || code == SQLITE_TOOBIG) {
    std::string message = sqlite3_errmsg(database.get());
    const int offset = sqlite3_error_offset(database.get());
    if (offset >= 0) message += " (character " + std::to_string(offset + 1) + ")";
    throw usage_error("SQL: " + message);
  }
  if (code != SQLITE_OK) throw failure(code);
  if (!statement) throw usage_error("SQL: the statement is missing");
  if (std::string_view(rest).find_first_not_of(" \t\r\n;") != std::string_view::npos)
    throw usage_error("SQL: expected one statement, got several");
  std::vector<std::string> columns;
  const int count = sqlite3_column_count(statement.get());
  for (int i = 0; i < count; ++i) columns.emplace_back(sqlite3_column_name(statement.get(), i));
  rows.begin(columns);
  std::vector<QueryValue> row;
  while (true) {
    const int stepped = sqlite3_step(statement.get());
    if (stepped == SQLITE_DONE) return;
    if (stepped != SQLITE_ROW) throw failure(stepped);
    row.clear();
    for (int i = 0; i < count; ++i) row.push_back(value_of(statement.get(), i));
    rows.row(row);
  }
}

}  // namespace fxtrace::catalog
