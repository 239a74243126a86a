// `fxtrace query`: runs one SQL statement on a database that fxtrace catalog wrote, and writes the rows.
#include "app/commands/commands.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/output/files.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "catalog/untrusted_database.h"
#include "support/json_emitter.h"
#include "support/text/numbers.h"
#include "writers/formats/csv_text.h"
#include "writers/formats/document.h"
#include "writers/formats/field_writer.h"

namespace fxtrace::internal::cli {
namespace {

using catalog::QueryRows;
using catalog::QueryValue;
using Type = QueryValue::Type;
// Runs the statement, and passes columns and rows to the writer of a format.
using Ask = std::function<void(const QueryRows& rows)>;

std::string cell_text(const QueryValue& value) {
  if (value.type == Type::kInteger) return std::to_string(value.integer);
  return value.type == Type::kReal ? shortest_text(value.real) : value.text;
}

// A table whose columns are as wide as its first rows need; mostly these are all rows.
class QueryTable {
 public:
  explicit QueryTable(std::ostream& out) : out_(out) { held_.is_ragged = true; }

  void begin(const std::vector<std::string>& columns) {
    for (const std::string& name : columns) held_.columns.push_back({name, true});
  }
  void add(const std::vector<QueryValue>& values) {
    TableRow& row = held_.rows.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_text = values[i].type == Type::kText || values[i].type == Type::kBlob;
      if (is_text && !is_begun_) held_.columns[i].right = false;
      std::string text = cell_text(values[i]);
      held_bytes_ += sizeof(std::string) + text.size();
      row.emplace_back(std::move(text));
    }
    if (held_bytes_ > kMostHeld) write_held();
  }
  void end() {
    if (!is_begun_ && held_.rows.empty()) {  // only column names
      for (TableColumn& column : held_.columns) column.right = false;
    }
    write_held();
  }

 private:
  static constexpr std::size_t kMostHeld = std::size_t{16} << 20;

  void write_held() {
    if (is_begun_) {
      held_.write_rows(out_);
    } else {
      held_.fit();
      held_.write(out_);
    }
    is_begun_ = true;
    held_.rows.clear();
    held_bytes_ = 0;
  }

  std::ostream& out_;
  TextTable held_;  // rows that are not written yet
  std::size_t held_bytes_ = 0;
  bool is_begun_ = false;
};

void write_columns(const Ask& ask, std::ostream& out) {
  QueryTable table(out);
  ask({[&](const std::vector<std::string>& columns) { table.begin(columns); },
       [&](const std::vector<QueryValue>& row) { table.add(row); }});
  table.end();
}

// Makes the names unique, as keys of a JSON object must be.
std::vector<std::string> unique_names(std::vector<std::string> names) {
  std::map<std::string, int> seen;
  for (std::string& name : names) {
    const std::string first = name;
    while (seen.contains(name)) name = first + "_" + std::to_string(++seen[first]);
    seen.emplace(name, 1);
  }
  return names;
}

void write_value(JsonEmitter& json, const QueryValue& value) {
  if (value.type == Type::kNull) return json.null();
  if (value.type == Type::kInteger) return json.integer(value.integer);
  if (value.type == Type::kReal) return json.real(value.real);
  json.string(value.text);
}

void write_objects(const Ask& ask, std::ostream& out) {
  std::vector<std::string> names;
  JsonEmitter json(out);
  json.document([&] {
    write_format(json, "fxtrace.query", 1);
    ask({[&](const std::vector<std::string>& columns) {
           names = unique_names(columns);
           json.field("columns", names);
           json.key("rows").open_lines('[');
         },
         [&](const std::vector<QueryValue>& row) {
           json.item();
           json.object([&] {
             for (std::size_t i = 0; i < row.size(); ++i) write_value(json.key(names[i]), row[i]);
           });
         }});
    json.close(']');
  });
}

void write_csv(const Ask& ask, std::ostream& out) {
  Csv csv(out);
  ask({[&](const std::vector<std::string>& columns) {
         for (const std::string& name : columns) csv.cell(name);
         csv.end_row();
       },
       [&](const std::vector<QueryValue>& row) {
         for (const QueryValue& value : row) {
           if (value.type == Type::kInteger) {
             csv.cell(value.integer);
           } else if (value.type == Type::kReal) {
             csv.cell(value.real);
           } else {
             csv.cell(value.text);
           }
         }
         csv.end_row();
       }});
}

constexpr AnswerRow<Ask> kQueryFormats[] = {
    {{".txt"}, write_plain<write_columns>},
    {{".json", "--json", "write JSON (schemas/query.schema.json)"}, write_plain<write_objects>},
    {{".csv", "--csv", "write CSV (RFC 4180) with a row of column names"}, write_plain<write_csv>}};

struct QueryArguments {
  std::string file, sql;
  AnswerFormats<Ask> answer{kQueryFormats};
  IsolationArguments isolation;
};

int run_query(const QueryArguments& arguments, Console& console) {
  const auto& format = arguments.answer.row();
  const InputFile input(arguments.file, console, arguments.isolation.seconds());
  Output output(arguments.answer.output(), input, console);
  output.allow_any_size();
  catalog::hold_for_reading(input.file());
  const catalog::QueryLimits limits{arguments.isolation.memory(), arguments.isolation.seconds()};
  const Ask ask = [&](const QueryRows& rows) {
    try {
      catalog::query(input.file(), arguments.sql, limits, rows);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      throw Error(error).at(input.display());
    }
  };
  TraceOptions no_options;
  return run_isolated(arguments.isolation, input, output, console, no_options, [&](Isolated&) {
    output.write([&](std::ostream& out) { format.write(ask, out, {}); });
    return kDone;
  });
}

}  // namespace

Command make_query_command(CLI::App& app) {
  auto arguments = std::make_shared<QueryArguments>();
  app.description(
      app.get_description() +
      " FILE is a database of fxtrace catalog, or another SQLite database; it is only read, and in the "
      "sandbox. docs/how-to/catalog.md describes the tables, with example queries.");
  app.footer(
      "  fxtrace query models.sqlite 'SELECT path, nodes, macs FROM models ORDER BY macs DESC LIMIT 10'\n"
      "  fxtrace query models.sqlite \"SELECT DISTINCT path FROM operators JOIN models ON id = model WHERE target LIKE "
      "'aten.grid_sampler%'\" --json\n");
  app.add_option("FILE", arguments->file, "the database")->required();
  app.add_option("SQL", arguments->sql, "one SQL statement that only reads")->required();
  arguments->answer.add_to(app);
  arguments->isolation.add_to(app);
  return [arguments](Console& console) { return run_query(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
