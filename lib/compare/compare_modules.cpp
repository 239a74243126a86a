// Compares modules of two collections: types, states and plain values.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "compare/comparer.h"
#include "graph/analysis/text_form.h"
#include "operators/names/modules.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

std::string failure_text(const Failure& failure) {
  return std::string(to_string(failure.kind)) + ": " + failure.message;
}

std::string status_text(const ModuleRecord& module) {
  std::string text = to_string(module.status);
  if (module.status == ModuleStatus::kFailed && module.failure) text += ": " + module.failure->message;
  return text;
}

}  // namespace

bool Comparer::is_unseen(const ModuleRecord& called, const ModuleRecord& other, bool is_added) const {
  if (side(!is_added).is_torchscript() || other.status != ModuleStatus::kUnvisited) return false;
  if (called.status == ModuleStatus::kTraced)
    return two_kinds_ && !side(is_added).working.contains(called.path);
  return called.status == ModuleStatus::kLeaf &&
         (traits_of_module(called.type) & module_traits::kIdentity) != 0;
}

bool Comparer::is_unseen(const ModuleRecord& a, const ModuleRecord& b) const {
  return is_unseen(a, b, false) || is_unseen(b, a, true);
}

bool Comparer::is_unseen_call(const Node& node, bool is_added) const {
  if (node.op != Opcode::kCallModule) return false;
  const PairedModules& modules = pairs_.side(is_added);
  const std::size_t called = modules.find_module(called_module(node));
  if (called == kNone || !modules.has_partner(called)) return false;
  return is_unseen(modules[called], pairs_.side(!is_added)[modules.partner(called)], is_added);
}

void Comparer::compare_modules() {
  const auto for_each_module = [](const PairedModules& modules, auto&& f) {
    for (std::size_t i = 0; i < modules.modules.size(); ++i) {
      if (modules.find_module(modules[i].path) == i) f(i);
    }
  };
  for_each_module(pairs_.before(), [&](std::size_t i) {
    if (pairs_.before().has_partner(i)) {
      compare_module(i, pairs_.before().partner(i));
    } else {
      one_sided_module(i, Change::kRemoved);
    }
  });
  for_each_module(pairs_.after(), [&](std::size_t j) {
    if (!pairs_.after().has_partner(j)) one_sided_module(j, Change::kAdded);
  });
}

void Comparer::one_sided_module(std::size_t module, Change change) {
  const bool is_added = change == Change::kAdded;
  const PairedModules& modules = pairs_.side(is_added);
  Difference difference{.kind = DifferenceKind::kModules, .change = change, .subject = modules[module].path};
  const std::string path(is_added ? pairs_.path_before(difference.subject) : difference.subject);
  // The difference of the module that is wrapped covers the wrapper.
  difference.within = modules.is_wrapper(module)
                          ? path
                          : unless_itself(cover(is_added, difference.subject), difference.subject);
  if (!difference.within) ++groups_[group_of(path)].modules;
  add(path, std::move(difference));
}

