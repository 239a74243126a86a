// The places of a torch.export program whose texts torch evaluates, executes, writes into Python source,
// imports or looks up, and the texts that do nothing there.
//
// torch takes the JSON of a program as its own: it gives texts to sympy, to exec() and to getattr(), and does
// not check that a number is a number.  This is the one list of these places.  `check --security` and
// `check --program` report what is not inert; `convert` holds to the list the programs that it writes and
// those that it copies.  The list was found by reading torch/_export/serde,
// torch/export/_unlift.py, torch/export/unflatten.py, torch/export/pt2_archive, torch/fx/graph.py and
// torch/utils/_pytree.py of PyTorch 2.6 to 2.15, and by planting texts that run in every text of programs.
//
// Example: the value of a text input, "as_string": "it's".
//
//     _unlift.py makes the guard       L['mode'] == 'it's'
//     and the source that is executed  torch._assert(args[1] == 'it's', "Guard failed: mode == ...")
//
// so a text with a quote ends the literal, and what follows runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/json_document.h"

namespace fxtrace::internal {

// The texts, or values, that are inert in a place.
enum class InertText : std::uint8_t {
  kSize,        // an expression of sizes (evaluated_text.h)
  kGuard,       // a guard
  kArguments,   // the structure of (args, kwargs)
  kResult,      // the structure of a result
  kTarget,      // the name of an operator, or of a function that programs call
  kIdentifier,  // a name in Python, or nothing
  kPlain,       // without quotes, backslashes and control characters
  kModules,  // "key,path,type;...", whose paths are without double quotes, backslashes and control characters
  kFunctions,  // "name,function;...", whose functions are names with dots
  kComment,    // without three double quotes
  kRecord,     // the name of a record in the same folder
  kSymbol,     // a symbol of sizes, with a number of at most six digits if torch counts by it
  kInteger,    // an integer
  kBoolean,    // true or false
  kReal,       // a number, or "NaN", "Infinity" or "-Infinity"
};

struct TextPlace {
  std::string_view within;  // a field around it; empty for any
  std::string_view field;   // its field; of an item of a list, that of the list
  bool is_key = false;      // the names of the fields of that object, not its value
  InertText inert = InertText::kPlain;
  std::string_view use;  // what torch does with it
};
std::span<const TextPlace> text_places();

// A text that is not inert.
struct TextFault {
  enum class Kind : std::uint8_t {
    kRuns,     // it can be made to run code
    kCosts,    // it can be made to take time or memory without measure
    kLeads,    // it leads out of its folder
    kUnclear,  // readers may take something else
  };
  Kind kind = Kind::kRuns;
  std::string place;         // "graph_module.graph.nodes[3].inputs[0].name"
  std::string text;          // as it stands in the file
  std::string node, module;  // the node that has it, and the path of its module; empty if there is none
  std::string why;           // with the text shown safely
};
using TellTextFault = std::function<void(const TextFault&)>;

// Checks the JSON of a program, or of the configuration of its weights or constants.  Throws Error(kInput)
// for what is not JSON.
void check_texts(const JsonValue& json, const TellTextFault& tell);

// Checks a target alone: "torch.ops.aten.add.Tensor", "_operator.mul", "math.floor", "torch.sym_max". Returns
// why it is refused.
std::optional<std::string> problem_of_target_text(std::string_view target);

// Checks the pickle of a program's example inputs, whose keys torch writes into guards by their repr(), which
// escapes all but quotes.  Returns why it is refused.
std::optional<std::string> problem_of_example_inputs(std::string_view pickle);

}  // namespace fxtrace::internal
