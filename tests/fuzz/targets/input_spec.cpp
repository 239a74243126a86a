// Fuzz target: specifications of inputs and dimensions.
#include "trace/options/input_spec.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"
#include "tests/fuzz/targets.h"
#include "trace/options/options.h"

namespace fxtrace::internal::fuzz {
namespace {

// Facts that the environment knows about sizes must hold for values within the ranges of the dimensions.
void check_sizes(const ShapeEnv& env, const std::vector<SymInt>& sizes) {
  for (const bool high : {false, true}) {
    std::map<std::string, std::int64_t> values;
    for (const SymInt& size : sizes) {
      for (const std::string& name : size.symbols()) {
        const Range range = env.range(name);
        const std::int64_t low = range.low.value_or(0);
        values[name] = high ? range.high.value_or(low < 1'000 ? 1'000 : low) : low;
      }
    }
    const SymInt* last = nullptr;
    for (const SymInt& size : sizes) {
      const SymInt simple = env.simplify(size);
      const Range bounds = env.bounds(size);
      const auto value = size.evaluate(values);
      if (value) {
        require(!bounds.low || *bounds.low <= *value, "a size is not below its bounds");
        require(!bounds.high || *bounds.high >= *value, "a size is not above its bounds");
        const auto same = simple.evaluate(values);
        require(!same || *same == *value, "a size in fewer words has the same value");
        if (const auto other = last ? last->evaluate(values) : std::nullopt) {
          const auto less = env.decide(Relation::kLess, *last, size);
          require(!less || *less == (*other < *value), "what is decided holds");
          const auto equal = env.decide(Relation::kEqual, *last, size);
          require(!equal || *equal == (*other == *value), "what is decided holds");
        }
      }
      last = &size;
    }
  }
}

}  // namespace

void input_spec(std::string_view input) {
  constexpr std::size_t kMaxLines = 8;
  TraceOptions options;
  std::size_t position = 0;
  for (const std::string_view line : lines_of(input, kMaxLines)) {
    if (line.find("..") != std::string_view::npos) {
      accepts([&] { options.dimensions.push_back(read_dimension_range(line)); });
    } else {
      accepts([&] { options.inputs.push_back(read_input_spec(line, position++)); });
    }
  }
  std::vector<SymInt> sizes;
  for (const InputSpec& spec : options.inputs) {
    // A specification that was read is in its normal form.
    const ParsedInputSpec parsed = parse_input_spec(spec);
    require(to_string(parsed) == spec.text, "the normal form is that of what it says");
    for (const SymInt& size : parsed.shape) sizes.push_back(size);
    if (!parsed.dtype) sizes.push_back(parsed.value);
  }
  for (const DimensionRange& range : options.dimensions) {
    const DimensionRange again = make_dimension_range(range.name, range_text(range));
    require(again.low == range.low && again.high == range.high, "a range's text reads back");
  }
  accepts([&] {
    check_dimensions(options.dimensions, named_dimensions(options.inputs));
    check_sizes(make_dimensions(options), sizes);
  });
}

}  // namespace fxtrace::internal::fuzz
