// Values of the engine, and its error handling.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include "execute/plugin.h"

struct FxtraceValue {
  c10::IValue value;
  std::string text;  // the last result of as_text()
};

namespace fxtrace::internal::execute {

// Wraps a value.  A completed future and a member of an enum are replaced by their values, as in graphs.
inline FxtraceValue* make(c10::IValue value) {
  while (value.isFuture() && value.toFuture()->hasValue()) value = value.toFuture()->value();
  if (value.isEnum()) value = value.toEnumHolder()->value();
  return new FxtraceValue{std::move(value), {}};
}

std::string& failure_text();

// Returns f(), or `failed` if it throws; failure() then returns the reason.
template <class Result, class F>
Result guarded(Result failed, F&& f) {
  try {
    return f();
  } catch (const c10::Error& error) {
    failure_text() = error.what_without_backtrace();
  } catch (const std::exception& error) {
    failure_text() = error.what();
  }
  return failed;
}
template <class F>
FxtraceValue* value_of(F&& f) {
  return guarded<FxtraceValue*>(nullptr, [&] { return make(f()); });
}

// Each of these fills in a part of FxtraceEngine.
void add_tensors(FxtraceEngine& engine);
void add_calls(FxtraceEngine& engine);
void add_scripts(FxtraceEngine& engine);
void add_memory(FxtraceEngine& engine);
void add_python(FxtraceEngine& engine);

// Registers the operators that torch implements in Python, unless they are there.
void add_quantized_decomposed();

at::ScalarType dtype_named(const std::string& name);  // throws c10::Error

// Returns the arguments in the order of the schema.  Throws c10::Error, which says what does not match.
std::vector<c10::IValue> bound(const c10::FunctionSchema& schema, const FxtraceArguments& arguments);

}  // namespace fxtrace::internal::execute
