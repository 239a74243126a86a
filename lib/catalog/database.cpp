#include "catalog/database.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "catalog/sqlite.h"
#include "support/error.h"
#include "support/scope_guard.h"

namespace fxtrace::internal::catalog {
namespace {

// Files have numbers below this one; the k-th program of file n, counted from 0, is n + k * kNextProgram.
constexpr std::int64_t kNextProgram = std::int64_t{1} << 32;

Database open(const std::string& file) {
  // A name must not be read as a URI, which could set options.
  Database database = open_database(file.starts_with('/') ? file : "./" + file, file);
  sqlite3_busy_timeout(database.get(), kWait);
  return database;
}

std::string first_line(const std::string& settings) {
  constexpr std::size_t kShown = 300;
  return settings.substr(0, std::min(settings.find('\n'), kShown));
}

constexpr std::size_t kPageSize = 4096;  // the default of SQLite
constexpr std::size_t kPages = 8192;

// Gives SQLite memory for its pages that forked processes do not share.  Otherwise every page that is
// written after a fork would be copied first, and there is a fork for each model.  SQLite accepts this
// memory only before its first use.
void keep_pages_from_forks() {
#ifdef MADV_DONTFORK
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
#endif
}

}  // namespace

void check_settings(const std::string& settings, const std::string& others, const std::string& file) {
  if (settings == others) return;
  throw input_error(
      "its models were read with other options than the others, or by another version of fxtrace",
      {"it: " + first_line(settings), "the others: " + first_line(others),
       "read its models again with the options and the version of the others"})
      .at(file);
}

class Catalog::Impl {
 public:
  Impl(std::string file, const std::string& settings, OtherSettings others) : file_(std::move(file)) {
    lock();
    keep_pages_from_forks();
    database_ = open(file_);
    if (first_number("PRAGMA schema_version") == 0) make();
    check_is_catalog(database_.get(), file_, {"give -o another file name"});
    execute("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = " +
            std::to_string(kPages));
    execute("BEGIN IMMEDIATE");
    const std::string before = first_text("SELECT value FROM catalog WHERE key = 'settings'");
    if (others == OtherSettings::kRefuse && !before.empty()) check_settings(before, settings, file_);
    const Statement statement = prepare("INSERT OR REPLACE INTO catalog VALUES ('settings', ?)");
    bind(statement.get(), 1, settings);
    finish(statement.get());
    if (before != settings) execute("UPDATE models SET content = ''");  // so that it is read again
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

  std::optional<std::int64_t> find_time(const std::string& path) {
    sqlite3_stmt* statement = cached(time_, "SELECT modified_ns FROM models WHERE path = ?");
    bind(statement, 1, path);
    std::optional<std::int64_t> time;
    if (step(statement)) time = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return time;
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
    execute("BEGIN;" + catalog_statements() + "COMMIT");
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
  Statement find_, time_, number_, touch_, programs_;
  std::array<Statement, kTables> inserts_, removals_;
  std::unordered_map<std::string, std::int64_t> numbers_;  // of files whose rows are not added yet, by path
  std::int64_t next_ = 0;           // the smallest number that may be free; 0: used_ was not read
  std::vector<std::int64_t> used_;  // the numbers from next_ on that were used at first, the smallest last
};

Catalog::Catalog(const std::string& file, const std::string& settings, OtherSettings others)
    : impl_(std::make_unique<Impl>(file, settings, others)) {}
Catalog::~Catalog() = default;
void Catalog::number(const std::string& path) { impl_->number(path); }
std::optional<FileState> Catalog::find_file(const std::string& path) const { return impl_->find(path); }
std::optional<std::string> Catalog::add(const std::string& path, const FileState& state,
                                        std::string_view rows) {
  return impl_->add(path, state, rows);
}
std::optional<std::int64_t> Catalog::find_time(const std::string& path) const {
  return impl_->find_time(path);
}
const std::string& Catalog::file() const { return impl_->file(); }
void Catalog::touch(const std::string& path, const FileState& state) { impl_->touch(path, state); }
std::int64_t Catalog::remove_unless(const std::function<bool(const std::string&)>& keep) {
  return impl_->remove_unless(keep);
}
void Catalog::commit() { impl_->commit(); }

}  // namespace fxtrace::internal::catalog
