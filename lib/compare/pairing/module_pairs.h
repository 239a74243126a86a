// Module pairs: which modules of two collections correspond to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// The modules of one collection as a tree, by their paths.  The collection must outlive it.
struct ModuleTree {
  static constexpr std::size_t kNone = SIZE_MAX;

  explicit ModuleTree(const GraphCollection& collection);

  // Returns the place of the module; kNone if there is none.
  std::size_t find_module(std::string_view path) const;
  const ModuleRecord& operator[](std::size_t module) const { return modules[module]; }
  std::string_view last_name(std::size_t module) const;  // the last part of its path

  const std::vector<ModuleRecord>& modules;
  std::unordered_map<std::string_view, std::size_t> by_path;  // the first of several with one path
  std::vector<std::size_t> parents;                           // by module; kNone for those without
  std::vector<std::vector<std::size_t>> children;
  std::vector<std::size_t> by_length;  // all modules of by_path, outer ones first
};

// The modules of one of two collections, with their partners in the other.
class PairedModules : public ModuleTree {
 public:
  explicit PairedModules(const GraphCollection& collection);

  // Returns the place of its partner in the other collection; kNone if it has none.
  std::size_t partner(std::size_t module) const { return partners_[module]; }
  bool has_partner(std::size_t module) const { return partners_[module] != kNone; }
  // Returns whether the module is a wrapper: it is on one side only, around a module with a partner, which
  // wrapped() returns.
  bool is_wrapper(std::size_t module) const { return wrapped_[module] != kNone; }
  std::size_t wrapped(std::size_t module) const { return wrapped_[module]; }
  // Returns the outermost wrapper of a module; kNone if it is not wrapped.
  std::size_t wrapper_of(std::size_t module) const;

 private:
  friend class ModulePairs;

  struct Structure {
    std::uint64_t hash = 0;
    std::uint64_t loose = 0;  // without sizes and dtypes
    bool has_parameters = false;
  };
  void find_structures(const GraphCollection& collection);
  bool is_left(std::size_t module) const { return !has_partner(module) && !is_wrapper(module); }
  // Returns the one module close below `around` that `module` of the other tree was; kNone if there is none,
  // or several.
  std::size_t find_wrapped(std::size_t around, const PairedModules& other, std::size_t module) const;
  // Marks all modules from `wrapper` down to the parent of the module as wrappers.
  void set_wrapped(std::size_t wrapper, std::size_t module);

  std::vector<std::size_t> partners_;
  std::vector<std::size_t> wrapped_;  // by module: what a wrapper is around; kNone for others
  std::vector<Structure> structures_;
};

// Returns the type without __main__., which TorchScript does not write.
std::string_view qualified_type(std::string_view type);

class ModulePairs {
 public:
  // Pairs modules with the same path; of the others, those of a structure (types, parameters, modules below)
  // that is equally often on both sides, or once in one parent if sizes are left out; and what is below them.
  // If a path has another type on both sides, and one module close below has the type that it had, then that
  // module was wrapped: it is the partner, and the module that has its path now is a wrapper without a
  // partner.  The same holds the other way round.
  ModulePairs(const GraphCollection& before, const GraphCollection& after);

  const PairedModules& before() const { return before_; }
  const PairedModules& after() const { return after_; }
  const PairedModules& side(bool is_after) const { return is_after ? after_ : before_; }

  // Returns the path that a module of the second collection has in the first; the same path if it has no
  // partner, and for a wrapper the path of what it is around.
  std::string_view path_before(std::string_view path_after) const;
  // Returns the same for the name of a parameter, by its module; for a parameter of a wrapper a name that the
  // first collection does not have.
  std::string parameter_before(const std::string& name_after) const;

 private:
  void join_paths();
  bool join_wrapped(std::size_t before, std::size_t after);
  void join(std::size_t before, std::size_t after);
  void join_with_children(std::size_t before, std::size_t after);
  bool join_equal(bool is_outermost);  // returns whether it has joined any
  void join_renamed();

  PairedModules before_, after_;
};

// Compared side: one of two collections that are compared, with look-ups by name.

struct ComparedSide {
  // The graphs are those of the collection, or their common_form().  The arguments must outlive this.
  ComparedSide(const GraphCollection& whole, const std::vector<ModuleGraph>& compared,
               const PairedModules& paired);

  bool is_torchscript() const { return collection.model.is_torchscript(); }
  // Returns the first name of a parameter, which stands for all that are tied to it.
  std::string first_name(const std::string& parameter) const;

  const GraphCollection& collection;
  const std::vector<ModuleGraph>& graphs;
  const PairedModules& modules;
  std::unordered_map<std::string_view, std::string_view> ties;  // names of parameters to first names
  std::unordered_set<std::string_view> unused;                  // names of unused parameters
  std::unordered_set<std::string_view> constants;  // names that the collection's graphs have for them
  std::unordered_set<std::string_view> working;    // paths of modules that nodes of `graphs` are in
};

}  // namespace fxtrace::internal
