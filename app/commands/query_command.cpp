#include "app/commands/commands.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/answer.h"
#include "app/files.h"
#include "app/output.h"
#include "app/table.h"
#include "catalog/database.h"
#include "support/columns.h"
#include "support/json_emitter.h"
#include "writers/csv_text.h"
#include "writers/json_parts.h"

namespace fxtrace::cli {
namespace {

using Value = catalog::QueryResult::Value;

bool is_number(const Value& value) {
  return value.type == Value::Type::kInteger || value.type == Value::Type::kReal;
}

void write_text(const catalog::QueryResult& result, std::ostream& out) {
  std::vector<TableRow> rows = {result.columns};
  std::vector<bool> right(result.columns.size(), !result.rows.empty());
  for (const auto& values : result.rows) {
    TableRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Value& value = values[i];
      if (value.type != Value::Type::kNull && !is_number(value)) right[i] = false;
      row.push_back(value.type == Value::Type::kInteger ? std::to_string(value.integer)
                    : value.type == Value::Type::kReal  ? shortest_text(value.real)
                                                        : value.text);
    }
  }
  write_table(out, std::move(rows), right);
}

// Each name once, as keys of an object have to be.
std::vector<std::string> unique_names(std::vector<std::string> names) {
  std::map<std::string, int> seen;
  for (std::string& name : names) {
    const std::string first = name;
    while (seen.contains(name)) name = first + "_" + std::to_string(++seen[first]);
    seen.emplace(name, 1);
  }
  return names;
}

void write_json(const catalog::QueryResult& result, std::ostream& out) {
  const std::vector<std::string> names = unique_names(result.columns);
  JsonEmitter json(out);
  json.document([&] {
    write_format(json, "fxtrace.query", 1);
    json.field("columns", names);
    json.key("rows").objects_lines(result.rows, [&](const std::vector<Value>& values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Value& value = values[i];
        json.key(names[i]);
        if (value.type == Value::Type::kNull) {
          json.null();
        } else if (value.type == Value::Type::kInteger) {
          json.integer(value.integer);
        } else if (value.type == Value::Type::kReal) {
          json.real(value.real);
        } else {
          json.string(value.text);
        }
      }
    });
  });
}

void write_csv(const catalog::QueryResult& result, std::ostream& out) {
  Csv csv(out);
  for (const std::string& name : result.columns) csv.cell(name);
  csv.end_row();
  for (const auto& values : result.rows) {
    for (const Value& value : values) {
      if (value.type == Value::Type::kInteger) {
        csv.cell(value.integer);
      } else if (value.type == Value::Type::kReal) {
        csv.cell(value.real);
      } else {
        csv.cell(value.text);
      }
    }
    csv.end_row();
  }
}

constexpr AnswerRow<catalog::QueryResult> kQueryFormats[] = {
    {{".txt"}, write_plain<write_text>},
    {{".json", "--json", "write JSON (schemas/query.schema.json)"}, write_plain<write_json>},
    {{".csv", "--csv", "write CSV (RFC 4180) with a row of column names"}, write_plain<write_csv>}};

struct QueryArguments {
  std::string file, sql;
  AnswerArguments answer{kQueryFormats};
};

int run_query(const QueryArguments& arguments, Console& console) {
  const auto& format = kQueryFormats[arguments.answer.format()];
  const InputFile input(arguments.file, console.in());
  Output output(arguments.answer.output(), input, console);
  const catalog::QueryResult result = catalog::query(arguments.file, arguments.sql);
  output.prepare();
  output.write([&](std::ostream& out) { format.write(result, out, {}); });
  output.commit();
  return kDone;
}

}  // namespace

Command make_query_command(CLI::App& app) {
  auto arguments = std::make_shared<QueryArguments>();
  app.description(
      "Ask a catalog of models a question in SQL, of SQLite's dialect. FILE is what fxtrace catalog made, or another SQLite "
      "database; it is only read. docs/catalog.md describes the tables, and has questions to begin with.");
  app.footer(
      "  fxtrace query models.sqlite 'SELECT path, nodes, macs FROM models ORDER BY macs DESC LIMIT 10'\n"
      "  fxtrace query models.sqlite \"SELECT DISTINCT path FROM operators JOIN models ON id = model WHERE target LIKE "
      "'aten.grid_sampler%'\" --json\n");
  app.add_option("FILE", arguments->file, "the database")->required();
  app.add_option("SQL", arguments->sql, "one statement that reads")->required();
  arguments->answer.add_to(app);
  return [arguments](Console& console) { return run_query(*arguments, console); };
}

}  // namespace fxtrace::cli
