// The arguments of a call by the names that the operator's schema gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/node.h"
#include "operators/schema.h"

namespace fxtrace {

class NamedArguments {
 public:
  // None is given yet.  The schema must outlive this, and so below.
  explicit NamedArguments(const Schema& schema) : schema_(&schema), values_(schema.arguments.size()) {}
  NamedArguments(const Node& node, const Schema& schema);

  const Schema& schema() const { return *schema_; }
  // Of what the schema has.
  const SchemaType& type(std::string_view name) const { return schema_->arguments.at(place(name)).type; }
  // Null when it is left out or None, and when the schema does not have it.
  const Argument* find(std::string_view name) const;
  // Of an integer what is given or else its default; nothing when that is none or does not stand there.
  std::optional<std::int64_t> integer(std::string_view name) const;
  // Of what the schema has.
  void set(std::string_view name, Argument value);
  // What the other call gives, as far as the schema has it.
  void copy(const NamedArguments& other);
  // Calls f(name, Argument&) for each tensor argument or list of tensors that is given.
  template <class F>
  void for_each_tensor(F&& f) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const SchemaArgument& argument = schema_->arguments[i];
      if (values_[i] && argument.type.innermost().name == "Tensor") f(argument.name, *values_[i]);
    }
  }

  // In their places as far as they can be.
  std::vector<Argument> args() const;
  Kwargs kwargs() const;

 private:
  std::size_t place(std::string_view name) const;  // the number of arguments when it is not there
  std::size_t positional() const;

  const Schema* schema_;
  std::vector<std::optional<Argument>> values_;  // by their places in the schema
};

}  // namespace fxtrace
