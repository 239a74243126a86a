// The data of `fxtrace why`: why modules failed and what would help, what became of a module, and where a
// dimension comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_collection.h"
#include "symbolic/shape_env.h"

namespace fxtrace {

// --- what failed ---

// Modules that failed for the same cause in equal blocks: "h.0.attn", "h.1.attn", ...
struct FailureGroup {
  std::vector<std::string> paths;  // in the order of the model
  std::string type;
  Failure failure;        // of the first
  std::size_t depth = 0;  // number of failed modules around it
};

// Returns the modules that failed, as a tree in pre-order, in which equal causes in equal blocks are one.
std::vector<FailureGroup> fold_failures(const GraphCollection& collection);

// Consecutive members of a list of paths that differ in numbers only: "h.0.attn" to "h.11.attn".
struct PathRange {
  std::string first, last;  // the same when there is one
  std::size_t count = 1;
};
std::vector<PathRange> fold_paths(const std::vector<std::string>& paths);

// --- what would help ---

// Options that were tried, and what failed with them.
struct Trial {
  std::vector<std::string> options;  // as on a command line, quoted for a shell
  std::vector<std::string> failed;   // paths
  std::size_t nodes = 0;             // of all graphs
};

struct Suggestions {
  bool is_tried = false;       // false: the model is too large to try anything
  std::vector<Trial> helpful;  // alone they leave fewer failures; those that leave fewest first
  std::vector<std::vector<std::string>> others;  // options that alone leave as many
  // The fewest options found that leave the fewest failures, without modules that become leaves on purpose.
  std::optional<Trial> best;
  // `best`, and what is left as leaves on purpose; absent when `best` leaves nothing.
  std::optional<Trial> with_leaves;
  // Operators that are not known, each with its schema as far as the calls tell it; nothing to try.
  struct UnknownOperator {
    std::string name, schema;
  };
  std::vector<UnknownOperator> operators;
};

// --- what became of a module ---

// A call of a module in the code of another.
struct CallSite {
  std::string module, method;  // whose code it is
  std::string entered;         // the method that it calls
  std::optional<SourceLocation> source;
  // The `if` or loop around it, the innermost; absent when there is none.
  std::optional<SourceLocation> condition;
  bool is_in_loop = false;
  bool is_run = false;  // the method is the one that the trace follows
};

enum class ModuleCause {
  kTraced,
  kRule,        // a leaf, by `rule`
  kLeaf,        // a leaf, by no rule
  kFailed,      // `failure`
  kContainer,   // without a forward
  kInLeaf,      // not visited: `decided_by`, around it, is a leaf
  kInUncalled,  // not visited: no graph calls `decided_by`, around it
  kNotCalled    // not visited: `decided_by` was traced and never called it
};
const char* to_string(ModuleCause cause);  // "not_called"

struct ModuleExplanation {
  std::string path, type;
  std::vector<std::string> alike;    // paths of all that are told together, itself first; empty for one
  std::optional<std::string> asked;  // the later name by which it was asked for
  ModuleStatus status = ModuleStatus::kUnvisited;
  ModuleCause cause = ModuleCause::kTraced;
  std::vector<std::string> other_names;  // of a shared module
  std::optional<std::string> rule;       // of the module, or of `decided_by`
  std::optional<std::string> origin;     // of the rule: "config.json"; absent: the command line, or built in
  std::optional<Failure> failure;
  std::optional<std::string> decided_by;  // path of the module around it because of which it is not visited
  std::int64_t calls = 0;
  std::vector<std::string> methods;  // other methods than forward that are called
  std::int64_t submodules = 0;       // at any depth
  // What of it is in which graph.
  struct Place {
    std::string graph;  // path of the graph's module
    std::int64_t calls = 0;
    std::int64_t nodes = 0;                // submodules included
    std::string first;                     // name of the first of them
    std::optional<SourceLocation> source;  // of that node
  };
  std::vector<Place> places;
  std::vector<CallSite> call_sites;  // in the code, of a module whose forward no graph calls
  std::vector<Guard> guards;         // that decided the conditions around those
};

// Returns the explanation of each module whose path is among `paths`, in the order of the model.  Takes time
// linear in the collection.
std::vector<ModuleExplanation> explain_modules(const GraphCollection& collection,
                                               const std::vector<std::string>& paths);

// Puts together those that differ in numbers of paths and names only.
void fold_alike(std::vector<ModuleExplanation>& explanations);

// Returns the paths that the pattern means, the first names of shared modules: a path, also one through a
// later name of a shared module, or a glob; "" is the root.  `asked` gets the later name.  Throws
// Error(kUsage), with the nearest path, when there is none.
std::vector<std::string> find_modules(const GraphCollection& collection, const std::string& pattern,
                                      std::optional<std::string>& asked);

// --- where a dimension comes from ---

struct DimensionExplanation {
  std::string name;
  Range range;
  // An input that has the dimension: in which place ("2" of its shape, or "" for an integer), and how.
  struct Origin {
    std::string input, place, expression;
  };
  std::vector<Origin> inputs;
  // A node of a graph.
  struct Place {
    std::string graph, node, target, text;  // text: the condition, or the size
    std::optional<SourceLocation> source;
    std::int64_t count = 1;  // nodes of which the same is said
  };
  std::optional<Place> made_by;  // the node whose data decides it, when no input has it
  std::vector<Place> guards;     // conditions on it; node and target are empty
  std::vector<Place> asserts;    // nodes that check it
  std::vector<Place> derived;    // sizes and integers made of it, and where each is first
  std::vector<Place> questions;  // of failures that ask about it; graph is the module that failed
  std::int64_t nodes = 0;        // whose values depend on it
  struct Counts {
    std::int64_t nodes = 0, guards = 0, failed = 0;  // of all graphs; modules
    bool operator==(const Counts&) const = default;
  };
  // A range that was tried, and what there is with it.
  struct Narrowed {
    std::string option;  // "--dim s77=2"
    Counts counts;
  };
  std::vector<Narrowed> narrowed;
  Counts all;  // without; meaningful when `narrowed` is not empty
};

// Returns what the collection tells about the dimension; `given` are the ranges of options, and those known
// of dimensions.  Throws Error(kUsage), with the dimensions that there are, when it is not among them.
DimensionExplanation explain_dimension(const GraphCollection& collection, const std::string& name,
                                       const Range& given);

// --- what a guard is for ---

struct GuardExplanation {
  std::string graph;        // path of the graph's module
  std::int64_t number = 0;  // among the guards of all graphs, from 1
  Guard guard;
};

// Returns the guard with that number, or all with that expression.  Throws Error(kUsage), with the nearest
// ones, when there is none.
std::vector<GuardExplanation> find_guards(const GraphCollection& collection, const std::string& asked);

// --- all of it ---

struct Explanation {
  GraphCollection::Model model;
  bool is_saved = false;     // of a collection: nothing was tried
  std::int64_t modules = 0;  // shared ones once
  std::int64_t failed = 0;
  std::vector<FailureGroup> failures;
  std::optional<Suggestions> suggestions;   // when a module that failed is asked about
  std::optional<std::string> asked_module;  // the question, when it is about modules
  std::vector<ModuleExplanation> explained;
  std::vector<GuardExplanation> guards;  // that are asked about
  std::optional<DimensionExplanation> dimension;
};

}  // namespace fxtrace
