// Interface of the plugin, a shared library that is linked to LibTorch.  It is plain C, so that the plugin
// can be built with any LibTorch.
#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): as in C
#include <stdint.h>  // NOLINT(modernize-deprecated-headers): as in C

extern "C" {

// Receives the schema of an operator, "pkg::op.overload(Tensor x) -> Tensor", or of a method, without its
// qualified name, of the class `class_name`, "__torch__.torch.classes.pkg.Class".  `class_name` is "" for
// operators.
using FxtraceDeclare = void (*)(void* context, const char* class_name, const char* schema);

// Loads the shared libraries and calls `declare` for everything registered afterwards.  Returns null, or an
// error text that names the library and is valid until the next call.  Not thread-safe.
const char* fxtrace_load_operators(const char* const* libraries, size_t count, FxtraceDeclare declare,
                                   void* context);

// A value of LibTorch, an IValue.  The caller that receives one must release() it.
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
  kFxtraceDevice,
  kFxtraceObject,  // an instance of a class, modules included
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

// Statistics of a tensor's elements; of absolute values for complex tensors.
struct FxtraceStatistics {
  int64_t elements, not_finite;
  double least, greatest, mean;  // of the finite elements; 0 if there are none
};

struct FxtraceDifference {
  int64_t elements;  // the number of elements that differ; all if shape or dtype differ
  double greatest;   // the greatest absolute difference; infinity if an element is not finite
};

// Memory of CPU tensors in bytes, since counting began.
struct FxtraceMemory {
  int64_t allocated, held;  // total, and not yet released
  int64_t peak;             // maximum of `held` since the last query
};

// Reads `size` bytes at `offset` into `to`; returns the number of bytes read.
using FxtraceRead = size_t (*)(void* context, uint64_t offset, void* to, size_t size);
// Returns the bytes of the record "data/3", mapped into writable memory that lives as long as the model, and
// sets `size`.  Null when the record has to be read.
using FxtraceMap = void* (*)(void* context, const char* record, size_t* size);
// Receives the digest of a tensor that an operator has made.
using FxtraceMade = void (*)(void* context, uint64_t digest);

// The engine that runs models.  On failure, functions that return a value return null, others false, and
// failure() says why.  Not thread-safe.
struct FxtraceEngine {
  const char* (*failure)();

  // Does all lazy initialisation that may open files, so that running a model opens none afterwards.  Selects
  // one thread, and execution of operators in the order of the code.
  bool (*prepare)();
  void (*seed)(uint64_t seed);  // seeds the random number generators
  void (*set_grad)(bool on);    // enables gradients, which prepare() disables

  // --- values ---
  void (*release)(FxtraceValue* value);
  FxtraceValue* (*none)();
  FxtraceValue* (*boolean)(bool value);
  FxtraceValue* (*integer)(int64_t value);
  FxtraceValue* (*real)(double value);
  FxtraceValue* (*complex)(double real, double imaginary);
  FxtraceValue* (*text)(const char* data, size_t size);
  FxtraceValue* (*device)(const char* name);
  FxtraceValue* (*dtype)(const char* name);  // as the integer of TorchScript; so are the next two
  FxtraceValue* (*layout)(const char* name);
  FxtraceValue* (*memory_format)(const char* name);
  FxtraceValue* (*list)(FxtraceValue* const* items, size_t count);
  FxtraceValue* (*tuple)(FxtraceValue* const* items, size_t count);
  FxtraceValue* (*dict)(FxtraceValue* const* keys, FxtraceValue* const* values, size_t count);
  // A view of memory that the caller owns and must keep alive.  `bytes` bounds the memory that the tensor may
  // reach; strides and offset are in elements.
  FxtraceValue* (*tensor)(const char* dtype, const int64_t* sizes, const int64_t* strides, size_t dims,
                          int64_t offset, void* data, size_t bytes);
  // Normally distributed numbers; integers and booleans are uniformly distributed in low..high.
  FxtraceValue* (*random_tensor)(const char* dtype, const int64_t* sizes, size_t dims, int64_t low,
                                 int64_t high, uint64_t seed);
  FxtraceValue* (*unpickle)(const char* data, size_t size);  // a file of torch.save: tensors and containers
  FxtraceValue* (*deep_copy)(FxtraceValue* value);

  FxtraceKind (*kind)(FxtraceValue* value);
  bool (*as_bool)(FxtraceValue* value);  // never fails for a value of the kind, nor do the next ones
  int64_t (*as_int)(FxtraceValue* value);
  const char* (*as_text)(FxtraceValue* value);  // valid as long as the value; a description for other kinds
  size_t (*size)(FxtraceValue* value);          // length of a list, tuple or dict; rank of a tensor
  FxtraceValue* (*item)(FxtraceValue* value, size_t index);
  FxtraceValue* (*key)(FxtraceValue* value, size_t index);
  int64_t (*extent)(FxtraceValue* tensor, size_t dimension);  // -1 when it varies in a nested tensor
  const char* (*dtype_of)(FxtraceValue* tensor);

  // --- comparing tensors ---
  uint64_t (*digest)(FxtraceValue* tensor);  // hash of dtype, sizes and elements
  bool (*statistics)(FxtraceValue* tensor, FxtraceStatistics* to);
  // Elements differ when |a - b| > absolute + relative * |b|, or, with both tolerances 0, when their bits do;
  // nan equals nan.
  bool (*compare)(FxtraceValue* a, FxtraceValue* b, double absolute, double relative, FxtraceDifference* to);

  // --- running ---
  // Calls "aten::add", "Tensor"; with a null `overload`, the first that accepts the arguments.  Several
  // results are returned as a tuple.
  FxtraceValue* (*call)(const char* name, const char* overload, const FxtraceArguments* arguments);
  // Calls `made` for every tensor that operators make, until watch() is called with null.
  void (*watch)(FxtraceMade made, void* context);
  void (*count_memory)(bool on);
  FxtraceMemory (*memory)();

  // --- TorchScript ---
  // `map`, which may be null, provides the memory of tensors.
  FxtraceValue* (*load)(FxtraceRead read, FxtraceMap map, void* context, uint64_t size);
  FxtraceValue* (*attribute)(FxtraceValue* object, const char* name);
  bool (*set_attribute)(FxtraceValue* object, const char* name, FxtraceValue* value);
  bool (*has_method)(FxtraceValue* object, const char* name);
  // Calls a method; "__call__" is forward with the module's hooks.
  FxtraceValue* (*call_method)(FxtraceValue* object, const char* name, const FxtraceArguments* arguments);
  // Calls a function of the archive that `module` was loaded from: "pkg.ops.nms".
  FxtraceValue* (*call_function)(FxtraceValue* module, const char* name, const FxtraceArguments* arguments);

  // --- functions of Python ---
  // Calls a function that torch implements in Python only, such as those of vmap and autocast, which change
  // how operators run: "torch.amp.autocast_mode._enter_autocast".
  FxtraceValue* (*call_python)(const char* name, const FxtraceArguments* arguments);
  void (*leave_modes)();  // leaves all modes that were entered

  // --- registered operators ---
  // Unregisters operators for which is_kept("aten::add.Tensor") is false: neither call() nor the code of an
  // archive finds them.
  bool (*keep_operators)(bool (*is_kept)(const char* name));

  // --- objects of C++ classes ---
  FxtraceValue* (*unpickle_object)(const char* data, size_t size);  // written by torch.export.save
  // Returns the tuple of constants of a TorchScript archive.
  FxtraceValue* (*constants)(FxtraceRead read, void* context, uint64_t size);
};

// Returns the engine, a singleton.  `size` is the sizeof(FxtraceEngine) of the caller; null if it does not
// match.
const FxtraceEngine* fxtrace_engine(size_t size);
}
