#include "torchscript/operators/operator_table.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <span>
#include <utility>

#include "support/error.h"
#include "support/text/words.h"

namespace fxtrace::internal::torchscript {
namespace {

using namespace std::string_view_literals;  // NOLINT: for the rows

// The operators whose overloads LibTorch tries in an order other than that of their names: the name, and the
// overloads; "-" is the one without a name.  The order decides when several fit.  Sorted by name;
// tests/python/test_script.py compares it with torch.
constexpr std::string_view kOrders[] = {
#include "schemas/operators/overload_order.inc"
};

// Returns the place of an overload in the order; overloads that are not in it come last.
std::size_t rank_in(std::string_view order, std::string_view overload) {
  return find_word(order, overload.empty() ? "-" : overload).value_or(order.size());
}

// Returns a class that a schema names.  Classes are compared by name, so it equals the model's own.
TypePtr torchbind_class(const std::string& name) {
  return std::make_shared<ClassType>(name, ClassType::Form::kTorchBind);
}

class Registered {
 public:
  const std::vector<const FunctionSchema*>& schemas_named(Symbol name) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
    std::vector<const Operator*> rows;
    const std::string_view text = to_text(name);
    static const auto table = registered_operators();
    for (const Operator& row : internal::overloads(text)) {
      if (&row >= table.data() && &row < table.data() + table.size()) rows.push_back(&row);
    }
    static const std::vector<const FunctionSchema*> none;
    if (rows.empty()) return none;  // not remembered: files may have any number of unknown names
    const auto name_of = [](std::string_view order) { return order.substr(0, order.find(' ')); };
    const auto* const order = std::ranges::lower_bound(kOrders, text, {}, name_of);
    if (order != std::end(kOrders) && name_of(*order) == text) {
      std::ranges::stable_sort(rows, {}, [&](const Operator* row) {
        return rank_in(order->substr(text.size() + 1), row->overload());
      });
    }
    std::vector<const FunctionSchema*>& result = by_name_[name];
    for (const Operator* row : rows) {
      auto schema =
          std::make_unique<FunctionSchema>(function_schema(row->name, row->schema(), torchbind_class));
      schema->symbol = name;
      schema->row = row;
      result.push_back(schema.get());
      schemas_.push_back(std::move(schema));
    }
    return result;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Symbol, std::vector<const FunctionSchema*>> by_name_;
  std::vector<std::unique_ptr<FunctionSchema>> schemas_;
};

}  // namespace

const std::vector<const FunctionSchema*>& registered_overloads(Symbol name) {
  static Registered registered;
  return registered.schemas_named(name);
}

std::vector<const FunctionSchema*> OperatorTable::overloads(Symbol name) const {
  std::vector<const FunctionSchema*> result = registered_overloads(name);
  if (const auto own = declared_.find(name); own != declared_.end()) {
    for (const auto& schema : own->second) result.push_back(schema.get());
  }
  return result;
}

bool OperatorTable::has(Symbol name) const {
  return declared_.contains(name) || !registered_overloads(name).empty();
}

const FunctionSchema* OperatorTable::find_schema(std::string_view full_name) const {
  const auto dot = full_name.find('.');
  const std::string_view overload =
      dot == std::string_view::npos ? std::string_view() : full_name.substr(dot + 1);
  for (const FunctionSchema* schema : overloads(intern(full_name.substr(0, dot)))) {
    if (schema->overload_name == overload) return schema;
  }
  return nullptr;
}

const FunctionSchema* OperatorTable::declare(std::string_view schema, const ResolveClass& resolve) {
  auto own = std::make_unique<FunctionSchema>(parse_function_schema(schema, resolve));
  if (own->name.find("::") == std::string::npos)
    throw input_error("the schema '" + std::string(schema) +
                      "' has no operator name of the form namespace::name");
  own->symbol = intern(own->name);
  const FunctionSchema* result = own.get();
  declared_[own->symbol].push_back(std::move(own));
  return result;
}

}  // namespace fxtrace::internal::torchscript
