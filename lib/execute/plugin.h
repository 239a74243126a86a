// What the plugin exports, which is a shared library that LibTorch is linked to: plain C, so that it can be
// built with any LibTorch.
#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): as in C
#include <stdint.h>  // NOLINT(modernize-deprecated-headers): as in C

extern "C" {

// Takes the schema of an operator, "pkg::op.overload(Tensor x) -> Tensor", or of a method of the class
// `class_name`, "__torch__.torch.classes.pkg.Class", without its qualified name; that is "" for operators.
using FxtraceDeclare = void (*)(void* context, const char* class_name, const char* schema);

// Loads the shared libraries and calls `declare` for everything that is registered then.  Gives back null, or
// which library cannot be loaded and why; that text stays until the next call.  Not for several threads.
const char* fxtrace_load_operators(const char* const* libraries, size_t count, FxtraceDeclare declare,
                                   void* context);

// A value of LibTorch, an IValue.  Who gets one releases it.
struct FxtraceValue;

enum FxtraceKind {
  kFxtraceNone,
  kFxtraceBool,
  kFxtraceInt,
  kFxtraceFloat,
  kFxtraceComplex,
  kFxtraceText,
  kFxtraceTensor,
  kFxtraceList,
  kFxtraceTuple,
  kFxtraceDict,
  kFxtraceObject,  // of a class: modules too
  kFxtraceOther
};

// Positional arguments, then keyword arguments with their names.
struct FxtraceArguments {
  FxtraceValue* const* positional;
  size_t positional_count;
  const char* const* names;
  FxtraceValue* const* named;
  size_t named_count;
};

// The elements of a tensor as numbers; of complex ones their absolute values.
struct FxtraceStatistics {
  int64_t elements, not_finite;
  double least, greatest, mean;  // of the finite ones; 0 where there are none
};

struct FxtraceDifference {
  int64_t elements;  // that differ; all where the forms do
  double greatest;   // absolute difference; infinity where one is not finite
};

// Of tensors on the CPU, in bytes, since counting began.
struct FxtraceMemory {
  int64_t allocated, held;  // all together, and what is not released yet
  int64_t peak;             // the most that was held at a time since the last question
};

// Reads `size` bytes at `offset` into `to`; gives back how many there were.
using FxtraceRead = size_t (*)(void* context, uint64_t offset, void* to, size_t size);
// The bytes of the record "data/3", mapped into memory that may be written to and stays as long as the model
// may run; `size` is their number then.  Null: it has to be read.
using FxtraceMap = void* (*)(void* context, const char* record, size_t* size);
// The digest of a tensor that an operator has made.
using FxtraceMade = void (*)(void* context, uint64_t digest);

// What runs models.  A function that gives back a value gives null where it fails, others false; failure()
// says why.  Values are null nowhere else.  Not for several threads.
struct FxtraceEngine {
  const char* version;  // of LibTorch: "2.13.0"
  const char* (*failure)();

  // Makes what is made at first use, for which files may have to be read: afterwards, running a model opens
  // nothing.  One thread, and operators in the order in which the code has them.
  bool (*prepare)();
  void (*seed)(uint64_t seed);  // of the operators that draw random numbers

  // --- values ---
  void (*release)(FxtraceValue* value);
  FxtraceValue* (*none)();
  FxtraceValue* (*boolean)(bool value);
  FxtraceValue* (*integer)(int64_t value);
  FxtraceValue* (*real)(double value);
  FxtraceValue* (*complex)(double real, double imaginary);
  FxtraceValue* (*text)(const char* data, size_t size);
  FxtraceValue* (*device)(const char* name);
  FxtraceValue* (*dtype)(const char* name);  // an integer, as TorchScript has it; so the next two
  FxtraceValue* (*layout)(const char* name);
  FxtraceValue* (*memory_format)(const char* name);
  FxtraceValue* (*list)(FxtraceValue* const* items, size_t count);
  FxtraceValue* (*tuple)(FxtraceValue* const* items, size_t count);
  FxtraceValue* (*dict)(FxtraceValue* const* keys, FxtraceValue* const* values, size_t count);
  // A view of memory that the caller keeps as long as anything may use it.  `bytes` bounds what the tensor
  // may reach; strides and offset are counted in elements.
  FxtraceValue* (*tensor)(const char* dtype, const int64_t* sizes, const int64_t* strides, size_t dims,
                          int64_t offset, void* data, size_t bytes);
  // Normally distributed numbers; integers and booleans are uniform in low..high.
  FxtraceValue* (*random_tensor)(const char* dtype, const int64_t* sizes, size_t dims, int64_t low,
                                 int64_t high, uint64_t seed);
  FxtraceValue* (*unpickle)(const char* data, size_t size);  // what torch.save wrote: tensors and containers
  FxtraceValue* (*deep_copy)(FxtraceValue* value);

  FxtraceKind (*kind)(FxtraceValue* value);
  bool (*as_bool)(FxtraceValue* value);  // of the kind; these fail for no value that has it
  int64_t (*as_int)(FxtraceValue* value);
  double (*as_real)(FxtraceValue* value);
  const char* (*as_text)(FxtraceValue* value);  // stays while the value does; of other kinds, a description
  size_t (*size)(FxtraceValue* value);          // of a list, tuple or dict; the dimensions of a tensor
  FxtraceValue* (*item)(FxtraceValue* value, size_t index);
  FxtraceValue* (*key)(FxtraceValue* value, size_t index);
  int64_t (*extent)(FxtraceValue* tensor, size_t dimension);  // -1 where a nested tensor has several
  const char* (*dtype_of)(FxtraceValue* tensor);

  // --- comparing tensors ---
  uint64_t (*digest)(FxtraceValue* tensor);  // of dtype, sizes and elements
  bool (*statistics)(FxtraceValue* tensor, FxtraceStatistics* to);
  // Elements differ that are not the same bits, or where |a - b| > absolute + relative * |b|; nan is like
  // nan.
  bool (*compare)(FxtraceValue* a, FxtraceValue* b, double absolute, double relative, FxtraceDifference* to);

  // --- running ---
  // "aten::add", "Tensor"; `overload` null: the one that takes the arguments.  Several results are a tuple.
  FxtraceValue* (*call)(const char* name, const char* overload, const FxtraceArguments* arguments);
  // Calls `made` for every tensor that operators make, until it is called with null.
  void (*watch)(FxtraceMade made, void* context);
  void (*count_memory)(bool on);
  FxtraceMemory (*memory)();

  // --- TorchScript ---
  // With `map`, which may be null, tensors lie where it says.
  FxtraceValue* (*load)(FxtraceRead read, FxtraceMap map, void* context, uint64_t size);
  FxtraceValue* (*attribute)(FxtraceValue* object, const char* name);
  bool (*has_method)(FxtraceValue* object, const char* name);
  // "__call__" is forward with the hooks of the module.
  FxtraceValue* (*call_method)(FxtraceValue* object, const char* name, const FxtraceArguments* arguments);
  // A function of the code that `module` was loaded with: "pkg.ops.nms".
  FxtraceValue* (*call_function)(FxtraceValue* module, const char* name, const FxtraceArguments* arguments);

  // --- what is no operator: vmap and autocast, which change how operators run, and some more ---
  // A function that torch has in Python alone: "torch.amp.autocast_mode._enter_autocast".
  FxtraceValue* (*call_python)(const char* name, const FxtraceArguments* arguments);
  void (*leave_modes)();  // as if nothing had been entered

  // --- objects of C++ classes ---
  FxtraceValue* (*unpickle_object)(const char* data, size_t size);  // as torch.export.save writes one
  // The tuple of constants of a TorchScript archive.
  FxtraceValue* (*constants)(FxtraceRead read, void* context, uint64_t size);
};

// The one there is.  `size` is what the caller takes sizeof(FxtraceEngine) for: null where that is another.
const FxtraceEngine* fxtrace_engine(size_t size);
}
