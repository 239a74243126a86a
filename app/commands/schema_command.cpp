// `fxtrace schema`: prints one of the JSON schemas that are built into the program.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/output/output.h"
#include "app/schemas.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"

namespace fxtrace::internal::cli {
namespace {

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const JsonSchema& schema : schemas()) names.emplace_back(schema.name);
  return names;
}

int run_schema(const std::string& name, Console& console) {
  const auto found = std::ranges::find(schemas(), name, &JsonSchema::name);
  if (found == schemas().end()) {
    throw usage_error("unknown schema '" + name + "'" + did_you_mean(name, schema_names()),
                      {"the schemas are " + joined(schema_names())});
  }
  write_stdout(console, [&](std::ostream& out) { out << found->text; });
  return kDone;
}

}  // namespace

Command make_schema_command(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.footer(
      "  fxtrace schema graph_collection\n"
      "  fxtrace schema config > config.schema.json\n");
  app.add_option("NAME", *name, joined(schema_names()))->required();
  return [name](Console& console) { return run_schema(*name, console); };
}

}  // namespace fxtrace::internal::cli
