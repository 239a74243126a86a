// The data of `fxtrace why`: reasons for failed modules and options that would help, the fate of a module,
// and the origin of a dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_collection.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {

// --- failures ---

// Modules that failed for the same cause in equal blocks: "h.0.attn", "h.1.attn", ...
struct FailureGroup {
  std::vector<std::string> paths;  // in the order of the model
  std::string type;
  Failure failure;        // of the first module
  std::size_t depth = 0;  // number of failed modules around it
};

// Returns the modules that failed, as a tree in pre-order; failures with one cause in equal blocks are one
// group.
std::vector<FailureGroup> fold_failures(const GraphCollection& collection);

// Consecutive members of a list of paths that differ in numbers only: "h.0.attn" to "h.11.attn".
struct PathRange {
  std::string first, last;  // equal for a single path
  std::size_t count = 1;
};
std::vector<PathRange> fold_paths(const std::vector<std::string>& paths);

// --- options that would help ---

// Options that were tried, and the modules that failed with them.
struct Trial {
  std::vector<std::string> options;  // as on a command line, quoted for a shell
  std::vector<std::string> failed;   // paths
  std::size_t nodes = 0;             // of all graphs
};

struct Suggestions {
  bool is_tried = false;       // false: the model is too large to try anything
  std::vector<Trial> helpful;  // options that leave fewer failures when used alone, the best first
  std::vector<std::vector<std::string>> others;  // options that leave as many failures when used alone
  // The fewest options found that leave the fewest failures, without modules that become leaves on purpose.
  std::optional<Trial> best;
  // `best`, with the remaining failures made leaves on purpose; absent when `best` leaves none.
  std::optional<Trial> with_leaves;
  // Unknown operators, each with its schema as far as its calls determine it.  No option to try helps them.
  struct UnknownOperator {
    std::string name, schema;
  };
  std::vector<UnknownOperator> operators;
};

// --- the fate of a module ---

// A call of a module in the code of another.
struct CallSite {
  std::string module, method;  // the module and method whose code has the call
  std::string entered;         // the method that is called
  std::optional<SourceLocation> source;
  // The innermost `if` or loop around it; absent when there is none.
  std::optional<SourceLocation> condition;
  bool is_in_loop = false;
  bool is_run = false;  // the trace runs `method`
};

enum class ModuleCause {
  kTraced,
  kRule,        // a leaf because of `rule`
  kLeaf,        // a leaf without a rule
  kFailed,      // failed with `failure`
  kContainer,   // has no forward
  kInLeaf,      // not visited: `decided_by`, a module around it, is a leaf
  kInUncalled,  // not visited: no graph calls `decided_by`, a module around it
  kNotCalled    // not visited: `decided_by` was traced and never called it
};
const char* to_string(ModuleCause cause);  // "not_called"

struct ModuleExplanation {
  std::string path, type;
  std::vector<std::string> alike;    // paths of all modules explained together, itself first; empty for one
  std::optional<std::string> asked;  // the later name under which it was asked for
  ModuleStatus status = ModuleStatus::kUnvisited;
  ModuleCause cause = ModuleCause::kTraced;
  std::vector<std::string> other_names;  // of a shared module
  std::optional<std::string> rule;       // of the module, or of `decided_by`
  std::optional<std::string> origin;     // of the rule: "config.json"; absent: the command line, or built in
  std::optional<Failure> failure;
  std::optional<std::string> decided_by;  // path of the module that is the reason for `cause`
  std::int64_t calls = 0;
  std::vector<std::string> methods;  // methods other than forward that are called
  std::int64_t submodules = 0;       // at any depth
  // The part of the module that is in one graph.
  struct Place {
    std::string graph;  // path of the graph's module
    std::int64_t calls = 0;
    std::int64_t nodes = 0;                // submodules included
    std::string first;                     // name of the first node
    std::optional<SourceLocation> source;  // source of the first node
  };
  std::vector<Place> places;
  std::vector<CallSite> call_sites;  // calls in the code of a module whose forward no graph calls
  std::vector<Guard> guards;         // guards that decided the conditions around these calls
};

// Returns the explanation of each module whose path is among `paths`, in the order of the model.  Takes time
// linear in the collection.
std::vector<ModuleExplanation> explain_modules(const GraphCollection& collection,
                                               const std::vector<std::string>& paths);

// Merges explanations that differ only in the numbers of paths and names.
void fold_alike(std::vector<ModuleExplanation>& explanations);

// Returns the paths that match the pattern, shared modules under their first names.  The pattern is a path,
// also one through a later name of a shared module, or a glob; "" is the root.  `asked` is set to the later
// name.  Throws Error(kUsage), with the nearest path, when nothing matches.
std::vector<std::string> find_modules(const GraphCollection& collection, const std::string& pattern,
                                      std::optional<std::string>& asked);

// --- the origin of a dimension ---

struct DimensionExplanation {
  std::string name;
  Range range;
  // An input that has the dimension: at a place in its shape ("2"; "" for an integer), in an expression.
  struct Origin {
    std::string input, place, expression;
  };
  std::vector<Origin> inputs;
  // A node of a graph.
  struct Place {
    std::string graph, node, target, text;  // text: the condition, or the size
    std::optional<SourceLocation> source;
    std::int64_t count = 1;  // number of nodes with the same text
  };
  std::optional<Place> made_by;  // the node whose data decides it, when no input has it
  std::vector<Place> guards;     // conditions on it; node and target are empty
  std::vector<Place> asserts;    // nodes that check it
  std::vector<Place> derived;    // sizes and integers computed from it, each at its first node
  std::vector<Place> questions;  // failures that mention it; graph is the module that failed
  std::int64_t nodes = 0;        // number of nodes whose values depend on it
  struct Counts {
    std::int64_t nodes = 0, guards = 0, failed = 0;  // nodes and guards of all graphs, failed modules
    bool operator==(const Counts&) const = default;
  };
  // A range that was tried, and the counts of a trace with it.
  struct Narrowed {
    std::string option;  // "--dim s77=2"
    Counts counts;
  };
  std::vector<Narrowed> narrowed;
  Counts all;  // counts without a range; meaningful when `narrowed` is not empty
};

// Explains a dimension of the collection.  `given` is its range, from options or from the program.  Throws
// Error(kUsage), which lists the dimensions, when the name is not among them.
DimensionExplanation explain_dimension(const GraphCollection& collection, const std::string& name,
                                       const Range& given);

// --- guards ---

struct GuardExplanation {
  std::string graph;        // path of the graph's module
  std::int64_t number = 0;  // among the guards of all graphs, from 1
  Guard guard;
};

// Returns the guard with that number, or all guards with that expression, whichever side of a comparison is
// first; when there is none, those that join it with others: "2 <= s0 <= 8" for "s0 <= 8".  Throws
// Error(kUsage), with the nearest expression, when no guard has it.
std::vector<GuardExplanation> find_guards(const GraphCollection& collection, const std::string& asked);

// --- everything together ---

struct Explanation {
  GraphCollection::Model model;
  bool is_saved = false;     // read from a saved collection: nothing was tried
  std::int64_t modules = 0;  // shared ones once
  std::int64_t failed = 0;
  std::vector<FailureGroup> failures;
  std::optional<Suggestions> suggestions;   // when a module that failed is asked about
  std::optional<std::string> asked_module;  // the question, when it is about modules
  std::vector<ModuleExplanation> explained;
  std::vector<GuardExplanation> guards;  // the guards that are asked about
  std::optional<DimensionExplanation> dimension;
};

}  // namespace fxtrace::internal
