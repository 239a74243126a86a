// Recovers the meaning of integers: TorchScript represents dtypes, layouts and memory formats as integers.
// An operator's schema tells them apart, and so do uses of a value: it comes from x.dtype, or is passed to an
// operator that takes a dtype.
#pragma once

#include <unordered_map>

#include "interpreter/program/names.h"
#include "interpreter/program/torchscript_archive.h"

namespace fxtrace::internal::interpreter {

enum class NumberMeaning { kNumber, kDtype, kLayout, kMemoryFormat };

class NumberMeanings {
 public:
  explicit NumberMeanings(const TorchScriptArchive& archive) : archive_(archive) {}

  // Returns the meaning of a function's parameter, by its index in the schema, from its type, name and uses.
  NumberMeaning of_parameter(Function& function, std::size_t index);
  // Returns the meaning of a value from the node that makes it.  Constants are plain numbers: equal ones may
  // be shared.
  NumberMeaning by_source(const IrValue* value);

 private:
  const TorchScriptArchive& archive_;
  NumberMeaning meaning_of(const IrValue* value);
  NumberMeaning by_uses(const IrValue* value);
  NumberMeaning by_use(const IrUse& use);

  std::unordered_map<const IrValue*, NumberMeaning> known_;
};

// Returns the meaning of a formal parameter, or of the elements of a list parameter, from its type and name.
NumberMeaning meaning_of(const FunctionArgument& formal);
// Returns the meaning of an operator's parameter; a number when there is no such parameter.
NumberMeaning meaning_of_parameter(const FunctionSchema& schema, std::size_t index);

}  // namespace fxtrace::internal::interpreter
