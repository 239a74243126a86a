#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/text_form.h"
#include "support/words.h"
#include "writers/csv_text.h"
#include "writers/order_words.h"
#include "writers/order_writers.h"

namespace fxtrace {
namespace {

constexpr std::string_view kOrderColumns =
    "kind number name type status dtype shape elements bytes first_call calls uses other_names bucket macs";

constexpr const char* kSeparator = "; ";

class OrderCsvWriter {
 public:
  OrderCsvWriter(const UseOrder& order, std::ostream& out) : order_(order), csv_(out, kOrderColumns) {
    if (!order.buckets) return;
    bucket_of_.resize(order.parameters.size());
    std::int64_t number = 0;
    for (const UseOrder::Bucket& bucket : order.buckets->list) {
      ++number;
      for (const std::size_t parameter : bucket.parameters) bucket_of_[parameter] = number;
    }
  }

  void document() {
    std::int64_t number = 0;
    for (const auto& item : order_.modules) module(item, ++number);
    number = 0;
    for (const auto& item : order_.parameters) parameter(item, ++number);
    for (const auto& item : order_.never_called) module(item, 0);
    for (const auto& item : order_.unused) parameter(item, 0);
  }

 private:
  static std::string number(std::int64_t number) { return number > 0 ? std::to_string(number) : ""; }

  std::string first(const std::vector<UseOrder::Place>& places) const {
    return places.empty() ? "" : order_words::place(order_, places.front());
  }
  std::string all(const std::vector<UseOrder::Place>& places) const {
    return joined(places, [&](const auto& place) { return order_words::place(order_, place); }, kSeparator);
  }

  void module(const UseOrder::Module& module, std::int64_t place) {
    const std::string name = module.path + (module.method.empty() ? "" : "." + module.method + "()");
    csv_.row("module", number(place), name, module.type, to_string(module.status), "", "",
             module.parameters.elements, module.parameters.bytes, first(module.calls), all(module.calls),
             static_cast<std::int64_t>(module.calls.size()), joined(module.shared, {}, kSeparator), "",
             module.macs);
  }

  void parameter(const UseOrder::Parameter& parameter, std::int64_t place) {
    const auto calls = order_words::calls_of(parameter);
    const bool has_bucket = place > 0 && order_.buckets;
    csv_.row("parameter", number(place), parameter.name, "", "", parameter.dtype, shape_text(parameter.shape),
             parameter.elements, parameter.bytes, first(calls), all(calls), parameter.use_count,
             joined(parameter.tied, {}, kSeparator),
             number(has_bucket ? bucket_of_[static_cast<std::size_t>(place - 1)] : 0), "");
  }

  const UseOrder& order_;
  Csv csv_;
  std::vector<std::int64_t> bucket_of_;  // by parameter
};

}  // namespace

void write_order_csv(const UseOrder& order, std::ostream& out) { OrderCsvWriter(order, out).document(); }

}  // namespace fxtrace
