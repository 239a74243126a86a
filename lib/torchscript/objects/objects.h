// Reads the objects of a TorchScript archive, from data.pkl and constants.pkl, without their weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "archive/zip_archive.h"
#include "torchscript/language/function_schema.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

class ScriptProgram;

struct ObjectSource {
  const ZipArchive& zip;
  std::string prefix;                // folder of all records with a trailing slash, or empty
  std::uint64_t format_version = 0;  // version of the archive's format
  ResolveClass resolve;              // classes and enums, with their attributes and methods
};

// Returns the content of NAME.pkl: modules, script objects and plain values.  Tensors have their true dtypes,
// sizes and strides over storages that are records under NAME/; none reaches beyond its record.  No model
// code runs: an object whose class has __setstate__, or is a C++ class, has empty slots and keeps its state
// (ObjectValue::state).  Throws Error(kInput).
Value read_objects(const ObjectSource& source, const std::string& name);

// Declares the content of constants.pkl to the program: mostly tensors, but also non-ASCII strings and
// objects.
void set_constants(ScriptProgram& program, const std::vector<Value>& constants);

}  // namespace fxtrace::internal::torchscript
