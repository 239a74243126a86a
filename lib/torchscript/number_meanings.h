// TorchScript has integers where Python has dtypes, layouts and memory formats.  An operator's schema tells
// them apart, and so does what the code does with a value: it comes from x.dtype, or goes to an operator that
// takes a dtype.
#pragma once

#include <unordered_map>

#include "torchscript/names.h"
#include "torchscript/torchscript_archive.h"

namespace fxtrace::torchscript {

enum class NumberMeaning { kNumber, kDtype, kLayout, kMemoryFormat };

class NumberMeanings {
 public:
  explicit NumberMeanings(const TorchScriptArchive& archive) : archive_(archive) {}

  // Of a parameter of a function, by its position in the schema: what its type, its name or its uses say.
  NumberMeaning of_parameter(Function& function, std::size_t index);
  // Of a value, by what makes it.  Constants tell nothing: equal ones may be shared.
  NumberMeaning by_source(const IrValue* value);

 private:
  const TorchScriptArchive& archive_;
  NumberMeaning of(const IrValue* value);
  NumberMeaning by_uses(const IrValue* value);
  NumberMeaning by_use(const IrUse& use);

  std::unordered_map<const IrValue*, NumberMeaning> known_;
};

// Of an operator's or a function's formal parameter, or of the elements of a list, as far as its type or name
// tells.
NumberMeaning meaning_of(const FunctionArgument& formal);
// Of the parameter of an operator; a number for one that it does not have.
NumberMeaning meaning_of_parameter(const FunctionSchema& schema, std::size_t index);

}  // namespace fxtrace::torchscript
