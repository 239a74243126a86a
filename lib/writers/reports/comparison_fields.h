// The JSON of `fxtrace diff` (schemas/comparison.schema.json); graph/collection_fields.h says what a
// description is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "compare/comparison.h"
#include "writers/formats/total_fields.h"

namespace fxtrace::internal {

template <>
inline constexpr bool kOnLines<ModuleDifferences> = true;

void describe(auto& io, const ComparedModel& model) {
  describe(io, model.model);
  io.field("modules", model.modules);
  io.field("failed_modules", model.failed);
  io.field("nodes", model.nodes);
  io.field("parameters", model.parameters);
  io.field("buffers", model.buffers);
  io.nullable("macs", model.macs);
  io.nullable("activation_bytes", model.activation_bytes);
  io.nullable("peak_bytes", model.peak_bytes);
  io.field("partial", model.is_partial);
}

void describe(auto& io, const ModuleDifferences& module) {
  io.field("path", module.path);
  io.nullable("path_after", module.other);
  io.nullable("type", module.type);
  io.object("contents", [&] {
    io.field("modules", module.modules);
    io.field("parameters", module.parameters);
    io.field("nodes", module.nodes);
  });
  io.lines("differences", module.differences, [&](const Difference& difference) {
    io.field("kind", difference.kind);
    io.field("change", difference.change);
    io.field("subject", difference.subject);
    const bool is_moved = difference.kind == DifferenceKind::kModules && difference.change == Change::kMoved;
    const bool has_other = is_moved || !difference.other.empty();  // that of the root is empty
    io.nullable("subject_after", has_other ? std::optional(difference.other) : std::nullopt);
    io.nullable("field", difference.field);
    io.nullable("before", difference.before);
    io.nullable("after", difference.after);
    io.nullable("text", difference.text);
    io.field("graph", difference.graph);
    io.field("users", difference.users);
    io.nullable("source", difference.source);
    io.nullable("within", difference.within);
    io.field("follows", difference.follows);
  });
}

void describe(auto& io, const ModelComparison& comparison) {
  io.field("before", comparison.before);
  io.field("after", comparison.after);
  io.field("equal", comparison.is_equal());
  std::vector<DifferenceKind> all, told;
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) all.push_back(static_cast<DifferenceKind>(i));
  std::ranges::copy_if(all, std::back_inserter(told), [&](auto kind) { return comparison.told.has(kind); });
  io.field("kinds", told);
  io.block("counts", [&] {
    for (const DifferenceKind kind : all) {
      io.object(to_string(kind), [&] {
        for (const Change change : {Change::kAdded, Change::kRemoved, Change::kMoved, Change::kChanged})
          io.field(to_string(change), comparison.count(kind, change));
      });
    }
  });
  io.optional("unlisted", comparison.unlisted);
  io.object("weights", [&] {
    io.field("compared", comparison.weights.compared);
    io.field("differ", comparison.weights.differ);
    io.field("not_compared", comparison.weights.not_compared);
    io.field("bytes_before", comparison.weights.bytes_before);
    io.field("bytes_after", comparison.weights.bytes_after);
    io.field("by", comparison.weights.by_bytes ? "bytes" : "checksums");
  });
  io.field("modules", comparison.modules);
}

}  // namespace fxtrace::internal
