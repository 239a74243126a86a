// Compares parameters and buffers of two collections, and the content of weights by the keys of their
// records.
#include "compare/comparer.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "graph/analysis/text_form.h"
#include "support/text/number_in.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
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
