// Option table: declares each trace option once.  The command line, configuration files, the `options` of a
// collection, the options that hints try, the Python package, schemas/config.schema.json and
// docs/reference/options.md all follow from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/graph_collection.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "torchscript/language/function_schema.h"
#include "trace/options/options.h"

namespace fxtrace::internal {

// Headings of --help, in order; OptionRow::group is an index.
inline constexpr const char* kOptionGroups[] = {
    "Scope of the trace",
    "Shapes",
    "Leaves (kept as a single call)",
    "Custom operators",
    "Limits (a module that exceeds one fails)",
    "Graph passes (run on the traced graphs, in the order given)"};
enum OptionGroup : std::uint8_t { kWhatIsTraced, kShapes, kLeaves, kOperators, kLimits, kPasses };

// The form of an option's value on the command line and in a file.
enum class OptionKind {
  kFlag,        // no value on the command line; true or false in a file
  kInteger,     // an integer of at least OptionRow::least
  kChoice,      // one of OptionRow::choices
  kText,        // a text; the last one counts, as for the kinds above
  kNames,       // "A,B"; in a file a list
  kRepeatable,  // a text; all count, in the order given; in a file a list
  kLibraries,   // likewise, of libraries, which are searched for
  kRule,        // likewise, of rules, which are added to those of kRules
  kByName,      // NAME=TEXT, repeatable; in a file an object
  kJsonByName,  // NAME=JSON, likewise
  kRules,       // rules of any form; in a file only
  kConfigFile,  // the configuration file; the caller reads it before all other options
};

// The member that an option sets.
using OptionMember =
    std::variant<std::monostate, bool TraceOptions::*, bool Config::*, std::int64_t Limits::*,
                 std::optional<std::int64_t> TraceOptions::*, Hooks TraceOptions::*, Defaults TraceOptions::*,
                 ControlFlow TraceOptions::*, std::string TraceOptions::*,
                 std::optional<std::string> TraceOptions::*,
                 std::optional<std::vector<std::string>> TraceOptions::*,
                 std::vector<std::string> TraceOptions::*, std::vector<std::string> Config::*,
                 std::vector<LeafRule> TraceOptions::*, std::vector<WrapRule> TraceOptions::*,
                 std::vector<ConcreteArg> TraceOptions::*, std::vector<InputSpec> TraceOptions::*,
                 std::vector<DimensionRange> TraceOptions::*, std::vector<CustomCost> TraceOptions::*>;

struct OptionRow {
  // `text` is the name and the type as --help shows them, "--max-depth N", the two names of a flag, "--flat,
  // --no-default-leaves", or the key of an option that is in files only.
  OptionRow(std::string_view text, OptionGroup in, std::string_view without, OptionKind form,
            OptionMember place, std::string about, const char* of = "", Limit most = Limit::kOther,
            void (*its_check)(const std::string&) = nullptr);

  std::string key;         // in a configuration, "max_depth"; empty: on the command line only
  std::string name;        // on the command line, "--max-depth"; empty: in a configuration only
  std::string other_name;  // of a flag with two: the one that its key is made from
  std::string type;        // empty: a flag
  OptionGroup group;
  std::string_view not_for;  // the commands that do not take it: "convert partition"
  OptionKind kind;
  OptionMember member;
  std::string help;
  const char* items;                       // what its object in a file has
  Limit limit;                             // the limit that it sets
  void (*check)(const std::string& text);  // throws Error(kUsage) for a wrong text; or null
  std::int64_t least;
  std::vector<std::string> choices;  // the words for the enumerators, in their order
  bool given;                        // what a flag, or a rule of the command line, sets

  // Whether all values count, in the order given, and not the last one.
  bool is_repeatable() const { return kind >= OptionKind::kRepeatable && kind <= OptionKind::kJsonByName; }
};

// Returns the rows in the order in which a configuration is read and written; an exception follows the option
// that it restricts.
const std::vector<OptionRow>& option_table();

// The command line or file that options are read from.
struct OptionSource {
  std::filesystem::path folder = {};  // searched first for libraries with relative names
  std::function<std::string(const std::string& file)> read_file = {};  // reads @FILE; command line only
  std::size_t inputs_by_position = 0;                                  // number so far; command line only
};

// Sets the option to a text of the command line, already checked against `least` or `choices`; of a flag it
// is empty, "true" or "false".  Throws Error(kUsage).
void set_option(const OptionRow& row, const std::string& text, OptionSource& source, Config& config);
// Does the same for a name of the command line: "--leaf".
void set_option(std::string_view name, const std::string& text, Config& config);
// Sets the option to a value of a file.  Throws the Error of JsonValue::fail().
void read_option(const OptionRow& row, const JsonValue& value, OptionSource& source, Config& config);
// Writes a field of the row's key unless the option has its default.
void write_option(const OptionRow& row, const Config& config, JsonEmitter& json);
// Parses a schema of --op-schema.  Throws Error(kUsage).
torchscript::FunctionSchema parse_op_schema(const std::string& schema,
                                            const torchscript::ResolveClass& resolve);
// Returns the message of a failure with the option that sets its limit: "more than 9 nodes (--max-nodes)".
std::string naming_option(const std::string& message, Limit limit);
// Returns the values as texts of the command line.
std::vector<std::string> texts_of(const OptionRow& row, const Config& config);

}  // namespace fxtrace::internal
