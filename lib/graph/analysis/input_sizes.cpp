#include "graph/analysis/input_sizes.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "shapes/tensor_options.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "symbolic/affine.h"

namespace fxtrace::internal {
namespace {

using Kind = Expression::Kind;

// The parts of x.size(1), x.size()[1] or x.shape[1]: the index of the dimension, and x.
struct SizeQuestion {
  const Expression* holder = nullptr;
  std::int64_t dimension = 0;
};

const Expression* asked_for_sizes(const Expression& value) {
  const bool is_call = value.kind() == Kind::kCall && value.parts().size() == 1;
  const Expression& asked = is_call ? value.parts()[0] : value;
  const char* name = is_call ? "size" : "shape";
  return asked.kind() == Kind::kAttribute && asked.name() == name ? asked.parts().data() : nullptr;
}

std::optional<SizeQuestion> size_question(const Expression& value) {
  if (value.kind() != Kind::kCall && value.kind() != Kind::kItem) return std::nullopt;
  if (value.parts().size() != 2 || !value.parts()[1].number()) return std::nullopt;
  const Expression& asked = value.parts()[0];
  const Expression* holder = nullptr;
  if (value.kind() == Kind::kItem) {
    holder = asked_for_sizes(asked);
  } else if (asked.kind() == Kind::kAttribute && asked.name() == "size") {
    holder = asked.parts().data();
  }
  if (holder == nullptr) return std::nullopt;
  return SizeQuestion{holder, *value.parts()[1].number()};
}

}  // namespace

InputSizes::InputSizes(const Graph& graph) {
  for (NodeId id = graph.first(); graph.contains(id); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op == Opcode::kPlaceholder) add(node.target, node.meta, {node.name});
  }
}

InputSizes::InputSizes(const ModuleGraph& graph) : InputSizes(graph.graph) {
  if (!graph.signature) return;
  for (const GraphSignature::Entry& entry : graph.signature->inputs) {
    const auto* name = entry.path.empty() ? nullptr : entry.path[0].get_if<std::string>();
    if (name != nullptr && !by_name_.contains(*name)) others_.insert(*name);
  }
}

bool InputSizes::is_other_input(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return others_.contains(name);
  return !inputs_[found->second].value && !inputs_[found->second].is_tensor;
}

void InputSizes::add(const std::string& name, const Meta& meta, const std::vector<std::string>& other_names) {
  if (!by_name_.emplace(name, inputs_.size()).second) return;
  for (const std::string& other : other_names) by_name_.emplace(other, inputs_.size());
  Input& input =
      inputs_.emplace_back(Input{name, meta.kind() == ValueKind::kTensor || meta.shape, meta.shape, {}});
  for (std::size_t i = 0; meta.shape && i < meta.shape->size(); ++i) {
    const SymInt* size = (*meta.shape)[i].size();
    if (size == nullptr) continue;
    sizes_.push_back(
        {Expression::method(Expression::variable(name), "size", {static_cast<std::int64_t>(i)}), *size});
  }
  if (!meta.value || meta.value->size() == nullptr || meta.kind() != ValueKind::kInt) return;
  input.value = meta.value;
  sizes_.push_back({Expression::variable(name), *meta.value->size()});
}

std::map<std::string, DimensionSource> InputSizes::sources() const {
  std::map<std::string, DimensionSource> sources;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (const auto name = sizes_[i].size.symbol_name()) sources.try_emplace(*name, i, Affine{}, true);
  }
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const SymInt& size = sizes_[i].size;
    if (size.is_number()) continue;
    const std::vector<std::string> names = size.symbols();
    if (names.size() != 1 || sources.contains(names[0])) continue;
    if (const auto affine = find_affine(SymInt::symbol(names[0]), size)) sources[names[0]] = {i, *affine};
  }
  return sources;
}

Expression InputSizes::numerator(const DimensionSource& source) const {
  Expression value = sizes_[source.position].place;
  const auto& [factor, offset, divisor] = source.affine;
  if (factor == -1)
    value = Expression::negative(std::move(value));
  else if (factor != 1)
    value = Expression::binary("*", std::move(value), factor);
  if (offset == 0 || offset == INT64_MIN) return value;
  return Expression::binary(offset < 0 ? "-" : "+", std::move(value), offset < 0 ? -offset : offset);
}

Expression InputSizes::value_of(const DimensionSource& source) const {
  Expression value = numerator(source);
  if (source.affine.divisor == 1) return value;
  return Expression::binary("//", std::move(value), source.affine.divisor);
}

std::optional<Expression> InputSizes::rest_of(const DimensionSource& source) const {
  if (source.affine.divisor == 1) return std::nullopt;
  return Expression::binary("%", numerator(source), source.affine.divisor);
}

