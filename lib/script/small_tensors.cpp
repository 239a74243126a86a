#include "script/small_tensors.h"

#include <algorithm>

#include "script/small_array.h"
#include "support/error.h"

namespace fxtrace::script {
namespace {

const PlainOperator* find_row(std::string_view name) {
  static const std::vector<PlainOperator> rows = [] {
    std::vector<PlainOperator> all;
    for (const PlainTable& table :
         {elementwise_operators(), view_operators(), reduction_operators(), creation_operators()}) {
      all.insert(all.end(), table.begin(), table.end());
    }
    std::ranges::sort(all, {}, &PlainOperator::name);
    return all;
  }();
  const auto found = std::ranges::lower_bound(rows, name, {}, &PlainOperator::name);
  return found != rows.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

bool is_small(const TensorValue& tensor) {
  return tensor.elements != nullptr && tensor.layout == TensorLayout::kStrided &&
         is_known_type(tensor.dtype) && tensor.numel() <= kMaxKnownElements;
}

std::optional<std::vector<Value>> compute_small(std::string_view name, Arguments arguments) {
  const PlainOperator* row = find_row(name);
  if (row == nullptr) return std::nullopt;
  std::vector<Value> results;
  try {
    row->run(arguments, results);
  } catch (const NotKnown&) {
    return std::nullopt;
  } catch (const Raised&) {
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInternal) throw;
    return std::nullopt;  // an argument of another type
  }
  return results;
}

}  // namespace fxtrace::script
