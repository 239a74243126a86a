#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/words.h"
#include "writers/csv_text.h"
#include "writers/order_words.h"
#include "writers/order_writers.h"

namespace fxtrace {
namespace {

constexpr std::string_view kColumns =
    "kind number name type status dtype shape elements bytes first_call calls uses other_names bucket";

constexpr const char* kSeparator = "; ";

class OrderCsvWriter {
 public:
  OrderCsvWriter(const UseOrder& order, std::ostream& out) : order_(order), csv_(out, kColumns) {
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
  void number(std::int64_t number) { number > 0 ? csv_.cell(number) : csv_.cell(""); }

  void places(const std::vector<UseOrder::Place>& places, std::int64_t count) {
    csv_.cell(places.empty() ? "" : order_words::place(order_, places.front()));
    csv_.cell(
        joined(places, [&](const auto& place) { return order_words::place(order_, place); }, kSeparator));
    csv_.cell(count);
  }

  void module(const UseOrder::Module& module, std::int64_t place) {
    csv_.cell("module");
    number(place);
    csv_.cell(module.path);
    csv_.cell(module.type);
    csv_.cell(to_string(module.status));
    csv_.cell("");
    csv_.cell("");
    csv_.cell(module.parameters.elements);
    csv_.cell(module.parameters.bytes);
    places(module.calls, static_cast<std::int64_t>(module.calls.size()));
    csv_.cell(joined(module.shared, {}, kSeparator));
    csv_.cell("");
    csv_.end_row();
  }

  void parameter(const UseOrder::Parameter& parameter, std::int64_t place) {
    csv_.cell("parameter");
    number(place);
    csv_.cell(parameter.name);
    csv_.cell("");
    csv_.cell("");
    csv_.cell(parameter.dtype);
    csv_.cell("[" + joined(parameter.shape, [](std::int64_t size) { return std::to_string(size); }) + "]");
    csv_.cell(element_count(parameter.shape));
    csv_.cell(parameter.bytes);
    places(order_words::calls_of(parameter), parameter.use_count);
    csv_.cell(joined(parameter.tied, {}, kSeparator));
    number(place > 0 && order_.buckets ? bucket_of_[static_cast<std::size_t>(place - 1)] : 0);
    csv_.end_row();
  }

  const UseOrder& order_;
  Csv csv_;
  std::vector<std::int64_t> bucket_of_;  // by parameter
};

}  // namespace

void write_order_csv(const UseOrder& order, std::ostream& out) { OrderCsvWriter(order, out).document(); }

}  // namespace fxtrace