const InputSizes::Input* InputSizes::find_input(const Expression& holder) const {
  const auto found = by_name_.find(holder.text());
  return found == by_name_.end() ? nullptr : &inputs_[found->second];
}

bool is_rank(const Expression& value) {
  return value.kind() == Kind::kCall && value.parts().size() == 1 &&
         value.parts()[0].kind() == Kind::kAttribute && value.parts()[0].name() == "dim";
}

Expression InputSizes::over_dimensions(const Expression& condition) const {
  const Expression replaced = condition.replace([&](const Expression& part) -> std::optional<Expression> {
    if (is_rank(part)) {
      const Input* input = find_input(part.parts()[0].parts()[0]);
      if (input != nullptr && input->shape) return static_cast<std::int64_t>(input->shape->size());
    }
    if (const auto question = size_question(part)) {
      const Input* input = find_input(*question->holder);
      if (input == nullptr || !input->shape) return std::nullopt;
      const auto rank = static_cast<std::int64_t>(input->shape->size());
      const std::int64_t place = question->dimension + (question->dimension < 0 ? rank : 0);
      if (place < 0 || place >= rank) return std::nullopt;
      return (*input->shape)[static_cast<std::size_t>(place)];
    }
    if (const SymInt* size = part.size(); size != nullptr && !size->is_number()) {
      std::map<std::string, SymInt> values;  // of inputs that are integers
      for (const std::string& name : size->symbols()) {
        if (is_other_input(name))
          return Expression::item(Expression::variable("inputs"), Expression::text_literal(part.text()));
        const auto found = by_name_.find(name);
        if (found == by_name_.end() || !inputs_[found->second].value) continue;
        values.emplace(name, *inputs_[found->second].value->size());
      }
      if (values.empty()) return std::nullopt;
      try {
        return size->substitute(values);
      } catch (const SymbolicError&) {
        return std::nullopt;
      }
    }
    if (part.kind() != Kind::kItem && part.kind() != Kind::kAttribute && part.kind() != Kind::kVerbatim)
      return std::nullopt;
    const Input* input = find_input(part);
    if (input == nullptr) return std::nullopt;
    return input->value ? *input->value : Expression::variable(input->name);
  });
  return Expression::parse(replaced.text());  // parsed again, so that new sizes are in normal form
}

bool InputSizes::is_told_by_shapes(const Expression& condition) const {
  const Expression left = over_dimensions(condition);
  if (left.kind() == Kind::kConstant) return left.name() == "True";
  return left.relation() == Relation::kEqual && left.parts()[0] == left.parts()[1];
}

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

namespace {

bool lacks_sizes(const Meta& meta) {
  if (meta.items) return std::ranges::any_of(*meta.items, [](const Meta& item) { return lacks_sizes(item); });
  if (meta.shape || meta.value) return false;
  const std::string type = meta.type.value_or("");
  return type.find("Tensor") != std::string::npos || type == "int" || type == "Optional[int]";
}

// Returns the name of an input in options; empty for a part of one.
std::string name_in_options(const ModuleGraph& graph, const Node& input) {
  if (graph.signature) {
    for (const GraphSignature::Entry& entry : graph.signature->inputs) {
      if (entry.node == input.id && entry.path.size() > 1) return "";
    }
  }
  return *input.target;
}

}  // namespace

bool lacks_sizes(const Graph& graph) {
  return std::ranges::any_of(graph.order(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.op == Opcode::kPlaceholder && lacks_sizes(*node.meta);
  });
}

std::string option_to_name_a_size(const GraphCollection& collection, const std::string& name) {
  if (!collection.model.is_torchscript() || collection.graphs.empty()) return "";
  const ModuleGraph& graph = collection.graphs.front();
  for (const NodeId id : graph.graph.order()) {
    const Node& node = graph.graph.node(id);
    const Meta& meta = *node.meta;
    if (node.op != Opcode::kPlaceholder || (meta.type != "Tensor" && meta.type != "Optional[Tensor]"))
      continue;
    const std::string input = name_in_options(graph, node);
    if (input.empty() || (meta.shape && meta.shape->empty())) continue;
    std::string sizes = name;
    for (std::size_t i = 1; meta.shape && i < meta.shape->size(); ++i) sizes += "," + (*meta.shape)[i].text();
    if (!meta.shape) sizes += ",...";
    return "--input " +
           shell_word(input + "=" + (meta.dtype ? dtype_name(*meta.dtype) : "float32") + "[" + sizes + "]");
  }
  return "";
}

}  // namespace fxtrace::internal
