// The arguments of a call, by the parameter names of the operator's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/node.h"
#include "opinfo/operator_entry.h"

namespace fxtrace::internal {

class NamedArguments {
 public:
  // Starts without arguments.  For both constructors, the operator must outlive this.
  explicit NamedArguments(const OperatorEntry& op) : op_(&op), values_(op.schema.arguments.size()) {}
  NamedArguments(const Node& node, const OperatorEntry& op);

  // Returns a parameter, which the schema must have.
  const SchemaArgument& formal(std::string_view name) const { return op_->schema.arguments.at(place(name)); }
  // Returns the argument; null when it is left out or None, or the schema does not have it.
  const Argument* find_argument(std::string_view name) const;
  // Returns an integer argument or its default; nothing when it is not an integer literal.
  std::optional<std::int64_t> integer(std::string_view name) const;
  // Sets an argument for a parameter, which the schema must have.
  void set(std::string_view name, Argument value);
  // Copies the arguments of another call, as far as the schema has them.
  void copy(const NamedArguments& other);
  // Calls f(name, Argument&) for each given argument that is a tensor or a list of tensors.
  template <class F>
  void for_each_tensor(F&& f) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const SchemaArgument& argument = op_->schema.arguments[i];
      if (values_[i] && argument.type.innermost().name == "Tensor") f(argument.name, *values_[i]);
    }
  }

  // Returns the positional arguments, as many as can be positional; kwargs() returns the others.
  std::vector<Argument> args() const;
  Kwargs kwargs() const;

 private:
  // Returns the index of a parameter; the number of parameters when the schema does not have it.
  std::size_t place(std::string_view name) const;
  std::size_t positional() const;

  const OperatorEntry* op_;
  std::vector<std::optional<Argument>> values_;  // by index in the schema
};

}  // namespace fxtrace::internal
