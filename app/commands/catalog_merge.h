// `fxtrace catalog --merge`: reads catalogs of unknown origin, in a process, and makes one of them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/console.h"
#include "app/output/files.h"
#include "app/process/isolation.h"
#include "catalog/untrusted_database.h"
#include "support/scope_guard.h"

namespace fxtrace::internal::cli {

// `fxtrace catalog --merge`: makes one catalog of several.

// Adds the rows of the catalogs in `names` to that in `output`, as if one run had read all files.  Of a file
// in several, the state with the latest time counts, of equal ones the last.  A run that was killed can be
// started again.  Returns how many files could not be read.  Throws Error.
std::size_t merge_catalogs(const std::vector<std::string>& names, const std::string& output,
                           const IsolationArguments& isolation, Console& console);

// A catalog of unknown origin, read by a process of its own that may not open anything.

// All functions throw Error(kInput, at the file).
class CatalogSource {
 public:
  static constexpr std::size_t kOpenFiles = 2;  // that one needs

  // Keeps others from changing the catalog, and starts to read it.  Reads it in this process without
  // isolation, and if the console does not own this process.  Both references must outlive this.
  CatalogSource(const std::string& name, const IsolationArguments& arguments, Console& console);
  ~CatalogSource();  // kills the process, if it still runs
  CatalogSource(const CatalogSource&) = delete;
  CatalogSource& operator=(const CatalogSource&) = delete;

  const InputFile& input() const { return input_; }
  // Returns how the models were read.
  const std::string& settings() const { return settings_; }
  // Returns the next file; nothing at the end.  The paths ascend.
  std::optional<catalog::FileRows> next();

 private:
  void start(Console& console);
  std::optional<std::string> read_message();
  bool fill(std::size_t size);
  void wait();
  void stop();

  const IsolationArguments& arguments_;
  InputFile input_;
  std::optional<catalog::CatalogReader> here_;  // without a process
  std::optional<IsolatedProcess> process_;      // while it runs
  Descriptor messages_;                         // a pipe, from which the messages of the process come
  std::string text_;                            // what was read of it
  std::size_t used_ = 0;                        // bytes of text_ that were returned
  std::chrono::nanoseconds waited_{};           // for the process
  std::string settings_, last_;
};

}  // namespace fxtrace::internal::cli
