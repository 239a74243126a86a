// Values and operators of LibTorch, through the plugin (execute/plugin.h), and containers of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "execute/plugin.h"
#include "graph/graph.h"

namespace fxtrace::internal::verify {

// C++ interface to the values and operators of LibTorch, through the plugin (execute/plugin.h).

// Thrown for operations that LibTorch refuses, or that cannot be expressed.  Long messages are cut, as names
// in a file may have any length.
class RunError : public std::runtime_error {
 public:
  explicit RunError(const std::string& what)
      : std::runtime_error(what.size() <= kLongest ? what : what.substr(0, kLongest) + "...") {}

 private:
  static constexpr std::size_t kLongest = 1000;
};

// Thrown for a correct graph that cannot be run here, such as one with a function that exists only in Python.
class CannotRun : public RunError {
  using RunError::RunError;
};

// A reference to a value of LibTorch.  Copies share the value; the engine must outlive them.
class RunValue {
 public:
  RunValue() = default;  // holds no value
  RunValue(const FxtraceEngine& engine, FxtraceValue* value) : value_(value, engine.release) {}

  FxtraceValue* get() const { return value_.get(); }
  explicit operator bool() const { return value_ != nullptr; }

 private:
  std::shared_ptr<FxtraceValue> value_;
};

struct RunArguments {
  std::vector<RunValue> positional;
  std::vector<std::pair<std::string, RunValue>> named;
};

// The engine.  All functions throw RunError with the message of LibTorch, and std::bad_alloc.
class Engine {
 public:
  explicit Engine(const FxtraceEngine& api) : api_(api) {}
  const FxtraceEngine& api() const { return api_; }

  RunValue none() const { return checked(api_.none()); }
  RunValue integer(std::int64_t value) const { return checked(api_.integer(value)); }
  RunValue text(const std::string& value) const { return checked(api_.text(value.data(), value.size())); }
  RunValue list(const std::vector<RunValue>& items) const;
  RunValue tuple(const std::vector<RunValue>& items) const;
  RunValue dict(const std::vector<RunValue>& keys, const std::vector<RunValue>& values) const;
  // Wraps memory without a copy: `data` must outlive the value.
  RunValue tensor(const std::string& dtype, const std::vector<std::int64_t>& sizes,
                  const std::vector<std::int64_t>& strides, std::int64_t offset, void* data,
                  std::size_t bytes) const;
  RunValue random_tensor(const std::string& dtype, const std::vector<std::int64_t>& sizes, std::int64_t low,
                         std::int64_t high, std::uint64_t seed) const;
  RunValue copy(const RunValue& value) const { return checked(api_.deep_copy(value.get())); }
  // Converts an argument of a graph that holds no reference, graph or function.
  RunValue constant(const Argument& value) const {
    return evaluate(value, [](NodeId) -> RunValue {
      throw RunError("a value of the graph is used where none is possible");
    });
  }
  // Converts an argument, with value_of(Reference) for references.
  template <class F>
  RunValue evaluate(const Argument& argument, F&& value_of) const;

  FxtraceKind kind(const RunValue& value) const { return api_.kind(value.get()); }
  bool is_tensor(const RunValue& value) const { return kind(value) == kFxtraceTensor; }
  // The parts of lists and tuples, or the values of dicts.
  std::size_t size(const RunValue& value) const { return api_.size(value.get()); }
  RunValue item(const RunValue& value, std::size_t index) const {
    return checked(api_.item(value.get(), index));
  }
  RunValue key(const RunValue& value, std::size_t index) const {
    return checked(api_.key(value.get(), index));
  }
  std::vector<RunValue> items(const RunValue& value) const;
  std::optional<std::int64_t> integer_of(const RunValue& value) const;
  bool truth(const RunValue& value) const;  // for a bool, or a tensor with one element
  std::string text_of(const RunValue& value) const { return api_.as_text(value.get()); }
  std::vector<std::int64_t> shape(const RunValue& tensor) const;
  std::string dtype(const RunValue& tensor) const { return api_.dtype_of(tensor.get()); }

