// Which modules of two collections belong together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

// The modules of one collection as a tree, by their paths.  The collection must outlive it.
struct ModuleTree {
  static constexpr std::size_t kNone = SIZE_MAX;

  explicit ModuleTree(const GraphCollection& collection);

  // Null or kNone where there is none.
  std::size_t find(std::string_view path) const;
  const ModuleRecord& operator[](std::size_t module) const { return modules[module]; }

  const std::vector<ModuleRecord>& modules;
  std::unordered_map<std::string_view, std::size_t> by_path;  // of several with one path the first
  std::vector<std::size_t> parents;                           // by module; kNone of those without
  std::vector<std::vector<std::size_t>> children;
  std::vector<std::size_t> by_length;  // all that by_path has, outer ones first
};

// The type without __main__., which TorchScript does not write.
std::string_view qualified_type(std::string_view type);

class ModulePairs {
 public:
  // Those with the same path; of the others those of which one structure (types, parameters, modules below)
  // stands as often on both sides, or once in one parent when sizes are left out; and what is below these.
  // Where a path has another type on both sides, and only one module close below has the type that it had,
  // this one belongs there: it was wrapped, and what has its path now is the wrapper, which belongs to
  // nothing. The same the other way round.
  ModulePairs(const GraphCollection& before, const GraphCollection& after);

  const ModuleTree& before() const { return before_; }
  const ModuleTree& after() const { return after_; }
  // By module of one side its place in the other; ModuleTree::kNone where nothing belongs to it.
  std::size_t in_after(std::size_t module) const { return in_after_[module]; }
  std::size_t in_before(std::size_t module) const { return in_before_[module]; }

  // Whether the module is on one side only, around one that belongs to something.
  bool is_wrapper_before(std::size_t module) const { return is_wrapper(wrapped_before_, module); }
  bool is_wrapper_after(std::size_t module) const { return is_wrapper(wrapped_after_, module); }

  // The outermost wrapper of a module; ModuleTree::kNone of others.
  std::size_t wrapper_of_before(std::size_t module) const {
    return outermost_wrapper(before_, wrapped_before_, module);
  }
  std::size_t wrapper_of_after(std::size_t module) const {
    return outermost_wrapper(after_, wrapped_after_, module);
  }

  // A path of the second collection as the first has it, and the other way round; itself where nothing
  // belongs to it.  Of a wrapper that of what is in it.
  std::string_view path_before(std::string_view path_after) const;
  std::string_view path_after(std::string_view path_before) const;
  // Likewise the name of a parameter of the second collection, by its module; of a wrapper's one that the
  // first does not have.
  std::string parameter_before(const std::string& name_after) const;

 private:
  void join_paths();
  bool join_wrapped(std::size_t before, std::size_t after);
  void join(std::size_t before, std::size_t after);
  bool join_equal(bool is_outermost);  // whether there were any
  void join_renamed();

  ModuleTree before_, after_;
  std::vector<std::size_t> in_after_, in_before_;
  // By module, of a wrapper what is in it; kNone of others.
  using Wrapped = std::vector<std::size_t>;
  static bool is_wrapper(const Wrapped& wrapped, std::size_t module) {
    return wrapped[module] != ModuleTree::kNone;
  }
  static std::size_t outermost_wrapper(const ModuleTree& tree, const Wrapped& wrapped, std::size_t module);
  Wrapped wrapped_before_, wrapped_after_;
  struct Structure {
    std::uint64_t hash = 0;
    std::uint64_t loose = 0;  // without sizes and dtypes
    bool has_parameters = false;
  };
  static std::vector<Structure> find_structures(const ModuleTree& tree, const GraphCollection& collection);
  // The one module close below `around` that is what `module` of the other tree was; kNone where there is
  // none, or several.
  static std::size_t find_wrapped(const ModuleTree& around_tree,
                                  const std::vector<Structure>& around_structures, std::size_t around,
                                  const ModuleTree& tree, const std::vector<Structure>& structures,
                                  std::size_t module);
  std::vector<Structure> structures_before_, structures_after_;
};

}  // namespace fxtrace
