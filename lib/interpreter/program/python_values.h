// Spells values of the code in Python, for messages and guards.
#pragma once

#include <cstddef>
#include <string>

#include "interpreter/program/torchscript_archive.h"
#include "symbolic/expression.h"

namespace fxtrace::internal::interpreter {

// Returns a plain value as written in Python; a tensor too, when `archive` knows its elements.
std::string python_text(const Value& value, const TorchScriptArchive* archive = nullptr);
// Returns the same as an expression, as guards have it when they are read back.
Expression literal(const Value& value, const TorchScriptArchive* archive = nullptr);
// Returns the condition that `place` has that length.
Expression has_length(const Expression& place, std::size_t length);
// Returns the condition that `place` equals this value.
Expression equality(const Expression& place, const Value& value, const TorchScriptArchive* archive = nullptr);

}  // namespace fxtrace::internal::interpreter
