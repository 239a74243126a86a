// Writes the options of all commands as JSON, from which scripts/reference writes what is generated in the
// source.
#include <string>
#include <vector>

#include "app/documents/documents.h"
#include "support/json_emitter.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal::cli {
namespace {

// By OptionKind.
constexpr const char* kKinds[] = {"flag",      "integer", "choice",  "text",         "names", "repeatable",
                                  "libraries", "rule",    "by_name", "json_by_name", "rules", "config_file"};

void write_options(const std::string& title, const std::vector<OptionText>& options, JsonEmitter& json) {
  json.key(title).objects(options, [&](const OptionText& option) {
    json.field("names", option.names);
    json.field("value", option.value);
    json.field("help", option.help);
    json.field("is_repeatable", option.is_repeatable);
  });
}

}  // namespace

void write_options_json(const CommandText& program, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    json.key("commands").objects(program.commands, [&](const CommandText& command) {
      json.field("name", command.name);
      json.field("help", command.help);
      json.field("usage", command.usage());
      json.key("groups").object([&] {
        write_options("argument", command.arguments, json);
        for (const OptionGroupText& group : command.groups) write_options(group.title, group.options, json);
      });
    });
    json.key("trace").objects(option_table(), [&](const OptionRow& row) {
      json.field("key", row.key);
      json.field("name", row.name);
      json.field("kind", kKinds[static_cast<std::size_t>(row.kind)]);
      json.field("help", row.help);
      json.field("least", row.least);
      json.field("choices", row.choices);
      json.field("given", row.given);
      json.field("not_for", row.not_for);
    });
  });
}

}  // namespace fxtrace::internal::cli