  // Calls an operator such as "aten::add"; without an overload, the first overload that accepts the
  // arguments.
  RunValue call(const std::string& name, const std::optional<std::string>& overload,
                const RunArguments& arguments) const;
  RunValue attribute(const RunValue& object, const std::string& name) const {
    return checked(api_.attribute(object.get(), name.c_str()));
  }
  void set_attribute(const RunValue& object, const std::string& name, const RunValue& value) const {
    check(api_.set_attribute(object.get(), name.c_str(), value.get()));
  }
  RunValue call_method(const RunValue& object, const std::string& name, const RunArguments& arguments) const;
  RunValue call_function(const RunValue& module, const std::string& name,
                         const RunArguments& arguments) const;

  // Calls a function that torch implements in Python only.
  RunValue call_python(const std::string& name, const RunArguments& arguments) const;

  RunValue checked(FxtraceValue* value) const;  // throws when it is null
  void check(bool done) const;

 private:
  const FxtraceEngine& api_;
};

// A scope: vmaps and autocast regions entered during its lifetime are left at its end.
class OwnModes {
 public:
  explicit OwnModes(const Engine& engine) : engine_(engine) {}
  ~OwnModes() { engine_.api().leave_modes(); }
  OwnModes(const OwnModes&) = delete;
  OwnModes& operator=(const OwnModes&) = delete;

 private:
  const Engine& engine_;
};

template <class F>
RunValue Engine::evaluate(const Argument& argument, F&& value_of) const {
  const auto all = [&](const std::vector<Argument>& items) {
    std::vector<RunValue> values;
    values.reserve(items.size());
    for (const Argument& item : items) values.push_back(evaluate(item, value_of));
    return values;
  };
  return std::visit(
      [&](const auto& value) -> RunValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, NodeId>) {
          return value_of(value);
        } else if constexpr (std::is_same_v<T, argument::None>) {
          return none();
        } else if constexpr (std::is_same_v<T, bool>) {
          return checked(api_.boolean(value));
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return integer(value);
        } else if constexpr (std::is_same_v<T, double>) {
          return checked(api_.real(value));
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          return checked(api_.complex(value.real(), value.imag()));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return text(value);
        } else if constexpr (std::is_same_v<T, Argument::List>) {
          return list(all(value.items));
        } else if constexpr (std::is_same_v<T, Argument::Tuple>) {
          return tuple(all(value.items));
        } else if constexpr (std::is_same_v<T, Argument::Dict>) {
          std::vector<RunValue> keys;
          std::vector<RunValue> values;
          for (const auto& [key, item] : value.items) {
            keys.push_back(evaluate(key, value_of));
            values.push_back(evaluate(item, value_of));
          }
          return dict(keys, values);
        } else if constexpr (std::is_same_v<T, argument::Dtype>) {
          return checked(api_.dtype(value.name.c_str()));
        } else if constexpr (std::is_same_v<T, argument::Device>) {
          return checked(api_.device(value.name.c_str()));
        } else if constexpr (std::is_same_v<T, argument::Layout>) {
          return checked(api_.layout(value.name.c_str()));
        } else if constexpr (std::is_same_v<T, argument::MemoryFormat>) {
          return checked(api_.memory_format(value.name.c_str()));
        } else {
          throw RunError("the argument is not a plain value");
        }
      },
      argument.value);
}

// Builds lists, tuples and dicts from their parts.

struct NestedItem {
  const std::vector<Argument>* path;  // indices and keys that lead to the value, the outermost first
  RunValue value;
};

// Returns the value with these parts, whose paths share their first `depth` keys.  A single part whose path
// ends there is the value itself.  Throws RunError.
RunValue nested(const Engine& engine, const std::vector<NestedItem>& parts, std::size_t depth);

// Returns the arguments of forward by name, made of the inputs of the graph and of inputs that options have
// fixed, as the signature says.  Throws RunError.
std::vector<std::pair<std::string, RunValue>> arguments_of_forward(const Engine& engine,
                                                                   const ModuleGraph& graph,
                                                                   const std::vector<RunValue>& inputs);

}  // namespace fxtrace::internal::verify
