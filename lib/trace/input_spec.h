// What is known of an input before a trace: the SPEC of --input NAME=SPEC.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"
#include "trace/options.h"

namespace fxtrace {

struct ParsedInputSpec {
  // Of a tensor: "float32[1,batch,224]", "int64[]", "float16[n]@cuda:0".
  std::optional<std::string> dtype;  // absent for an integer
  std::vector<SymInt> shape;
  std::optional<std::string> device;  // absent for the CPU
  // Of an integer: a dimension or an expression, "seq".
  SymInt value;
};

// Throws Error(kUsage) that says what is wrong with the text and shows a right one.
ParsedInputSpec parse_input_spec(const InputSpec& spec);
// In its one normal form: "float32[batch*2,3]@cuda:0".
std::string to_string(const ParsedInputSpec& spec);

// NAME and SPEC of an input, in normal form.  Throws Error(kUsage) as parse_input_spec, and for what is no
// name.
InputSpec make_input_spec(std::string_view name, std::string_view text);
// NAME=SPEC, or SPEC alone: that is the input at `position`.  Throws likewise.
InputSpec read_input_spec(std::string_view text, std::size_t position = 0);
// NAME and LO..HI with LO or HI left out, or N.  Throws Error(kUsage).
DimensionRange make_dimension_range(std::string_view name, std::string_view text);
DimensionRange read_dimension_range(std::string_view text);  // NAME=LO..HI

// "1..64", "1..", "..64", "8".
std::string range_text(const DimensionRange& range);

// The dimensions that the specs name, in their order.  Throws as parse_input_spec.
std::vector<std::string> named_dimensions(const std::vector<InputSpec>& specs);
// Throws Error(kUsage) for a range of a dimension that is not among `known`; lists them.
void check_dimensions(const std::vector<DimensionRange>& ranges, const std::vector<std::string>& known);

// The ranges that were asked for; 0.. where one is open.  Throws Error(kUsage) for two that have nothing in
// common.
ShapeEnv make_dimensions(const TraceOptions& options);

}  // namespace fxtrace
