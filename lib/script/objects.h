// The objects of a TorchScript archive: what data.pkl and constants.pkl hold, without their weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "archive/zip_archive.h"
#include "script/function_schema.h"
#include "script/value.h"

namespace fxtrace::script {

class Program;

struct ObjectSource {
  const ZipArchive& zip;
  std::string prefix;                // the folder in which all records stand, with its slash; or empty
  std::uint64_t format_version = 0;  // of the archive
  ResolveClass resolve;              // classes and enums, with their attributes and methods
};

// What NAME.pkl holds: modules, script objects and plain values.  Tensors have their true dtypes, sizes and
// strides over storages that are records under NAME/; none reaches beyond its record.  No model code runs:
// an object whose class has __setstate__, or is one of C++, has empty slots and its state beside them.
// Throws Error(kInput).
Value read_objects(const ObjectSource& source, const std::string& name);

// Tells the program of what constants.pkl holds: tensors mostly, text that is not ASCII, and objects.
void set_constants(Program& program, const std::vector<Value>& constants);

}  // namespace fxtrace::script
