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
  // Opens the catalog, or begins a new one.  Throws Error(kInput), and Error(kUsage) for a database that is
  // none or was read with other options.
  explicit Catalog(const std::string& file, const TraceOptions& options = {});
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Adds the rows of a model under that name, in place of earlier ones.  A model that cannot be read gets a
  // row with its error.  The model is read in this process: `fxtrace catalog` is for files of strangers.
  void add(const std::string& name, const Model& model, const Listener& listener = {});
  // Replaces the file, with all that was added; without it, nothing is changed.
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
