// Option table: declares each trace option once.  The command line, configuration files, the `options` of a
// collection, and the tests of the schema and of docs/reference/options.md all read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/json_document.h"
#include "support/json_emitter.h"
#include "trace/options/config.h"

namespace fxtrace {

// Headings of --help, in order; OptionRow::group is an index.
inline constexpr const char* kOptionGroups[] = {
    "Scope of the trace",
    "Shapes",
    "Leaves (kept as a single call)",
    "Custom operators",
    "Limits (a module that exceeds one fails)",
    "Graph passes (run on the traced graphs, in the order given)"};
enum OptionGroup : std::uint8_t { kWhatIsTraced, kShapes, kLeaves, kOperators, kLimits, kPasses };

// The command line or file that options are read from.
struct OptionSource {
  std::filesystem::path folder;  // searched first for libraries with relative names
  std::function<std::string(const std::string& file)> read_file = {};  // reads @FILE; command line only
  std::size_t inputs_by_position = 0;                                  // number so far; command line only
};

// The kind of value that an option takes, and its effect.
struct OptionValue {
  enum class Kind {
    kFlag,        // no value on the command line; true or false in a file
    kInteger,     // an integer of at least `least`
    kChoice,      // one of `choices`
    kText,        // a text; the last one counts, as for the kinds above
    kRepeatable,  // a text; all count, in the order given
    kConfigFile,  // the configuration file; the caller reads it before all other options
  };
  Kind kind = Kind::kText;
  // Applies the text from the command line, already checked against `least` or `choices`; empty for a flag.
  std::function<void(Config&, const std::string&, OptionSource&)> from_text = {};
  std::function<void(Config&, const JsonValue&, const OptionSource&)> from_json = {};
  // Writes a field of that name unless the option has its default.
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
  // The key of the row to whose list this option appends, if not its own: values of both keep their order on
  // a command line, and options_json() writes them under that key.
  const char* adds_to = nullptr;
};

// Returns the rows in the order in which a configuration is read and written; an exception follows the option
// that it restricts.
const std::vector<OptionRow>& option_table();

}  // namespace fxtrace
