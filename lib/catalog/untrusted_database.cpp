#include "catalog/untrusted_database.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/sqlite.h"
#include "catalog/tables.h"
#include "support/scope_guard.h"
#include "support/text/numbers.h"

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

namespace {

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
      for (int i = 0; i < size; ++i) value.text += hexadecimal(bytes[i], 2);
      break;
    }
    default:
      break;
  }
  return value;
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
  const DatabaseImage image(file);
  const Database database = open_image(image, file.path(), limits.bytes);
  allow_only_reading(database.get());
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

}  // namespace fxtrace::internal::catalog
