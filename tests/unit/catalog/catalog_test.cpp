// Rows of a catalog between processes: written rows are read back, and damaged bytes are refused.
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "catalog/database.h"
#include "catalog/model_rows.h"
#include "catalog/tables.h"
#include "catalog/untrusted_database.h"
#include "catch.h"
#include "folder.h"
#include "sample_collection.h"
#include "support/error.h"

namespace fxtrace::internal::catalog {
namespace {

std::string sample_rows() {
  std::ostringstream out;
  RowWriter rows(out);
  write_model_rows(sample_collection(), {"", "PyTorch 2.13.0"}, rows);
  return out.str();
}

// Returns the rows; nothing when the bytes are refused.
std::optional<std::size_t> count_rows(std::string_view bytes) {
  RowReader reader(bytes);
  std::size_t count = 0;
  try {
    while (reader.next()) ++count;
  } catch (const Error&) {
    return std::nullopt;
  }
  return count;
}

TEST_CASE("catalog: every cell comes back", "[catalog]") {
  const Cells cells = {
      std::string("p\0q", 3), std::string("kind"), std::string("\xff"), Cell(), Cell(), Cell(),
      std::int64_t{-1}};
  std::ostringstream out;
  RowWriter(out).row(TableId::kFailures, cells);
  const std::string bytes = out.str();
  RowReader reader(bytes);
  const auto row = reader.next();
  REQUIRE(row);
  CHECK(row->table == TableId::kFailures);
  Cells expected = cells;
  expected[2] = std::string("\xef\xbf\xbd");
  CHECK(row->cells == expected);
  CHECK_FALSE(reader.next());
}

TEST_CASE("catalog: what is cut off or changed is refused or read, never more", "[catalog]") {
  const std::string bytes = sample_rows();
  const std::size_t all = count_rows(bytes).value();
  REQUIRE(all > 10);
  std::size_t refused = 0;
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const auto rows = count_rows(std::string_view(bytes).substr(0, size));
    if (!rows) ++refused;
    CHECK(rows.value_or(0) < all);
  }
  CHECK(refused > bytes.size() / 2);
  for (std::size_t place = 0; place < bytes.size(); place += 7) {
    std::string changed = bytes;
    changed[place] = static_cast<char>(~changed[place]);
    CHECK(count_rows(changed).value_or(0) <= changed.size());
  }
}

TEST_CASE("catalog: of rows that are damaged none is kept, and of the others all", "[catalog]") {
  const Folder folder;
  const std::string file = folder.file("", "models.sqlite");
  const auto count = [&](const std::string& table) {
    std::int64_t result = -1;
    query(ModelFile(file), "SELECT count(*) FROM " + table, {},
          {[](const auto&) {}, [&](const std::vector<QueryValue>& row) { result = row.at(0).integer; }});
    return result;
  };
  const std::string rows = sample_rows();
  Catalog catalog(file, "settings");
  catalog.add("a.pt", {}, rows);
  catalog.commit();
  const std::int64_t nodes = count("nodes");
  REQUIRE(nodes > 0);
  CHECK_THROWS_AS(catalog.add("b.pt", {}, std::string_view(rows).substr(0, rows.size() - 1)), Error);
  catalog.commit();
  CHECK(count("models") == 1);
  CHECK(count("nodes") == nodes);
  catalog.add("b.pt", {}, rows);
  catalog.commit();
  CHECK(count("nodes") == 2 * nodes);
}

TEST_CASE("catalog: files have the smallest free numbers, in the order in which they are numbered",
          "[catalog]") {
  const Folder folder;
  const std::string file = folder.file("", "models.sqlite");
  const std::string rows = sample_rows();
  const auto numbers = [&] {
    std::string text;
    query(ModelFile(file), "SELECT id, path FROM models ORDER BY id", {},
          {[](const auto&) {},
           [&](const std::vector<QueryValue>& row) {
             text += std::to_string(row.at(0).integer) + row.at(1).text + " ";
           }});
    return text;
  };
  {
    Catalog catalog(file, "settings");
    for (const char* path : {"a", "b", "c", "d"}) catalog.number(path);
    for (const char* path : {"d", "b", "a", "c"}) catalog.add(path, {}, rows);
    catalog.remove_unless([](const std::string& path) { return path == "b" || path == "d"; });
    catalog.commit();
    CHECK(numbers() == "2b 4d ");
  }
  Catalog catalog(file, "settings");
  for (const char* path : {"aa", "b", "c", "e"}) catalog.number(path);
  for (const char* path : {"e", "c", "b", "aa"}) catalog.add(path, {}, rows);
  catalog.commit();
  CHECK(numbers() == "1aa 2b 3c 4d 5e ");
}

TEST_CASE("catalog: another one takes its rows over", "[catalog]") {
  const Folder folder;
  const std::string first = folder.file("", "first.sqlite"), second = folder.file("", "second.sqlite");
  const std::string rows = sample_rows();
  {
    Catalog catalog(first, "settings");
    catalog.add("b.pt", {5, -1, "key"}, rows);
    catalog.add("a.pt", {6, 7, "other"}, rows + rows);  // two programs
    catalog.commit();
    CHECK(catalog.find_time("b.pt") == -1);
    CHECK_FALSE(catalog.find_time("c.pt"));
  }
  CatalogReader reader{ModelFile(first)};
  CHECK(reader.settings() == "settings");
  Catalog catalog(second, "settings", OtherSettings::kRefuse);
  std::string paths;
  while (const auto file = reader.next()) {
    paths += file->path;
    CHECK(count_rows(file->rows) == (file->path == "a.pt" ? 2 : 1) * count_rows(rows).value());
    catalog.add(file->path, file->state, file->rows);
  }
  CHECK(paths == "a.ptb.pt");
  CHECK(catalog.find_file("a.pt") == FileState{6, 7, "other"});
  CHECK(catalog.find_file("b.pt") == FileState{5, -1, "key"});
  catalog.commit();
  CHECK_THROWS_WITH(CatalogReader(ModelFile(folder.file("text", "text"))),
                    ContainsSubstring("not an SQLite database"));
}

TEST_CASE("catalog: the settings of another one are refused, and those of a run that did not end",
          "[catalog]") {
  const Folder folder;
  const std::string file = folder.file("", "models.sqlite");
  {
    Catalog catalog(file, "settings");
    catalog.add("a.pt", {5, 6, "key"}, sample_rows());
    catalog.commit();
  }
  CHECK_THROWS_WITH(Catalog(file, "others", OtherSettings::kRefuse), ContainsSubstring("other options"));
  CHECK(CatalogReader(ModelFile(file)).next());
  Catalog(file, "others").commit();
  CatalogReader reader{ModelFile(file)};
  CHECK_THROWS_WITH(reader.next(), ContainsSubstring("are being read again"));
}

TEST_CASE("catalog: a row has as many cells as its table", "[catalog]") {
  std::ostringstream out;
  RowWriter rows(out);
  CHECK_THROWS_AS(rows.row(TableId::kEdges, {std::int64_t{1}}), Error);
}

TEST_CASE("query: functions that do more than compute are refused", "[catalog]") {
  const Folder folder;
  const std::string file = folder.file("", "models.sqlite");
  {
    const Catalog made(file, "");
  }
  const auto ask = [&](const std::string& sql) {
    std::string answer;
    query(ModelFile(file), sql, {},
          {[](const auto&) {},
           [&](const std::vector<QueryValue>& row) {
             answer += row.front().text + std::to_string(row.front().integer);
           }});
    return answer;
  };
  CHECK(ask("SELECT count(*) + max(abs(-1), 2) + (1 LIKE 1) + json_array_length('[1]') FROM models") == "4");
  CHECK(ask("SELECT '{\"a\": 3}' ->> 'a'") == "3");
  for (const char* call : {"fts3_tokenizer('simple')", "load_extension('x.so')", "sqlite_log(1, 'x')"}) {
    CAPTURE(call);
    CHECK_THROWS_WITH(ask(std::string("SELECT ") + call),
                      ContainsSubstring("not authorized to use function"));
  }
}

TEST_CASE("query: a damaged database is told as one also after a query that took much memory", "[catalog]") {
  const Folder folder;
  const std::string file = folder.file("", "models.sqlite");
  {
    const Catalog made(file, "");
  }
  std::int64_t bytes = 0;
  query(ModelFile(file), "SELECT length(hex(randomblob(10000000)))", {},
        {[](const auto&) {}, [&](const std::vector<QueryValue>& row) { bytes = row.at(0).integer; }});
  CHECK(bytes == 20'000'000);
  const ModelFile damaged(FXTRACE_SOURCE_DIR "/tests/fuzz/regressions/database/schema_with_half_a_text");
  CHECK_THROWS_WITH(query(damaged, "SELECT 1 FROM models", {}, {[](const auto&) {}, [](const auto&) {}}),
                    ContainsSubstring("malformed"));
}

}  // namespace
}  // namespace fxtrace::internal::catalog
