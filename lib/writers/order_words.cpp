#include "writers/order_words.h"

namespace fxtrace::order_words {

std::string place(const UseOrder& order, const UseOrder::Place& place) {
  const std::string number = place.call > 0 ? std::to_string(place.call) : "?";
  return place.graph == 0 ? number : order.graphs[place.graph].module + "#" + number;
}

std::vector<UseOrder::Place> calls_of(const UseOrder::Parameter& parameter) {
  std::vector<UseOrder::Place> places;
  for (const UseOrder::Use& use : parameter.uses) {
    const bool is_known =
        !places.empty() && places.back().graph == use.place.graph && places.back().call == use.place.call;
    if (!is_known) places.push_back(use.place);
  }
  return places;
}

}  // namespace fxtrace::order_words
