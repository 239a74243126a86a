// Decides which inputs of the root remain placeholders, from --concrete and --input-names, for every front
// end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/options/options.h"

namespace fxtrace {

// Returns whether the value is kConcretePlaceholder, for an input that remains.
bool is_concrete_placeholder(const Argument& value);

// Returns the number that a value of --concrete is: {"float": "inf"} where JSON has none.
std::optional<double> find_float(const Argument& value);

// Calls fail(what), which must throw, when there is no input of this name.
void check_input_name(const std::string& name, const std::vector<std::string>& names,
                      const std::function<void(const std::string&)>& fail);

class InputChoice {
 public:
  struct Decision {
    enum class Kind {
      kRemains,
      kFixed,    // to `value`
      kDefault,  // takes its default, or what the front end has for None
    };
    Kind kind = Kind::kRemains;
    bool named = false;               // the user names it, and so will pass it
    const Argument* value = nullptr;  // as --concrete gives it; lives as long as the options
  };

  // `names` are the inputs in order; `options` must outlive this.  Calls fail(what), which must throw
  // Error(kUsage) and may add to the message, when --concrete or --input-names name an unknown input.
  InputChoice(const TraceOptions& options, const std::vector<std::string>& names,
              const std::function<void(const std::string&)>& fail);

  Decision decide(const std::string& name) const;

  // Returns the message for an input that should take its default and has none.
  static std::string no_default(const std::string& name);

 private:
  const TraceOptions& options_;
};

}  // namespace fxtrace
