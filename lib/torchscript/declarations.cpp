#include "torchscript/declarations.h"

#include <ATen/core/builtin_function.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <stdexcept>
#include <utility>

namespace fxtrace {
namespace {

Declarations* in_force = nullptr;

}  // namespace

Declarations::~Declarations() {
  if (in_force == this) withdraw();
}

void Declarations::enter(const std::string& schema) {
  const std::string name = torch::jit::parseSchema(schema).name();
  torch::jit::registerOperator(torch::jit::Operator(
      schema, [name](torch::jit::Stack&) { throw std::runtime_error(name + " is only declared"); },
      // What it does besides is not known: a call is never left out.
      c10::AliasAnalysisKind::CONSERVATIVE));
  const auto registered = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
  kept_.insert(kept_.end(), registered.begin(), registered.end());
}

void Declarations::declare(const std::string& schema) {
  enter(schema);
  schemas_.push_back(schema);
}

void Declarations::declare_method(const std::string& class_name, const std::string& schema) {
  const c10::ClassTypePtr type = torch::getCustomClass(class_name);
  c10::FunctionSchema parsed = torch::jit::parseSchema(schema);
  const std::string name = parsed.name();
  if (type->findMethod(name) != nullptr) return;
  auto function = std::make_unique<torch::jit::BuiltinOpFunction>(
      c10::QualifiedName(class_name + "." + name), std::move(parsed),
      [name](torch::jit::Stack&) { throw std::runtime_error(name + " is only declared"); }, "");
  type->addMethod(function.get());
  methods_.push_back({type, std::move(function)});
}

void Declarations::put_in_force() {
  if (in_force == this) return;
  if (in_force != nullptr) in_force->withdraw();
  in_force = this;
  for (const std::string& schema : schemas_) enter(schema);
  for (const Method& method : methods_) method.type->addMethod(method.function.get());
}

void Declarations::withdraw() {
  for (const std::string& schema : schemas_) torch::jit::deregisterOperator(torch::jit::parseSchema(schema));
  for (const Method& method : methods_) method.type->unsafeRemoveMethod(method.function->name());
  in_force = nullptr;
}

}  // namespace fxtrace
