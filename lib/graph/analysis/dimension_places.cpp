#include "graph/analysis/dimension_places.h"

#include <algorithm>

#include "support/text/identifier.h"
#include "symbolic/affine.h"

namespace fxtrace::internal {
namespace {

// Returns the symbol of a place inside polynomials: a name that no dimension has.
std::string stand_in(std::size_t place) { return "_place_" + std::to_string(place) + "_"; }

}  // namespace

const std::string& input_name(const Node& placeholder) {
  return is_identifier(*placeholder.target) ? *placeholder.target : placeholder.name;
}

DimensionPlaces::DimensionPlaces(const Graph& graph) : graph_(graph) {
  const InputSizes inputs(graph);
  places_ = inputs.sizes();
  sources_ = inputs.sources();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    position_.emplace(places_[i].place.text(), i);
  }
  // An integer input that is a dimension is a place: guards write the input's name, not the dimension's.
  for (auto& [name, source] : sources_)
    source.is_plain = source.is_plain && places_[source.position].place.kind() == Expression::Kind::kCall;
}

// Returns how a size follows as a whole from that of one of the first `places` places, whatever dimensions
// are in it.
std::optional<DimensionSource> DimensionPlaces::from_whole(const SymInt& size, std::size_t places) const {
  for (std::size_t i = 0; i < places; ++i) {
    if (const auto line = find_affine(size, places_[i].size)) return DimensionSource{i, *line, false};
  }
  return std::nullopt;
}

// Returns the size with the symbols of places instead of dimensions; with `keeps_plain`, dimensions that are
// a size of an input by themselves remain.
SymInt DimensionPlaces::over_places(const SymInt& size, bool keeps_plain) const {
  const std::vector<std::string> names = size.symbols();
  const auto value_at = [](const DimensionSource& source) {
    return source.affine.apply(SymInt::symbol(stand_in(source.position)));
  };
  if (std::ranges::all_of(names, [&](const std::string& name) { return sources_.contains(name); })) {
    std::map<std::string, SymInt> values;
    for (const std::string& name : names) {
      const DimensionSource& source = sources_.at(name);
      if (!(keeps_plain && source.is_plain)) values.emplace(name, value_at(source));
    }
    return size.substitute(values);
  }
  const auto whole = from_whole(size, places_.size());
  return whole ? value_at(*whole) : size;
}

std::string DimensionPlaces::with_texts(const SymInt& size) const {
  std::string text = size.text();
  for (std::size_t i = places_.size(); i-- > 0;) {
    const std::string name = stand_in(i);
    for (std::size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + places_[i].place.text().size()))
      text.replace(at, name.size(), places_[i].place.text());
  }
  return text;
}

std::vector<Expression> DimensionPlaces::conditions(NodeId input, std::int64_t index) const {
  const std::string& name = input_name(graph_.node(input));
  const auto place = position_.find(index == kInteger ? name : name + ".size(" + std::to_string(index) + ")");
  if (place == position_.end()) return {};
  const std::size_t here = place->second;
  const SymInt& stated = places_[here].size;
  const Affine* own = nullptr;  // of the dimension that this place defines
  bool all_known = true;
  for (const std::string& dimension : stated.symbols()) {
    const auto known = sources_.find(dimension);
    all_known = all_known && known != sources_.end();
    if (known != sources_.end() && known->second.position == here) own = &known->second.affine;
  }
  const auto condition = [&](const char* relation, const SymInt& left, const SymInt& right) {
    return Expression::comparison(relation, Expression::parse(with_texts(over_places(left, false))),
                                  Expression::parse(with_texts(over_places(right, false))));
  };
  const SymInt size = SymInt::symbol(stand_in(here));
  std::vector<Expression> conditions;
  if (own == nullptr) {
    if (all_known || from_whole(stated, here)) conditions.push_back(condition("==", size, stated));
    return conditions;
  }
  // A dimension is an integer, and not negative.
  if (own->divisor != 1) conditions.push_back(condition("==", mod(own->numerator(size), own->divisor), 0));
  if (own->factor < 0) {
    conditions.push_back(condition("<=", size * -own->factor, own->offset));
  } else if (own->offset == 0 && index == kInteger) {
    conditions.push_back(condition(">=", size, 0));
  } else if (own->offset < 0 || index == kInteger) {
    conditions.push_back(condition(">=", size * own->factor, -own->offset));
  }
  return conditions;
}

Expression DimensionPlaces::over_inputs(const Expression& condition) const {
  bool changes = false;
  const auto has_place = [&](const std::string& name) {
    const auto known = sources_.find(name);
    return known == sources_.end() || !known->second.is_plain;
  };
  condition.map_sizes([&](const SymInt& size) {
    changes = changes || std::ranges::any_of(size.symbols(), has_place);
    return size;
  });
  if (!changes) return condition;
  if (condition.kind() != Expression::Kind::kComparison || condition.parts().size() != 2) return condition;
  const SymInt* left = condition.parts()[0].size();
  const SymInt* right = condition.parts()[1].size();
  if (left == nullptr || right == nullptr) return condition;
  SymInt one = over_places(*left, true), other = over_places(*right, true);
  if (other.is_number()) {
    // x.size(0)-1 >= 1 becomes x.size(0) >= 2.
    std::map<std::string, std::int64_t> zeros;
    for (const std::string& name : one.symbols()) zeros.emplace(name, 0);
    const SymInt constant = one.evaluate(zeros).value_or(0);
    one = one - constant;
    other = other - constant;
  }
  return Expression::comparison(condition.name(), Expression::parse(with_texts(one)),
                                Expression::parse(with_texts(other)));
}

}  // namespace fxtrace::internal
