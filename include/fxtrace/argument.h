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

// Identifies a node of one graph.  It is valid while the node exists, and never reused for a later node.
struct NodeId {
  std::uint32_t index = UINT32_MAX;
  auto operator<=>(const NodeId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

// An argument.
struct Argument {
  using None = argument::None;
  using Dtype = argument::Dtype;
  using Device = argument::Device;
  using Layout = argument::Layout;
  using MemoryFormat = argument::MemoryFormat;
  using GraphRef = argument::GraphRef;
  using Function = argument::Function;
  struct List {
    std::vector<Argument> items;
    bool operator==(const List& other) const { return items == other.items; }
  };
  struct Tuple {
    std::vector<Argument> items;
    std::shared_ptr<const argument::TupleNames> names = nullptr;  // of a named tuple; null for others
    bool operator==(const Tuple& other) const {
      return items == other.items &&
             (names == other.names || (names && other.names && *names == *other.names));
    }
  };
  struct DictItem;  // key and value
  struct Dict {
    std::vector<DictItem> items;  // in insertion order
    bool operator==(const Dict& other) const;
  };
  struct Slice {
    std::vector<Argument> parts;  // always three: start, stop, step; None for an omitted one
    bool operator==(const Slice& other) const { return parts == other.parts; }
  };

  using Variant =
      std::variant<None, bool, std::int64_t, double, std::complex<double>, std::string, List, Tuple, Dict,
                   Slice, NodeId, Dtype, Device, Layout, MemoryFormat, GraphRef, Function>;
  Variant value;

  // What all variants have is compiled once, and not in each file that includes this.
  Argument() noexcept;
  Argument(const Argument& other);
  Argument(Argument&& other) noexcept;
  Argument& operator=(const Argument& other);
  Argument& operator=(Argument&& other) noexcept;
  ~Argument();
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Argument>)
  Argument(T&& v) : value(std::forward<T>(v)) {}  // NOLINT: implicit on purpose, arguments read like literals
  Argument(const char* text);                     // NOLINT
  Argument(int v);                                // NOLINT

  bool operator==(const Argument& other) const;

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
};

struct Argument::DictItem {
  Argument key, value;
  bool operator==(const DictItem& other) const { return key == other.key && value == other.value; }
};
// What destroys or compares a Dict needs the items of one.
inline bool Argument::Dict::operator==(const Dict& other) const { return items == other.items; }
inline Argument::Argument(const char* text) : value(std::string(text)) {}
inline Argument::Argument(int v) : value(std::int64_t{v}) {}

// Returns the items of a list or tuple; null for anything else.
inline const std::vector<Argument>* items_of(const Argument& argument) {
  if (const auto* list = argument.get_if<Argument::List>()) return &list->items;
  const auto* tuple = argument.get_if<Argument::Tuple>();
  return tuple != nullptr ? &tuple->items : nullptr;
}

// Calls f for `argument` and every value nested in it, in pre-order.
template <class F>
void for_each_value(const Argument& argument, F&& f) {
  const auto all = [&](const std::vector<Argument>& items) {
    for (const Argument& item : items) for_each_value(item, f);
  };
  f(argument);
  if (const auto* items = items_of(argument)) {
    all(*items);
  } else if (const auto* slice = argument.get_if<Argument::Slice>()) {
    all(slice->parts);
  } else if (const auto* dict = argument.get_if<Argument::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      for_each_value(key, f);
      for_each_value(item, f);
    }
  }
}

}  // namespace fxtrace
