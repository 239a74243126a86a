// Rules of the operators on tensors in general; those of neural networks are in rules_nn.cpp.
#include "torchscript/shapes/rule_helpers.h"

namespace fxtrace {

RuleTable tensor_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"contiguous", same_as_first},
  };
  return kRules;
}

}  // namespace fxtrace
