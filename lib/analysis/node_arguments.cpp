#include "analysis/node_arguments.h"

#include <string>
#include <utility>

#include "graph/rewrite.h"

namespace fxtrace::internal {

const Argument* NodeArguments::find_argument(std::size_t place) const {
  const SchemaArgument& formal = op_.schema.arguments.at(place);
  return internal::find_argument(node_, formal.keyword_only ? SIZE_MAX : place, formal.name);
}

const Argument* NodeArguments::find_argument(std::string_view name) const {
  const auto place = op_.schema.find_argument(name);
  return place ? find_argument(*place) : nullptr;
}

std::optional<Argument> NodeArguments::value(std::string_view name) const {
  const auto place = op_.schema.find_argument(name);
  if (!place) return std::nullopt;
  const Argument* given = find_argument(*place);
  return given != nullptr ? std::optional(*given) : plain_argument(op_.defaults[*place]);
}

std::optional<std::int64_t> NodeArguments::integer(const Graph& graph, std::string_view name,
                                                   std::optional<std::int64_t> otherwise) const {
  const auto place = op_.schema.find_argument(name);
  const Argument* given = place ? find_argument(*place) : nullptr;
  if (given != nullptr && !given->is<Argument::None>()) return known_integer(graph, *given);
  const SymInt* usual = place ? op_.defaults[*place].integer() : nullptr;
  return usual != nullptr ? usual->number() : otherwise;
}

std::optional<Argument> plain_argument(const AbstractValue& value) {
  if (value.is_none()) return Argument();
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* number = value.get_if<double>()) return *number;
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* integer = value.integer()) {
    const auto number = integer->number();
    return number ? std::optional<Argument>(*number) : std::nullopt;
  }
  const auto* sequence = value.sequence();
  if (sequence == nullptr) return std::nullopt;
  Argument::List list;
  for (const AbstractValue& item : *sequence) {
    auto plain = plain_argument(item);
    if (!plain) return std::nullopt;
    list.items.push_back(*std::move(plain));
  }
  return list;
}

AbstractValue known_value(const Meta& meta) {
  if (meta.shape) {
    auto sizes = meta.sizes();
    return sizes ? AbstractValue{TensorInfo{*std::move(sizes), meta.dtype}} : AbstractValue{};
  }
  const SymInt* number = meta.value ? meta.value->size() : nullptr;
  return number == nullptr ? AbstractValue{} : AbstractValue{*number};
}

}  // namespace fxtrace::internal