void Comparer::compare_module(std::size_t i, std::size_t j) {
  const ModuleRecord& a = pairs_.before()[i];
  const ModuleRecord& b = pairs_.after()[j];
  const auto within = unless_itself(cover(false, a.path), a.path);
  const auto change = [&](const char* field, std::optional<std::string> before,
                          std::optional<std::string> after) {
    add_change(a.path, DifferenceKind::kModules, a.path, field, std::move(before), std::move(after), within);
  };
  if (a.path != b.path && !is_moved_with_parent(i, j)) {
    Difference moved{
        .kind = DifferenceKind::kModules, .change = Change::kMoved, .subject = a.path, .other = b.path};
    const std::size_t left = pairs_.before().wrapper_of(i);
    const std::size_t entered = pairs_.after().wrapper_of(j);
    if (left != kNone) moved.before = pairs_.before()[left].type;
    if (entered != kNone) moved.after = pairs_.after()[entered].type;
    if (moved.before || moved.after) moved.field = "wrapper";
    add(a.path, std::move(moved));
  }
  if (qualified_type(a.type) != qualified_type(b.type) && !a.type.empty() && !b.type.empty())
    change("type", a.type, b.type);
  if (a.status != b.status) {
    if (!is_unseen(a, b)) change("status", status_text(a), status_text(b));
  } else if (a.failure && b.failure && failure_text(*a.failure) != failure_text(*b.failure)) {
    change("failure", failure_text(*a.failure), failure_text(*b.failure));
  }
  std::optional<std::string> alias = b.alias_of;
  if (alias) alias = std::string(pairs_.path_before(*alias));
  if (a.alias_of != alias) change("alias_of", a.alias_of, b.alias_of);
  const std::size_t parent = pairs_.before().parents[i];
  const std::size_t parent_after = parent == kNone ? kNone : pairs_.before().partner(parent);
  const bool follows_parent =
      parent_after != kNone && pairs_.before()[parent].calls != pairs_.after()[parent_after].calls;
  if (a.calls != b.calls && a.status == b.status && !follows_parent) {
    add_change(a.path, DifferenceKind::kOrder, a.path, "calls", std::to_string(a.calls),
               std::to_string(b.calls), within);
  }
  compare_attributes(a, b);
}

bool Comparer::is_moved_with_parent(std::size_t i, std::size_t j) const {
  const std::size_t parent = pairs_.before().parents[i];
  return parent != kNone && pairs_.before().partner(parent) == pairs_.after().parents[j] &&
         QualifiedName(pairs_.before()[i].path).last() == QualifiedName(pairs_.after()[j].path).last();
}

bool Comparer::has_all_attributes(const GraphCollection& collection) {
  return collection.model.is_torchscript() &&
         std::ranges::any_of(collection.modules, [](const ModuleRecord& module) {
           return std::ranges::any_of(module.attributes, [](const auto& attribute) {
             return attribute.first != "training" && attribute.first != "_is_full_backward_hook";
           });
         });
}

bool Comparer::is_repeated(const Argument& number, const Argument& list) {
  const auto* items = list.get_if<Argument::List>();
  return items != nullptr && !items->items.empty() && number.get_if<Argument::List>() == nullptr &&
         std::ranges::all_of(items->items, [&](const Argument& item) { return is_same_plain(number, item); });
}

bool Comparer::is_equal_number(const Argument& a, const Argument& b) {
  const auto* integer = (a.is<double>() ? b : a).get_if<std::int64_t>();
  const auto* real = (a.is<double>() ? a : b).get_if<double>();
  return integer != nullptr && real != nullptr && static_cast<double>(*integer) == *real;
}

void Comparer::compare_attributes(const ModuleRecord& a, const ModuleRecord& b) {
  if (a.attributes.empty() && b.attributes.empty()) return;
  std::map<std::string_view, const Argument*> others;
  for (const auto& [name, value] : b.attributes) others.emplace(name, &value);
  const bool are_known = all_attributes_ && qualified_type(a.type) == qualified_type(b.type);
  const bool is_exported = !before_.is_torchscript() || !after_.is_torchscript();
  const auto change = [&](std::string_view name, const Argument* before, const Argument* after) {
    const auto is_none = [](const Argument* value) {
      return value == nullptr || value->get_if<Argument::None>() != nullptr;
    };
    if (before == nullptr || after == nullptr ? !are_known || (is_none(before) && is_none(after))
                                              : is_same_plain(*before, *after))
      return;
    if (before != nullptr && after != nullptr && is_exported &&
        (is_equal_number(*before, *after) || is_repeated(*before, *after) || is_repeated(*after, *before)))
      return;
    const auto text = [&](const Argument* value) {
      return value == nullptr ? std::nullopt : std::optional(print_argument(*value));
    };
    resized_.insert(a.path);
    add_change(a.path, DifferenceKind::kArguments, a.path, std::string(name), text(before), text(after));
  };
  for (const auto& [name, value] : a.attributes) {
    const auto other = others.find(name);
    change(name, &value, other == others.end() ? nullptr : other->second);
    if (other != others.end()) others.erase(other);
  }
  for (const auto& [name, value] : others) change(name, nullptr, value);
}

