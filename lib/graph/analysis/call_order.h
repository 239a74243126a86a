// The calls of modules and methods in a graph, in the order of execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace fxtrace::internal {

struct OrderedCall {
  std::string_view module;
  std::string_view method;    // like Scope::method
  std::int64_t number = 0;    // like Scope::call
  std::int64_t position = 0;  // in module_forward_order, from 1; 0 for another method
  std::string_view caller;    // the module whose code calls it; empty when unknown
};

// The calls of Execution::module_forward_order, with the calls of other methods inserted where they begin.
class CallOrder {
 public:
  // The texts refer to `execution`, which must outlive this and not change.
  explicit CallOrder(const Execution& execution);
  explicit CallOrder(Execution&& execution) = delete;

  std::size_t size() const { return calls_.size(); }
  const OrderedCall& operator[](std::size_t call) const { return calls_[call]; }
  auto begin() const { return calls_.begin(); }
  auto end() const { return calls_.end(); }

  // Returns the calls of a module's forward, as indices; null when there are none.
  const std::vector<std::size_t>* find_calls(std::string_view module) const;
  std::optional<std::size_t> find_calls(const Scope& scope) const;

 private:
  void add(std::string_view module, std::string_view method, std::int64_t position, std::string_view caller);

  std::vector<OrderedCall> calls_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> forward_;
  std::unordered_map<std::string_view, std::unordered_map<std::string_view, std::vector<std::size_t>>>
      others_;
};

}  // namespace fxtrace::internal
