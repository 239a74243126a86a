#include "torchscript/ir/function.h"

#include <utility>

#include "support/error.h"
#include "support/scope_guard.h"
#include "support/text/qualified_name.h"
#include "torchscript/ir/ir.h"

namespace fxtrace::internal::torchscript {

Function::Function(std::string qualified_name, std::shared_ptr<FunctionCode> code)
    : qualified_name_(std::move(qualified_name)), code_(std::move(code)) {}
Function::Function(std::string qualified_name, FunctionSchema schema)
    : qualified_name_(std::move(qualified_name)), schema_(std::move(schema)) {}
Function::~Function() = default;

std::string_view Function::name() const { return QualifiedName(qualified_name_).last(); }

const FunctionSchema& Function::schema() const {
  if (!schema_) schema_ = code_->make_schema(const_cast<Function&>(*this));
  return *schema_;
}

IrGraph& Function::graph() const {
  if (graph_ == nullptr) {
    if (code_ == nullptr) throw input_error("'" + qualified_name_ + "' has no code");
    if (is_working_) throw input_error("function '" + std::string(name()) + "' is called recursively");
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    is_working_ = true;
    const Restore restore([this] { is_working_ = false; });
    try {
      graph_ = code_->compile(const_cast<Function&>(*this));
    } catch (const Error&) {
      failure_ = std::current_exception();
      throw;
    }
  }
  return *graph_;
}

const FunctionSchema& schema_of(const Function& function) { return function.schema(); }

}  // namespace fxtrace::internal::torchscript
