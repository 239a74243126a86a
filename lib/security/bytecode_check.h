// The check of bytecode for the lite interpreter.  Its loader and interpreter trust most of the numbers that
// a file gives: registers, slots of objects, the values that an instruction takes from the stack.
//
// Each method is followed instruction by instruction on types instead of values, as verifiers of other
// bytecodes do it.  A type keeps only what memory depends on: the class of an object, whose attributes are
// read by number, and the length of a tuple, whose parts are pushed on the stack.  All other values are
// opaque: the interpreter and the operators look at what they are before they use them.
//
// Invariants:
// 1. A value of an opaque type is of any type, and one of an absent type is None or a scalar.  Nothing opaque
//    becomes an object or a tuple again, so what is not understood ends in an offence.
// 2. Lists and dicts can be changed by any name that they have.  So the type of their items is the same by
//    all names, or not known; only by a name that tells it may items be added.
// 3. All objects of a class have the same attributes.  None gets another one, except in __setstate__.
// 4. Attributes have the types of all values that any object of the class may have in them.
#pragma once

#include <cstdint>
#include <string>

#include "security/pickle_check.h"

namespace fxtrace::internal::security {

// The records of an archive that the lite interpreter's loader reads.
struct MobileRecords {
  std::string bytecode;       // bytecode.pkl
  std::string data;           // data.pkl
  std::string debug_handles;  // mobile_debug_handles.pkl; empty where there is none
  std::uint64_t version = 0;  // of the operators: the number in the record `version`
};

// Reports everything for which the lite interpreter would leave its memory, and the operators that reach
// beyond tensors; and what runs when the archive is loaded, as check_script() does.
void check_bytecode(const MobileRecords& records, const Tell& tell);

}  // namespace fxtrace::internal::security
