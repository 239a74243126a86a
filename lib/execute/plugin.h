// What the plugin exports, which is a shared library that LibTorch is linked to: plain C, so that it can be
// built with any LibTorch.
#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): as in C

extern "C" {

// Takes the schema of an operator, "pkg::op.overload(Tensor x) -> Tensor", or of a method of the class
// `class_name`, "__torch__.torch.classes.pkg.Class", without its qualified name; that is "" for operators.
using FxtraceDeclare = void (*)(void* context, const char* class_name, const char* schema);

// Loads the shared libraries and calls `declare` for everything that is registered then.  Gives back null, or
// which library cannot be loaded and why; that text stays until the next call.  Not for several threads.
const char* fxtrace_load_operators(const char* const* libraries, size_t count, FxtraceDeclare declare,
                                   void* context);
}
