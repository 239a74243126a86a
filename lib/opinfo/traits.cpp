#include "opinfo/traits.h"

#include <algorithm>

#include "opinfo/operator_row.h"

namespace fxtrace::internal {
namespace {

// The names in the alias annotations of a type and its parts, before and after the arrow: (a! -> b).
struct Names {
  std::vector<std::string> before, after;
  bool writes = false;
};
void collect(const SchemaType& type, Names& names) {
  if (type.alias) {
    names.before.insert(names.before.end(), type.alias->before.begin(), type.alias->before.end());
    names.after.insert(names.after.end(), type.alias->after.begin(), type.alias->after.end());
    names.writes = names.writes || type.alias->writes;
  }
  for (const SchemaType& part : type.parts) collect(part, names);
}
Names names_of(const SchemaType& type) {
  Names names;
  collect(type, names);
  return names;
}

bool have_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const std::string& name) { return std::find(b.begin(), b.end(), name) != b.end(); });
}
bool has_any(const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), "*") != names.end();
}

bool is_container(const SchemaType& type) {
  const SchemaType& whole = type.required();
  return whole.is_list() || whole.name == "Dict" || whole.name == "Tuple" || whole.name == "Any";
}

}  // namespace

std::vector<Alias> find_aliases(const Operator& op, const Schema& schema) {
  const Traits all = table_traits(op);
  std::vector<Alias> found;
  for (std::size_t result = 0; result < schema.results.size(); ++result) {
    const Names given = names_of(schema.results[result]);
    for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
      const SchemaType& type = schema.arguments[i].type;
      const Names taken = names_of(type);
      Alias alias{result, i};
      alias.of_elements = is_container(type) != is_container(schema.results[result]);
      if (have_common(given.before, taken.before)) {
        alias.always = given.before.size() == 1 && (all & traits::kMayCopy) == 0;
        alias.may_be_same = taken.writes || (all & traits::kMayBeArgument) != 0;
        found.push_back(alias);
      } else if (has_any(given.before) && (is_container(type) || has_any(taken.after))) {
        alias.always = false;
        found.push_back(alias);
      }
    }
  }
  if (!found.empty() || schema.results.empty()) return found;
  const auto& hidden = facts_of(op.base_name()).hidden_alias;
  if (hidden && hidden->second < schema.arguments.size()) {
    found.push_back({hidden->first, hidden->second, false, true, false});
  } else if ((all & traits::kMayBeArgument) != 0) {
    found.push_back({0, 0, false, true, false});
  }
  return found;
}

}  // namespace fxtrace::internal
