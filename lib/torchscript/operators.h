// Operators that an archive calls and LibTorch does not know: registered from a library, or only declared.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/code_edits.h"
#include "torchscript/declarations.h"
#include "trace/options.h"

namespace fxtrace {

using CodeFiles = std::vector<std::pair<std::string, std::string>>;  // record, text

// The code of an archive, and the types of its constants (CONSTANTS.c0, ...) as a schema has them: "Tensor",
// a class's qualified name, or empty.
struct ArchiveCode {
  CodeFiles files;
  std::vector<std::string> constant_types;
};

// Loads the libraries of the options, which register operators for good.  Throws Error(kUsage).
void load_operator_libraries(const TraceOptions& options);

// Makes every operator and every method of a declared class known that `code` calls: in `declarations`.
// load_operator_libraries() comes first. Functions that call one whose results cannot be told are taken out
// by `edits`: in their place stands kNotFollowed.  Gives back warnings.  Throws Error that says which library
// or schema is wrong.
std::vector<std::string> provide_operators(const ArchiveCode& code, const TraceOptions& options,
                                           CodeEdits& edits, Declarations& declarations);

// fxtrace::not_followed(str op, str why) -> ()
inline constexpr const char* kNotFollowed = "fxtrace::not_followed";

// A function that calls an unknown operator.
struct Caller {
  std::string record;              // its code file
  std::size_t begin = 0, end = 0;  // of its body
  std::string indentation;         // of the body
  std::string result;              // the annotation of what it gives; empty when there is none
  std::size_t call = 0;            // position of the call
};

// Schemas that the calls in `code` make plain, for operators without one and for methods of declared classes.
struct InferredSchema {
  std::string name;        // "pkg::op", or a method's qualified name
  std::string class_name;  // of a method
  std::string schema;      // complete, or with "?" where a result's type is not plain
  bool complete = false;
  std::vector<Caller> callers;
};
std::vector<InferredSchema> infer_schemas(const ArchiveCode& code, const std::vector<std::string>& names);

}  // namespace fxtrace
