#include "compare/comparer.h"

#include "graph/text_form.h"
#include "support/qualified_name.h"

namespace fxtrace {

void Comparer::compare_parameters() {
  std::unordered_map<std::string, const ParameterRecord*> others;
  for (const ParameterRecord& record : after_.collection.parameters)
    others.emplace(pairs_.parameter_before(record.name), &record);
  const auto one_sided = [&](const ParameterRecord& record, Change change, std::string_view path,
                             std::optional<std::string> cover) {
    if (is_constant(record, change == Change::kAdded)) return;
    Difference difference{.kind = DifferenceKind::kParameters, .change = change, .subject = record.name};
    const bool is_object = record.kind == ParameterKind::kCustomObject;
    (change == Change::kAdded ? difference.after : difference.before) =
        is_object ? record.type : record.dtype + shape_text(record.shape);
    difference.within = std::move(cover);
    if (difference.within && !is_object) {
      add_saturated(groups_[group_of(*difference.within)].parameters, element_count(record.shape));
    }
    add(path, std::move(difference));
  };
  for (const ParameterRecord& record : before_.collection.parameters) {
    const std::string_view path = QualifiedName(record.name).parent();
    const auto found = others.find(record.name);
    if (found == others.end()) {
      one_sided(record, Change::kRemoved, path, gone_with(path));
      continue;
    }
    const ParameterRecord& other = *found->second;
    compare_parameter(record, other);
    const bool was_used = !before_.unused.contains(record.name);
    const bool is_used = !after_.unused.contains(other.name);
    if (was_used != is_used) {
      add_change(path, DifferenceKind::kParameters, record.name, "use", was_used ? "used" : "unused",
                 is_used ? "used" : "unused");
    }
    others.erase(found);
  }
  for (const ParameterRecord& record : after_.collection.parameters) {
    const auto found = others.find(pairs_.parameter_before(record.name));
    if (found == others.end() || found->second != &record) continue;
    const std::string_view path = pairs_.path_before(QualifiedName(record.name).parent());
    one_sided(record, Change::kAdded, path, gone_with(path));
  }
}

bool Comparer::is_constant(const ParameterRecord& record, bool is_added) const {
  return two_kinds_ && side(is_added).constants.contains(record.name);
}

std::optional<std::string> Comparer::gone_with(std::string_view path) const {
  const std::size_t i = pairs_.before().find(path);
  if (i != kNone) return pairs_.before().partner(i) == kNone ? cover(false, path) : std::nullopt;
  return cover(true, path);
}

void Comparer::compare_parameter(const ParameterRecord& a, const ParameterRecord& b) {
  const std::string_view path = QualifiedName(a.name).parent();
  const auto change = [&](const char* field, std::optional<std::string> before,
                          std::optional<std::string> after) {
    resized_.insert(std::string(path));
    add_change(path, DifferenceKind::kParameters, a.name, field, std::move(before), std::move(after));
  };
  if (a.kind != b.kind) change("kind", to_string(a.kind), to_string(b.kind));
  if (a.shape != b.shape) change("shape", shape_text(a.shape), shape_text(b.shape));
  if (a.dtype != b.dtype) change("dtype", a.dtype, b.dtype);
  if (a.type != b.type) change("type", a.type, b.type);
  if (a.device != b.device) change("device", a.device.value_or("cpu"), b.device.value_or("cpu"));
  std::optional<std::string> alias = b.alias_of;
  if (alias) alias = pairs_.parameter_before(*alias);
  if (a.alias_of != alias) change("alias_of", a.alias_of, b.alias_of);
}

bool Comparer::is_same_parameter(const std::string& a, const std::string& b) const {
  return a == pairs_.parameter_before(b) ||
         before_.first_name(a) == pairs_.parameter_before(after_.first_name(b));
}

}  // namespace fxtrace
