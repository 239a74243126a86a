// Fuzz target: queries of an SQLite database, and its rows, if it is a catalog.
#include "catalog/untrusted_database.h"

#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include "catalog/tables.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {

// Checks an answer of `fxtrace query` on any database: each row has as many values as there are columns.
void database(std::string_view input) {
  constexpr catalog::QueryLimits kLimits{.bytes = 64'000'000, .seconds = 3};
  for (const char* sql : {"SELECT * FROM models", "SELECT name, sql FROM sqlite_schema"}) {
    std::size_t columns = 0;
    const catalog::QueryRows rows{[&](const std::vector<std::string>& names) { columns = names.size(); },
                                  [&](const std::vector<catalog::QueryValue>& row) {
                                    require(row.size() == columns, "a row has a value for each column");
                                  }};
    try {
      accepts([&] { catalog::query(memory_file(input), sql, kLimits, rows); });
    } catch (const std::bad_alloc&) {
      // The limit of memory was reached.
    }
  }
  constexpr int kMostFiles = 1'000;  // a damaged index may have them again and again
  accepts([&] {
    catalog::CatalogReader reader(memory_file(input));
    for (int i = 0; i < kMostFiles; ++i) {
      const auto file = reader.next();
      if (!file) break;
      catalog::RowReader rows(file->rows);
      while (rows.next()) continue;
    }
  });
}

}  // namespace fxtrace::internal::fuzz
