// Input specs: the dtype, shape and device of an input as --input NAME=SPEC gives them, and ranges of --dim.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"
#include "trace/options/options.h"

namespace fxtrace::internal {

struct ParsedInputSpec {
  // A tensor: "float32[1,batch,224]", "int64[]", "float16[n]@cuda:0".
  std::optional<std::string> dtype;  // absent for an integer
  std::vector<SymInt> shape;
  std::optional<std::string> device;  // absent for the CPU
  // The value of an integer input: a dimension or an expression of dimensions, "seq".
  SymInt value;
};

// Parses a spec.  Throws Error(kUsage) that names the mistake and shows a valid spec.
ParsedInputSpec parse_input_spec(const InputSpec& spec);
// Returns the normal form: "float32[batch*2,3]@cuda:0".
std::string to_string(const ParsedInputSpec& spec);

// Returns the spec in normal form.  Throws Error(kUsage) as parse_input_spec() does, and for an invalid name.
InputSpec make_input_spec(std::string_view name, std::string_view text);
// Reads NAME=SPEC, or SPEC alone for the input at `position`.  Throws as make_input_spec().
InputSpec read_input_spec(std::string_view text, std::size_t position = 0);
// Reads a range: LO..HI, with one bound left out if open, or N.  Throws Error(kUsage).
DimensionRange make_dimension_range(std::string_view name, std::string_view text);
DimensionRange read_dimension_range(std::string_view text);  // NAME=LO..HI

// Returns the range as it is written: "1..64", "1..", "..64", "8".
std::string range_text(const DimensionRange& range);

// Returns the dimensions that the specs name, in order of appearance.  Throws as parse_input_spec().
std::vector<std::string> named_dimensions(const std::vector<InputSpec>& specs);
// Checks that each range is of a known dimension.  Throws Error(kUsage), which lists `known`, if not.
void check_dimensions(const std::vector<DimensionRange>& ranges, const std::vector<std::string>& known);

// Returns the dimensions with the ranges that the options give; an open lower bound is 0.  Throws
// Error(kUsage) for ranges of one dimension that do not intersect.
ShapeEnv make_dimensions(const TraceOptions& options);

}  // namespace fxtrace::internal
