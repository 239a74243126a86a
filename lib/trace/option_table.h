// The options of a trace, each declared once: the command line, configuration files, the `options` of a
// collection, and the tests of the schema and of docs/options.md all read this table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/json_document.h"
#include "support/json_emitter.h"
#include "trace/config.h"

namespace fxtrace {

// Headings of --help, in its order, and what stands for them in a row.
inline constexpr const char* kOptionGroups[] = {
    "What is traced",
    "Shapes",
    "Leaves (kept as a single call)",
    "Custom operators",
    "Limits (a module that exceeds one fails)",
    "Graph passes (run on the traced graphs, in the order given)"};
enum OptionGroup : std::uint8_t { kWhatIsTraced, kShapes, kLeaves, kOperators, kLimits, kPasses };

// One command line, or one file.
struct OptionSource {
  std::filesystem::path folder;  // where relative names of libraries are looked for first
  std::function<std::string(const std::string& file)> read_file = {};  // a command line's: for @FILE
  std::size_t inputs_by_position = 0;                                  // a command line's, so far
};

// What may be said for an option, and what it does.
struct OptionValue {
  enum class Kind {
    kFlag,        // on the command line without a value, in a file true or false
    kInteger,     // of at least `least`
    kChoice,      // one of `choices`
    kText,        // the last one counts, as of those above
    kRepeatable,  // all count, in the order given
    kConfigFile,  // the file that has the others; for the caller to read, before everything else
  };
  Kind kind = Kind::kText;
  // A text of the command line, which `least` or `choices` allow.  That of a flag is empty.
  std::function<void(Config&, const std::string&, OptionSource&)> from_text = {};
  std::function<void(Config&, const JsonValue&, const OptionSource&)> from_json = {};
  // Writes a field of that name, unless there is nothing to say: the option has its default.
  std::function<void(const Config&, const char* name, JsonEmitter&)> to_json = {};
  std::int64_t least = 0;
  std::vector<std::string> choices = {};
};

struct OptionRow {
  const char* key;   // in a configuration; null: on the command line only
  const char* name;  // on the command line; null: in a configuration only, and so are type and help
  const char* type;  // null: a flag
  OptionGroup group;
  std::string help;
  OptionValue value;
  // The key of the row whose list this one adds to, if it is another's: values of both keep their order on a
  // command line, and options_json() says them there.
  const char* adds_to = nullptr;
};

// In the order in which a configuration is read and written; exceptions come after what they except.
const std::vector<OptionRow>& option_table();

}  // namespace fxtrace
