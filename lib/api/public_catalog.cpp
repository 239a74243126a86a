#include "fxtrace/catalog.h"

#include <sstream>
#include <utility>

#include <sys/stat.h>

#include "api/public_parts.h"
#include "catalog/database.h"
#include "catalog/untrusted_database.h"
#include "pipelines/answers/catalog_rows.h"

namespace fxtrace {

namespace internal {

struct OpenCatalog {
  OpenCatalog(const std::string& file, Config options)
      : config(std::move(options)), catalog(file, settings_of(config, {}, false)) {}

  Config config;
  catalog::Catalog catalog;
};

}  // namespace internal

Catalog::Catalog(const std::string& file, const TraceOptions& options)
    : data_(std::make_unique<internal::OpenCatalog>(file, internal::config_of(options))) {}
Catalog::~Catalog() = default;

void Catalog::add(const std::string& name, const Model& model, const Listener& listener) {
  internal::Run run(listener);
  std::ostringstream out;
  write_catalog_rows({data_->config, {}, ""}, {model.file(), name}, run, out);
  const std::string written = std::move(out).str();
  const std::size_t line = written.find('\n');
  internal::catalog::FileState state{model.file().size(), 0, written.substr(0, line)};
  data_->catalog.number(name);
  data_->catalog.add(name, state, std::string_view(written).substr(line + 1));
}

void Catalog::commit() { data_->catalog.commit(); }

Catalog::Table Catalog::query(const std::string& file, const std::string& sql) {
  using internal::catalog::QueryValue;
  Table table;
  const auto value_of = [](const QueryValue& value) -> Value {
    switch (value.type) {
      case QueryValue::Type::kNull:
        return std::monostate();
      case QueryValue::Type::kInteger:
        return value.integer;
      case QueryValue::Type::kReal:
        return value.real;
      case QueryValue::Type::kText:
      case QueryValue::Type::kBlob:
        return value.text;
    }
    return std::monostate();
  };
  const internal::ModelFile database(file);
  internal::catalog::hold_for_reading(database);
  internal::catalog::query(database, sql, {},
                           {.begin = [&](const std::vector<std::string>& names) { table.columns = names; },
                            .row =
                                [&](const std::vector<QueryValue>& row) {
                                  std::vector<Value>& values = table.rows.emplace_back();
                                  for (const QueryValue& value : row) values.push_back(value_of(value));
                                }});
  return table;
}

}  // namespace fxtrace
