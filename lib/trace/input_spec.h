// What is known of an input before a trace: the SPEC of --input NAME=SPEC.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/dimensions.h"
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

// NAME=SPEC, or SPEC alone.  Throws Error(kUsage) likewise.
InputSpec read_input_spec(std::string_view text);
// NAME=LO..HI with LO or HI left out, or NAME=N.  Throws Error(kUsage).
DimensionRange read_dimension_range(std::string_view text);

// "1..64", "1..", "..64", "8".
std::string range_text(const DimensionRange& range);

// The dimensions that the specs name, in their order.  Throws as parse_input_spec.
std::vector<std::string> named_dimensions(const std::vector<InputSpec>& specs);
// Throws Error(kUsage) for a range of a dimension that is not among `known`; lists them.
void check_dimensions(const std::vector<DimensionRange>& ranges, const std::vector<std::string>& known);

// The ranges that were asked for; 0.. where one is open.  Throws Error(kUsage) for two that have nothing in
// common.
Dimensions make_dimensions(const TraceOptions& options);

}  // namespace fxtrace