// Compares costs of modules.

void Comparer::compare_costs(const ModelSummary& before, const ModelSummary& after) {
  if (!before.has_costs() || !after.has_costs()) return;
  compare_costs(before, after, "macs", &SummaryRow::macs);
  // Activations of two kinds depend on which tensors each makes for one result.
  if (two_kinds_) return;
  compare_costs(before, after, "activation_bytes", &SummaryRow::activation_bytes);
  tell_cost("", "peak_bytes", before.peak_bytes, after.peak_bytes);
}

void Comparer::compare_costs(const ModelSummary& before, const ModelSummary& after, const char* field,
                             std::optional<SymInt> SummaryRow::* cost) {
  std::unordered_map<std::string_view, CostPair> pairs;
  for (const SummaryRow& row : before.rows) {
    if (!row.alias_of) pairs[row.path] = {row.*cost, std::nullopt, false};
  }
  for (const SummaryRow& row : after.rows) {
    if (row.alias_of) continue;
    const auto [entry, is_new] = pairs.try_emplace(pairs_.path_before(row.path));
    entry->second.after = row.*cost;
    entry->second.is_in_both = !is_new;
  }
  // The differences that modules below tell, by module above; nothing if they are not known.
  std::unordered_map<std::string_view, std::optional<SymInt>> told;
  for (const auto& [path, pair] : pairs) {
    if (path.empty()) continue;
    const auto [entry, is_new] = told.try_emplace(QualifiedName(path).parent(), SymInt(0));
    if (!entry->second) continue;
    entry->second = sum(*entry->second, difference_of(pair));
  }
  for (const SummaryRow& row : before.rows) {
    if (row.alias_of) continue;
    const CostPair& pair = pairs[row.path];
    if (!pair.is_in_both) continue;
    const auto below = told.find(row.path);
    const auto own = difference_of(pair);
    if (own && below != told.end() && below->second && *own == *below->second) continue;
    tell_cost(row.path, field, pair.before, pair.after);
  }
}

