// The answer of `fxtrace diff` as JSON.
#include <string_view>

#include "writers/formats/json_parts.h"
#include "writers/reports/comparison_writers.h"

namespace fxtrace {
namespace {

class Writer {
 public:
  explicit Writer(std::ostream& out) : json_(out) {}

  void document(const ModelComparison& comparison) {
    json_.document([&] {
      write_format(json_, "fxtrace.comparison", 1);
      model("before", comparison.before);
      model("after", comparison.after);
      json_.field("equal", comparison.is_equal());
      json_.key("kinds");
      json_.open('[');
      for_each_kind([&](DifferenceKind kind) {
        if (!comparison.told.has(kind)) return;
        json_.item();
        json_.string(to_string(kind));
      });
      json_.close(']');
      json_.key("counts").object_lines(
          [&] { for_each_kind([&](DifferenceKind kind) { counts(comparison, kind); }); });
      if (comparison.unlisted > 0) json_.field("unlisted", comparison.unlisted);
      json_.key("weights").object([&] {
        json_.field("compared", comparison.weights.compared);
        json_.field("differ", comparison.weights.differ);
        json_.field("not_compared", comparison.weights.not_compared);
        json_.field("bytes_before", comparison.weights.bytes_before);
        json_.field("bytes_after", comparison.weights.bytes_after);
        json_.field("by", comparison.weights.by_bytes ? "bytes" : "checksums");
      });
      json_.key("modules").list_lines(comparison.modules,
                                      [&](const ModuleDifferences& item) { module(item); });
    });
  }

 private:
  template <class F>
  static void for_each_kind(F&& f) {
    for (std::size_t i = 0; i < kDifferenceKinds; ++i) f(static_cast<DifferenceKind>(i));
  }

  void counts(const ModelComparison& comparison, DifferenceKind kind) {
    json_.key(to_string(kind)).object([&] {
      for (std::size_t i = 0; i < kChanges; ++i) {
        const auto change = static_cast<Change>(i);
        json_.field(to_string(change), comparison.count(kind, change));
      }
    });
  }

  void model(std::string_view key, const ComparedModel& model) {
    json_.key(key).object([&] {
      write_model_fields(json_, model.model);
      json_.field("modules", model.modules);
      json_.field("failed_modules", model.failed);
      json_.field("nodes", model.nodes);
      write_total(json_, "parameters", model.parameters);
      write_total(json_, "buffers", model.buffers);
      json_.field("macs", model.macs);
      json_.field("activation_bytes", model.activation_bytes);
      json_.field("peak_bytes", model.peak_bytes);
      json_.field("partial", model.is_partial);
    });
  }

  void module(const ModuleDifferences& module) {
    json_.object_lines([&] {
      json_.field("path", module.path);
      json_.field("path_after", module.other);
      json_.text_or_null("type", module.type);
      json_.key("contents").object([&] {
        json_.field("modules", module.modules);
        json_.field("parameters", module.parameters);
        json_.field("nodes", module.nodes);
      });
      json_.key("differences").objects_lines(module.differences, [&](const Difference& item) {
        difference(item);
      });
    });
  }

  void difference(const Difference& difference) {
    json_.field("kind", to_string(difference.kind));
    json_.field("change", to_string(difference.change));
    json_.field("subject", difference.subject);
    if (difference.kind == DifferenceKind::kModules && difference.change == Change::kMoved) {
      json_.field("subject_after", difference.other);  // also the root's, which is empty
    } else {
      json_.text_or_null("subject_after", difference.other);
    }
    json_.text_or_null("field", difference.field);
    json_.field("before", difference.before);
    json_.field("after", difference.after);
    json_.text_or_null("text", difference.text);
    json_.field("graph", *difference.graph);
    json_.field("users", difference.users);
    write_source(json_, difference.source);
    json_.field("within", difference.within);
    json_.field("follows", difference.follows);
  }

  JsonEmitter json_;
};

}  // namespace

void write_comparison_json(const ModelComparison& comparison, std::ostream& out) {
  Writer(out).document(comparison);
}

}  // namespace fxtrace
