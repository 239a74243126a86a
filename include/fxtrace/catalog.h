// Catalogs: many models in one SQLite database, as `fxtrace catalog` makes it (docs/how-to/catalog.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fxtrace/listener.h"
#include "fxtrace/model.h"
#include "fxtrace/trace_options.h"

namespace fxtrace {

namespace internal {
struct OpenCatalog;
}  // namespace internal

class Catalog {
 public:
  // Opens the catalog, which nobody else may do while this lives, or makes an empty one.  Throws
  // Error(kInput, at the file) for a database that is no catalog.
  explicit Catalog(const std::string& file, const TraceOptions& options = {});
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Adds the rows of a model under that name, in place of earlier ones.  A model that cannot be read gets a
  // row with its error.  The model is read in this process: `fxtrace catalog` is for files of strangers.
  void add(const std::string& name, const Model& model, const Listener& listener = {});
  // Makes all that was added visible to others; without it, the catalog keeps what it had.
  void commit();

  // A value of a database: NULL, an integer, a number or a text (for bytes, hexadecimal digits).
  using Value = std::variant<std::monostate, std::int64_t, double, std::string>;
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<Value>> rows;
  };
  // Runs one statement that only reads.  Throws Error: kUsage for wrong SQL and one that would write.
  static Table query(const std::string& file, const std::string& sql);

 private:
  std::unique_ptr<internal::OpenCatalog> data_;
};

}  // namespace fxtrace