std::optional<SymInt> Comparer::difference_of(const CostPair& pair) const {
  try {
    const SymInt before = pair.before ? renamed(*pair.before, renames_).value_or(*pair.before) : SymInt(0);
    return pair.after.value_or(SymInt(0)) - before;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

std::optional<SymInt> Comparer::sum(const SymInt& a, const std::optional<SymInt>& b) {
  try {
    if (b) return a + *b;
  } catch (const SymbolicError&) {
  }
  return std::nullopt;
}

void Comparer::tell_cost(const std::string& path, const char* field, const std::optional<SymInt>& before,
                         const std::optional<SymInt>& after) {
  if (!before || !after || renamed(*before, renames_) == *after) return;
  add_sizes(path, DifferenceKind::kCosts, "", field, *before, *after);
}

// Compares parameters and buffers of two collections, and the content of weights by the keys of their
// records.

namespace {

// The parts of a key of content (ZipArchive::content_key()): "3421780262-4096+16/1,4".
struct StoredContent {
  std::string_view checksum;
  std::string_view layout;            // the place of the tensor in the record, and its strides
  std::optional<std::int64_t> bytes;  // bytes of the record

  explicit StoredContent(std::string_view key)
      : checksum(key.substr(0, key.find_first_of("+/"))), layout(key.substr(checksum.size())) {
    bytes = number_in<std::int64_t>(checksum.substr(std::min(checksum.find('-') + 1, checksum.size())));
  }
  // Returns whether the tensor fills its record.
  bool has_all_of(std::int64_t size) const { return !layout.starts_with('+') && bytes == size; }
};

// Returns whether two tensors of one type have the same content, by their keys; nothing if these do not tell.
// Records with other bytes mean other content only if the tensor fills them, in the same order.
std::optional<bool> has_same_content(std::string_view a, std::string_view b, std::int64_t bytes) {
  if (a.empty() || b.empty()) return std::nullopt;
  if (a == b) return true;
  // Tensors with another quantization (TorchScriptArchive::content_key()) have other content, unless that is
  // the same in another layout.
  const std::size_t end_a = std::min(a.find('*'), a.size()), end_b = std::min(b.find('*'), b.size());
  const std::string_view numbers_a = a.substr(end_a), numbers_b = b.substr(end_b);
  if (numbers_a != numbers_b) {
    const bool can_tell = numbers_a.find_first_of("+/") == std::string_view::npos &&
                          numbers_b.find_first_of("+/") == std::string_view::npos;
    return can_tell ? std::optional(false) : std::nullopt;
  }
  const StoredContent before(a.substr(0, end_a)), after(b.substr(0, end_b));
  const bool can_tell = before.has_all_of(bytes) && after.has_all_of(bytes) && before.layout == after.layout;
  return can_tell ? std::optional(before.checksum == after.checksum) : std::nullopt;
}

// Returns the same for an object of several tensors: it differs if one of them does.
std::optional<bool> has_same_content(std::string_view a, std::string_view b,
                                     const std::vector<StoredPart>& parts) {
  if (a.empty() || b.empty()) return std::nullopt;
  std::optional<bool> same = true;
  for (const StoredPart& part : parts) {
    const std::size_t end_a = std::min(a.find(';'), a.size()), end_b = std::min(b.find(';'), b.size());
    const auto one =
        has_same_content(a.substr(0, end_a), b.substr(0, end_b), byte_count(part.shape, part.dtype));
    if (one == false) return false;
    if (!one) same = std::nullopt;
    a.remove_prefix(std::min(end_a + 1, a.size()));
    b.remove_prefix(std::min(end_b + 1, b.size()));
  }
  return same;
}

}  // namespace

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
      add_saturated(groups_[group_of(*difference.within)].parameters, element_count(record));
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
    if (record.kind != ParameterKind::kCustomObject && !record.alias_of) {
      weighed_.insert(":" + record.name);
      compare_weights(path, {record.name, record.shape, record.dtype, record.content, record.stored},
                      {other.name, other.shape, other.dtype, other.content, other.stored});
    }
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
  const std::size_t i = pairs_.before().find_module(path);
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

void Comparer::compare_weights(std::string_view path, const Weight& a, const Weight& b) {
  WeightCounts& weights = result_.weights;
  const bool is_other_type = a.shape != b.shape || a.dtype != b.dtype || a.stored != b.stored;
  const bool are_empty = element_count(a.shape) == 0 && element_count(b.shape) == 0;
  const std::optional<bool> is_same =
      are_empty          ? std::optional(true)
      : is_other_type    ? std::optional(false)
      : a.stored.empty() ? has_same_content(a.content, b.content, byte_count(a.shape, a.dtype))
                         : has_same_content(a.content, b.content, a.stored);
  if (!is_same) {
    ++weights.not_compared;
    return;
  }
  ++weights.compared;
  if (*is_same) return;
  ++weights.differ;
  const std::int64_t before = byte_count(a), after = byte_count(b);
  add_saturated(weights.bytes_before, before);
  add_saturated(weights.bytes_after, after);
  add_sizes(path, DifferenceKind::kWeights, a.name, "bytes", before, after);
}

bool Comparer::is_same_parameter(const std::string& a, const std::string& b) const {
  return a == pairs_.parameter_before(b) ||
         before_.first_name(a) == pairs_.parameter_before(after_.first_name(b));
}

}  // namespace fxtrace::internal
