#include "graph/dimension_places.h"

#include <algorithm>

#include "support/identifier.h"
#include "symbolic/affine.h"

namespace fxtrace {
namespace {

// A name that no dimension has.
std::string stand_in(std::size_t place) { return "_place_" + std::to_string(place) + "_"; }

}  // namespace

const std::string& input_name(const Node& placeholder) {
  return is_identifier(*placeholder.target) ? *placeholder.target : placeholder.name;
}

DimensionPlaces::DimensionPlaces(const Graph& graph) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op != Opcode::kPlaceholder) break;
    const std::string name = input_name(node);
    const auto add = [&](const Expression& stated, std::int64_t index) {
      const SymInt* size = stated.size();
      if (size == nullptr || size->is_number()) return;
      places_.push_back(
          {id, index, *size, index == kInteger ? name : name + ".size(" + std::to_string(index) + ")"});
    };
    if (node.meta->value) add(*node.meta->value, kInteger);
    if (!node.meta->shape) continue;
    for (std::size_t i = 0; i < node.meta->shape->size(); ++i)
      add((*node.meta->shape)[i], static_cast<std::int64_t>(i));
  }
  // A size of a tensor by itself, else an integer, else the first that tells the name.
  for (const bool is_plain : {true, false}) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto name = places_[i].size.symbol_name();
      if (name && (places_[i].index != kInteger) == is_plain)
        definitions_.try_emplace(*name, Definition{i, 1, 0, 1, is_plain});
    }
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::vector<std::string> names = places_[i].size.symbols();
    if (names.size() != 1 || definitions_.contains(names[0])) continue;
    const auto line = find_affine(SymInt::symbol(names[0]), places_[i].size);
    if (line) definitions_.emplace(names[0], Definition{i, line->factor, line->offset, line->divisor, false});
  }
}

const DimensionPlaces::Place* DimensionPlaces::find(NodeId input, std::int64_t index) const {
  const auto found = std::ranges::find_if(
      places_, [&](const Place& place) { return place.input == input && place.index == index; });
  return found == places_.end() ? nullptr : &*found;
}

// How a size follows from that of one of the first places, whatever the names in it are.
std::optional<DimensionPlaces::Definition> DimensionPlaces::from_whole(const SymInt& size,
                                                                       std::size_t places) const {
  for (std::size_t i = 0; i < places; ++i) {
    if (const auto line = find_affine(size, places_[i].size))
      return Definition{i, line->factor, line->offset, line->divisor, false};
  }
  return std::nullopt;
}

// The size with stand-ins for places instead of names.
SymInt DimensionPlaces::over_places(const SymInt& size, bool keeps_plain) const {
  const std::vector<std::string> names = size.symbols();
  const auto told = [](const Definition& definition) {
    const auto& [place, factor, offset, divisor, is_plain] = definition;
    return floordiv(SymInt::symbol(stand_in(place)) * factor + offset, divisor);
  };
  if (std::ranges::all_of(names, [&](const std::string& name) { return definitions_.contains(name); })) {
    std::map<std::string, SymInt> values;
    for (const std::string& name : names) {
      const Definition& definition = definitions_.at(name);
      if (!(keeps_plain && definition.is_plain)) values.emplace(name, told(definition));
    }
    return size.substitute(values);
  }
  const auto whole = from_whole(size, places_.size());
  return whole ? told(*whole) : size;
}

std::string DimensionPlaces::with_texts(const SymInt& size) const {
  std::string text = size.text();
  for (std::size_t i = places_.size(); i-- > 0;) {
    const std::string name = stand_in(i);
    for (std::size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + places_[i].text.size()))
      text.replace(at, name.size(), places_[i].text);
  }
  return text;
}

std::vector<Expression> DimensionPlaces::conditions(NodeId input, std::int64_t index) const {
  const Place* place = find(input, index);
  if (place == nullptr) return {};
  const auto here = static_cast<std::size_t>(place - places_.data());
  const std::vector<std::string> names = place->size.symbols();
  const Definition* own = nullptr;  // of a name, by this place
  bool all_known = true;
  for (const std::string& name : names) {
    const auto known = definitions_.find(name);
    all_known = all_known && known != definitions_.end();
    if (known != definitions_.end() && known->second.place == here) own = &known->second;
  }
  const auto condition = [&](const char* relation, const SymInt& left, const SymInt& right) {
    return Expression::comparison(relation, Expression::parse(with_texts(over_places(left, false))),
                                  Expression::parse(with_texts(over_places(right, false))));
  };
  const SymInt size = SymInt::symbol(stand_in(here));
  std::vector<Expression> conditions;
  if (own == nullptr) {
    if (all_known || from_whole(place->size, here)) conditions.push_back(condition("==", size, place->size));
    return conditions;
  }
  // A dimension is a whole number, and not negative.
  const SymInt multiple = size * own->factor + own->offset;
  if (own->divisor != 1) conditions.push_back(condition("==", mod(multiple, own->divisor), 0));
  if (own->offset < 0) conditions.push_back(condition(">=", size * own->factor, -own->offset));
  if (own->offset == 0 && index == kInteger) conditions.push_back(condition(">=", size, 0));
  return conditions;
}

Expression DimensionPlaces::over_inputs(const Expression& condition) const {
  bool changes = false;
  const auto has_place = [&](const std::string& name) {
    const auto known = definitions_.find(name);
    return known == definitions_.end() || !known->second.is_plain;
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
    // x.size(0) >= 2, for x.size(0)-1 >= 1.
    std::map<std::string, std::int64_t> zeros;
    for (const std::string& name : one.symbols()) zeros.emplace(name, 0);
    const SymInt constant = one.evaluate(zeros).value_or(0);
    one = one - constant;
    other = other - constant;
  }
  return Expression::comparison(condition.name(), Expression::parse(with_texts(one)),
                                Expression::parse(with_texts(other)));
}

}  // namespace fxtrace
