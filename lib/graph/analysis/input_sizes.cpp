#include "graph/analysis/input_sizes.h"

#include <cstdint>
#include <functional>
#include <utility>

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

}  // namespace fxtrace::internal
