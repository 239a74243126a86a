// Which inputs of the root remain as placeholders: --concrete and --input-names, the same for every front
// end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/options.h"

namespace fxtrace {

// Whether the value, or this place in it, says that an input remains.
bool is_concrete_placeholder(const Argument& value);

// Calls fail(what), which throws, when there is no input of this name.
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
    bool named = false;               // the user asks for it by name: who names an input passes it
    const Argument* value = nullptr;  // as --concrete gives it; lives as long as the options
  };

  // `names` are the inputs in their order, `options` must outlive this.  Calls fail(what), which throws
  // Error(kUsage) and may tell more of the inputs, when --concrete or --input-names name another input.
  InputChoice(const TraceOptions& options, const std::vector<std::string>& names,
              const std::function<void(const std::string&)>& fail);

  Decision decide(const std::string& name) const;

  // The message for an input that should take its default and has none.
  static std::string no_default(const std::string& name);

 private:
  const TraceOptions& options_;
};

}  // namespace fxtrace
