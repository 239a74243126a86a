// The values in a node's args and kwargs, as in torch.fx: plain Python values, containers of them, and
// references to nodes.  The set of types is closed: there are no LibTorch values and no JSON values.
#pragma once

#include <compare>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fxtrace {

// Types of values without nested values that have no C++ counterpart.
namespace argument {
struct None {
  bool operator==(const None&) const = default;
};
struct Dtype {
  std::string name;  // as in torch: float32
  bool operator==(const Dtype&) const = default;
};
struct Device {
  std::string name;  // cpu, cuda:0
  bool operator==(const Device&) const = default;
};
struct Layout {
  std::string name;  // strided
  bool operator==(const Layout&) const = default;
};
struct MemoryFormat {
  std::string name;  // contiguous_format
  bool operator==(const MemoryFormat&) const = default;
};
struct GraphRef {
  std::string name;  // the name of a subgraph of the node's graph
  bool operator==(const GraphRef&) const = default;
};
struct Function {
  std::string name;  // written as the target of a call_function: aten.sin.default
  bool operator==(const Function&) const = default;
};
// The names that make a tuple a named tuple.
struct TupleNames {
  std::string type;                 // qualified: pkg.Point
  std::vector<std::string> fields;  // one for each item
  bool operator==(const TupleNames&) const = default;
};
}  // namespace argument

// An argument.  `Reference` is the id of a value that is made elsewhere, such as NodeId.
template <class Reference>
struct BasicArgument {
  using None = argument::None;
  using Dtype = argument::Dtype;
  using Device = argument::Device;
  using Layout = argument::Layout;
  using MemoryFormat = argument::MemoryFormat;
  using GraphRef = argument::GraphRef;
  using Function = argument::Function;
  struct List {
    std::vector<BasicArgument> items;
    bool operator==(const List& other) const { return items == other.items; }
  };
  struct Tuple {
    std::vector<BasicArgument> items;
    std::shared_ptr<const argument::TupleNames> names = nullptr;  // of a named tuple; null for others
    bool operator==(const Tuple& other) const {
      return items == other.items &&
             (names == other.names || (names && other.names && *names == *other.names));
    }
  };
  struct DictItem;  // key and value
  struct Dict {
    std::vector<DictItem> items;  // in insertion order
    bool operator==(const Dict& other) const { return items == other.items; }
  };
  struct Slice {
    std::vector<BasicArgument> parts;  // always three: start, stop, step; None for an omitted one
    bool operator==(const Slice& other) const { return parts == other.parts; }
  };

  using Variant =
      std::variant<None, bool, std::int64_t, double, std::complex<double>, std::string, List, Tuple, Dict,
                   Slice, Reference, Dtype, Device, Layout, MemoryFormat, GraphRef, Function>;
  Variant value;

  BasicArgument() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, BasicArgument>)
  BasicArgument(T&& v)
      : value(std::forward<T>(v)) {}  // NOLINT: implicit on purpose, arguments read like literals
  BasicArgument(const char* text) : value(std::string(text)) {}  // NOLINT
  BasicArgument(int v) : value(std::int64_t{v}) {}               // NOLINT

  bool operator==(const BasicArgument& other) const { return value == other.value; }

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
};

template <class Reference>
struct BasicArgument<Reference>::DictItem {
  BasicArgument key, value;
  bool operator==(const DictItem& other) const { return key == other.key && value == other.value; }
};

// Returns the items of a list or tuple; null for anything else.
template <class Reference>
const std::vector<BasicArgument<Reference>>* items_of(const BasicArgument<Reference>& argument) {
  using Any = BasicArgument<Reference>;
  if (const auto* list = argument.template get_if<typename Any::List>()) return &list->items;
  const auto* tuple = argument.template get_if<typename Any::Tuple>();
  return tuple != nullptr ? &tuple->items : nullptr;
}

// Calls f for `argument` and every value nested in it, in pre-order.
template <class Reference, class F>
void for_each_value(const BasicArgument<Reference>& argument, F&& f) {
  using Any = BasicArgument<Reference>;
  const auto all = [&](const std::vector<Any>& items) {
    for (const Any& item : items) for_each_value(item, f);
  };
  f(argument);
  if (const auto* items = items_of(argument)) {
    all(*items);
  } else if (const auto* slice = argument.template get_if<typename Any::Slice>()) {
    all(slice->parts);
  } else if (const auto* dict = argument.template get_if<typename Any::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      for_each_value(key, f);
      for_each_value(item, f);
    }
  }
}

// Calls f(Reference) for every reference in `argument`, in order, nested ones included.
template <class Reference, class F>
void for_each_reference(const BasicArgument<Reference>& argument, F&& f) {
  for_each_value(argument, [&](const BasicArgument<Reference>& value) {
    if (const auto* reference = value.template get_if<Reference>()) f(*reference);
  });
}

// Calls f for each argument of a node, or of anything else that has args and kwargs.
template <class Call, class F>
void for_each_argument(const Call& call, F&& f) {
  for (const auto& argument : call.args) f(argument);
  for (const auto& [name, argument] : call.kwargs) f(argument);
}
// Calls f(Reference) for every reference among the arguments, nested ones included.
template <class Call, class F>
void for_each_input(const Call& call, F&& f) {
  for_each_argument(call, [&](const auto& argument) { for_each_reference(argument, f); });
}

// Returns the argument for the function's parameter at position `place`, named `name`; null when it was not
// given.
template <class Call>
auto find_argument(const Call& call, std::size_t place, std::string_view name)
    -> const std::decay_t<decltype(call.args[0])>* {
  if (place < call.args.size()) return &call.args[place];
  for (const auto& [given, argument] : call.kwargs) {
    if (given == name) return &argument;
  }
  return nullptr;
}

// Returns a copy of the argument in which f(Reference), a BasicArgument<To>, replaces every reference.
template <class To, class From, class F>
BasicArgument<To> map_references(const BasicArgument<From>& argument, F&& f) {
  using Result = BasicArgument<To>;
  using Any = BasicArgument<From>;
  const auto each = [&](const std::vector<Any>& items) {
    std::vector<Result> result;
    result.reserve(items.size());
    for (const auto& item : items) result.push_back(map_references<To>(item, f));
    return result;
  };
  return std::visit(
      [&](const auto& value) -> Result {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, From>) {
          return f(value);
        } else if constexpr (std::is_same_v<Value, typename Any::List>) {
          return typename Result::List{each(value.items)};
        } else if constexpr (std::is_same_v<Value, typename Any::Tuple>) {
          return typename Result::Tuple{each(value.items), value.names};
        } else if constexpr (std::is_same_v<Value, typename Any::Slice>) {
          return typename Result::Slice{each(value.parts)};
        } else if constexpr (std::is_same_v<Value, typename Any::Dict>) {
          typename Result::Dict dict;
          for (const auto& [key, item] : value.items) {
            dict.items.push_back({map_references<To>(key, f), map_references<To>(item, f)});
          }
          return dict;
        } else {
          return value;
        }
      },
      argument.value);
}

// Identifies a node of one graph.  It is valid while the node exists, and never reused for a later node.
struct NodeId {
  std::uint32_t index = UINT32_MAX;
  auto operator<=>(const NodeId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

using Argument = BasicArgument<NodeId>;

}  // namespace fxtrace
