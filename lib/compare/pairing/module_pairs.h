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
  std::size_t find_module(std::string_view path) const;
  const ModuleRecord& operator[](std::size_t module) const { return modules[module]; }
  std::string_view last_name(std::size_t module) const;  // of its path

  const std::vector<ModuleRecord>& modules;
  std::unordered_map<std::string_view, std::size_t> by_path;  // of several with one path the first
  std::vector<std::size_t> parents;                           // by module; kNone of those without
  std::vector<std::vector<std::size_t>> children;
  std::vector<std::size_t> by_length;  // all that by_path has, outer ones first
};

// The modules of one of two collections, and which of the other's belong to them.
class PairedModules : public ModuleTree {
 public:
  explicit PairedModules(const GraphCollection& collection);

  // Its place in the other; kNone where nothing belongs to it.
  std::size_t partner(std::size_t module) const { return partners_[module]; }
  bool has_partner(std::size_t module) const { return partners_[module] != kNone; }
  // Whether the module is on one side only, around one that belongs to something; what this is.
  bool is_wrapper(std::size_t module) const { return wrapped_[module] != kNone; }
  std::size_t wrapped(std::size_t module) const { return wrapped_[module]; }
  // The outermost wrapper of a module; kNone of others.
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
  // The one module close below `around` that is what `module` of the other tree was; kNone where there is
  // none, or several.
  std::size_t find_wrapped(std::size_t around, const PairedModules& other, std::size_t module) const;
  // All from `wrapper` down to what is around the module.
  void set_wrapped(std::size_t wrapper, std::size_t module);

  std::vector<std::size_t> partners_;
  std::vector<std::size_t> wrapped_;  // by module, of a wrapper what is in it; kNone of others
  std::vector<Structure> structures_;
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

  const PairedModules& before() const { return before_; }
  const PairedModules& after() const { return after_; }
  const PairedModules& side(bool is_after) const { return is_after ? after_ : before_; }

  // A path of the second collection as the first has it; itself where nothing belongs to it.  Of a wrapper
  // that of what is in it.
  std::string_view path_before(std::string_view path_after) const;
  // Likewise the name of a parameter of the second collection, by its module; of a wrapper's one that the
  // first does not have.
  std::string parameter_before(const std::string& name_after) const;

 private:
  void join_paths();
  bool join_wrapped(std::size_t before, std::size_t after);
  void join(std::size_t before, std::size_t after);
  void join_with_children(std::size_t before, std::size_t after);
  bool join_equal(bool is_outermost);  // whether there were any
  void join_renamed();

  PairedModules before_, after_;
};

}  // namespace fxtrace
