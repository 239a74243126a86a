#include "graph/argument.h"

namespace fxtrace {

Argument::Argument() noexcept = default;
Argument::Argument(const Argument& other) = default;
Argument::Argument(Argument&& other) noexcept = default;
Argument& Argument::operator=(const Argument& other) = default;
Argument& Argument::operator=(Argument&& other) noexcept = default;
Argument::~Argument() = default;

bool Argument::operator==(const Argument& other) const { return value == other.value; }

}  // namespace fxtrace
