// One graph of a collection as a class of Python, and what the classes of a file have in common.  fx_writer.h
// says what the source is like.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "writers/python_text.h"

namespace fxtrace {

struct FxFile {
  explicit FxFile(const GraphCollection& collection);  // which must live as long

  bool is_torchscript() const { return model.kind == "torchscript"; }

  const GraphCollection::Model& model;
  std::unordered_map<std::string_view, const ModuleRecord*> modules;  // by path
  std::vector<const ModuleRecord*> aliases;

  // Known before the classes are written.
  PythonNames names;                                       // of the whole file
  std::unordered_map<std::string, std::string> functions;  // the text for each target
  // Functions that the file cannot name, by target: the name of what raises in their place.
  std::vector<std::pair<std::string, std::string>> missing;
  // Functions of the model's own, by qualified name: the parameter of __init__ that gives each.
  std::map<std::string, std::string> model_functions;

  // What the classes turn out to need: Python modules, and helpers that the file defines.
  std::set<std::string> imports{"torch"};
  std::set<std::string> helpers;
};

// The lines of the class.
std::string write_fx_class(const std::string& name, const ModuleGraph& graph, FxFile& file);

}  // namespace fxtrace
