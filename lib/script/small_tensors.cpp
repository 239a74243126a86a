#include "script/small_tensors.h"

#include "script/small_array.h"
#include "support/error.h"

namespace fxtrace::script {
bool is_small(const TensorValue& tensor) {
  return tensor.elements != nullptr && tensor.layout == TensorLayout::kStrided &&
         is_known_type(tensor.dtype) && tensor.numel() <= kMaxKnownElements;
}

std::optional<std::vector<Value>> compute_small(std::string_view name, Arguments arguments) {
  static const PlainIndex index =
      index_by_name({elementwise_operators(), view_operators(), reduction_operators(), creation_operators()});
  const PlainOperator* row = find_row(index, name);
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
