#include "catalog/query.h"

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/database_image.h"
#include "support/descriptor.h"

namespace fxtrace::internal::catalog {
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
