// Loads shared libraries of custom operators, and declares all operators and methods that are registered.
#include "execute/plugin.h"

#include <exception>
#include <sstream>
#include <string>

#include <dlfcn.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

namespace {

void declare_all(FxtraceDeclare declare, void* context) {
  const auto tell = [&](const std::string& class_name, const c10::FunctionSchema& schema) {
    std::ostringstream text;
    text << schema;
    declare(context, class_name.c_str(), text.str().c_str());
  };
  for (const auto& op : torch::jit::getAllOperators()) tell("", op->schema());
  for (const c10::FunctionSchema& schema : torch::customClassSchemasForBCCheck()) {
    // The first argument of a method is its object; a schema without arguments does not tell its class.
    if (schema.arguments().empty()) continue;
    const auto type = schema.arguments().front().type()->cast<c10::ClassType>();
    if (type && type->name()) tell(type->name()->qualifiedName(), schema);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* fxtrace_load_operators(
    const char* const* libraries, size_t count, FxtraceDeclare declare, void* context) {
  static std::string failure;
  try {
    for (size_t i = 0; i < count; ++i) {
      if (::dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL) != nullptr) continue;
      const char* why = ::dlerror();
      failure = std::string("cannot load ") + libraries[i] + ": " + (why == nullptr ? "" : why);
      return failure.c_str();
    }
    declare_all(declare, context);
    return nullptr;
  } catch (const std::exception& e) {
    failure = e.what();
  }
  return failure.c_str();
}
