// Values that stand in a node's args and kwargs, as in torch.fx: plain Python values, containers of them, and
// references to nodes.  A closed set: no LibTorch value and no JSON in here.
#pragma once

#include <compare>
#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fxtrace {

// A node of one graph.  Stable while the node lives; never reused for another node that comes later.
struct NodeId {
  std::uint32_t index = UINT32_MAX;
  auto operator<=>(const NodeId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

struct Argument {
  struct None {
    bool operator==(const None&) const = default;
  };
  struct List {
    std::vector<Argument> items;
    bool operator==(const List& other) const;
  };
  struct Tuple {
    std::vector<Argument> items;
    bool operator==(const Tuple& other) const;
  };
  struct DictItem;  // key and value
  struct Dict {
    std::vector<DictItem> items;  // in insertion order
    bool operator==(const Dict& other) const;
  };
  struct Slice {
    std::vector<Argument> parts;  // always three: start, stop, step; None where left out
    bool operator==(const Slice& other) const;
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
    std::string name;  // key of the graph's subgraphs
    bool operator==(const GraphRef&) const = default;
  };
  struct Function {
    std::string name;  // written as the target of a call_function: aten.sin.default
    bool operator==(const Function&) const = default;
  };

  using Variant =
      std::variant<None, bool, std::int64_t, double, std::complex<double>, std::string, List, Tuple, Dict,
                   Slice, NodeId, Dtype, Device, Layout, MemoryFormat, GraphRef, Function>;
  Variant value;

  Argument();
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

// Out of the class, because they need all of its alternatives complete.
inline Argument::Argument() = default;
inline Argument::Argument(const char* text) : value(std::string(text)) {}
inline Argument::Argument(int v) : value(std::int64_t{v}) {}
inline bool Argument::operator==(const Argument& other) const { return value == other.value; }
inline bool Argument::List::operator==(const List& other) const { return items == other.items; }
inline bool Argument::Tuple::operator==(const Tuple& other) const { return items == other.items; }
inline bool Argument::Dict::operator==(const Dict& other) const { return items == other.items; }
inline bool Argument::Slice::operator==(const Slice& other) const { return parts == other.parts; }

// Calls f(NodeId) for every reference in `argument`, in order, nested ones included.
template <class F>
void for_each_node(const Argument& argument, F&& f) {
  if (const auto* id = argument.get_if<NodeId>()) {
    f(*id);
  } else if (const auto* list = argument.get_if<Argument::List>()) {
    for (const auto& item : list->items) for_each_node(item, f);
  } else if (const auto* tuple = argument.get_if<Argument::Tuple>()) {
    for (const auto& item : tuple->items) for_each_node(item, f);
  } else if (const auto* slice = argument.get_if<Argument::Slice>()) {
    for (const auto& part : slice->parts) for_each_node(part, f);
  } else if (const auto* dict = argument.get_if<Argument::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      for_each_node(key, f);
      for_each_node(item, f);
    }
  }
}

}  // namespace fxtrace
