// Writes one graph of a collection as a Python class, in the form that fx_writer.h describes; and holds the
// data that the classes of a file share.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "writers/formats/python_text.h"

namespace fxtrace::internal {

// The data that the classes of a file share.
struct FxFile {
  explicit FxFile(const GraphCollection& collection);  // `collection` must live as long

  const GraphCollection::Model& model;
  std::unordered_map<std::string_view, const ModuleRecord*> modules;  // by path
  bool skips_hooks = false;                                           // calls of modules run no hooks

  // Computed before the classes are written:
  PythonNames names;                                       // names of the whole file
  std::unordered_map<std::string, std::string> functions;  // the Python text of each function, by target
  // Functions that the file cannot name, by target, with the name of the function that raises in their place.
  std::vector<std::pair<std::string, std::string>> missing;
  // Functions of the model's own, by qualified name, with the parameter of __init__ that provides each.
  std::map<std::string, std::string> model_functions;

  // Classes of named tuples, by type and fields, with the name of each.
  std::map<std::pair<std::string, std::vector<std::string>>, std::string> named_tuples;

  // Collected while classes are written: Python modules, and helpers that the file defines.
  std::set<std::string> imports{"torch"};
  std::set<std::string, std::less<>> helpers;
};

// Returns the text of fx_helpers.py.
std::string_view fx_helpers_text();

// Returns the source of the class.
std::string write_fx_class(const std::string& name, const ModuleGraph& graph, FxFile& file);

}  // namespace fxtrace::internal
