// Input specs: the dtype, shape and device of an input as --input NAME=SPEC gives them, and ranges of --dim.
#pragma once

#include <cstddef>
#include <functional>
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

// Decides which inputs of the root remain placeholders, from --concrete and --input-names, for every front
// end.
//
// A user may fix an input to a value (--concrete flag=false), keep an input that is mentioned nowhere else
// (--concrete 'x="$PH"'), or name all inputs that remain (--input-names x,y).  Both front ends ask here, so
// that the options mean the same for scripted and for exported programs.
//
// 1. --concrete decides before --input-names.
// 2. The last --concrete of a name counts.
// 3. Only a value that is "$PH" as a whole makes kRemains.  A list or dict with "$PH" inside is kFixed; the
//    front end makes placeholders for its parts.
// 4. With --input-names, inputs that it does not list are kDefault.  Without it, all inputs without
//    --concrete are kRemains.
// 5. `named` is true exactly for inputs that --concrete or --input-names mention.  A caller passes these, so
//    a front end may take an Optional input that is named for not None.
// 6. All names in both options are checked when an InputChoice is made, so decide() never sees an unknown
//    one.
//
// Example: forward(ids, mask: Optional[Tensor] = None, training: bool = True), with --concrete training=false
// --input-names ids:
//
//   ids        kRemains, named    a placeholder
//   mask       kDefault           None, its default
//   training   kFixed, named      to false; that --input-names leaves it out does not matter (1.)
//
// An input that is kDefault and has no default is an error of the user; no_default() words it.

// Returns whether the value is kConcretePlaceholder: the input remains.
bool is_concrete_placeholder(const Argument& value);

// Returns the float that a value of --concrete stands for; absent for other values.  {"float": "inf"}, "-inf"
// and "nan" stand for numbers that JSON does not have.
std::optional<double> find_float(const Argument& value);

// Calls fail(message), which must throw, when `name` is not among `names`.
void check_input_name(const std::string& name, const std::vector<std::string>& names,
                      const std::function<void(const std::string&)>& fail);

class InputChoice {
 public:
  struct Decision {
    enum class Kind {
      kRemains,
      kFixed,    // to `value`
      kDefault,  // takes its default, or None where the front end allows it
    };
    Kind kind = Kind::kRemains;
    bool named = false;               // an option mentions the input, so callers pass it
    const Argument* value = nullptr;  // the value of --concrete; lives as long as the options
  };

  // `names` are the inputs in order; `options` must outlive this.  Calls fail(message), which must throw
  // Error(kUsage) and may add to the message, when --concrete or --input-names name an unknown input.
  InputChoice(const TraceOptions& options, const std::vector<std::string>& names,
              const std::function<void(const std::string&)>& fail);

  Decision decide(const std::string& name) const;

  // Returns the message for an input that should take its default and has none.
  static std::string no_default(const std::string& name);

 private:
  const TraceOptions& options_;
};

}  // namespace fxtrace::internal
