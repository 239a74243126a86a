// What is known of a value that depends on an input.
#pragma once

#include "shapes/abstract_value.h"

namespace fxtrace {

using Known = AbstractValue;

}  // namespace fxtrace
