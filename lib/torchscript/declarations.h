// Operators and methods of classes that a model calls and LibTorch does not know: declared, so that its code
// can be compiled, and nothing more.  LibTorch has one registry for the process; each model has its own
// declarations in it while it is read or traced, and no other's.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/function.h>

#include <memory>
#include <string>
#include <vector>

namespace torch::jit {
struct Operator;
}

namespace fxtrace {

class Declarations {
 public:
  // Takes the place of those that were in force.
  Declarations() { put_in_force(); }
  ~Declarations();
  Declarations(const Declarations&) = delete;
  Declarations& operator=(const Declarations&) = delete;

  // "pkg::op(Tensor x) -> Tensor".  A call throws std::runtime_error.
  void declare(const std::string& schema);
  // Gives a class of declare_classes() a method.  `schema` has `self` as its first argument.
  void declare_method(const std::string& class_name, const std::string& schema);

  void put_in_force();

 private:
  void enter(const std::string& schema);  // into the registry
  void withdraw();

  struct Method {
    c10::ClassTypePtr type;
    std::unique_ptr<torch::jit::Function> function;
  };
  std::vector<std::string> schemas_;
  std::vector<Method> methods_;
  // Compiled code refers to operators by their address.
  std::vector<std::shared_ptr<torch::jit::Operator>> kept_;
};

}  // namespace fxtrace
