#include "writers/comparison_json.h"

#include <optional>
#include <string>
#include <string_view>

#include "support/json_emitter.h"

namespace fxtrace {
namespace {

class Writer {
 public:
  explicit Writer(std::ostream& out) : json_(out) {}

  void document(const ModelComparison& comparison) {
    json_.open_lines('{');
    json_.field("format", "fxtrace.comparison");
    json_.field("version", 1);
    json_.key("producer");
    json_.open('{');
    json_.field("name", "fxtrace");
    json_.field("version", FXTRACE_VERSION);
    json_.close('}');
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
    json_.key("counts");
    json_.open_lines('{');
    for_each_kind([&](DifferenceKind kind) {
      json_.key(to_string(kind));
      json_.open('{');
      for (std::size_t i = 0; i < kChanges; ++i) {
        const auto change = static_cast<Change>(i);
        json_.field(to_string(change), comparison.count(kind, change));
      }
      json_.close('}');
    });
    json_.close('}');
    json_.key("modules");
    json_.open_lines('[');
    for (const ModuleDifferences& module : comparison.modules) {
      json_.item();
      this->module(module);
    }
    json_.close(']');
    json_.close('}');
    json_.raw("\n");
    json_.flush();
  }

 private:
  template <class F>
  static void for_each_kind(F&& f) {
    for (std::size_t i = 0; i < kDifferenceKinds; ++i) f(static_cast<DifferenceKind>(i));
  }

  void total(std::string_view key, const TensorTotal& total) {
    json_.key(key);
    json_.open('{');
    json_.field("tensors", total.tensors);
    json_.field("elements", total.elements);
    json_.field("bytes", total.bytes);
    json_.close('}');
  }

  void model(std::string_view key, const ComparedModel& model) {
    json_.key(key);
    json_.open('{');
    json_.field("file", model.model.file);
    json_.field("kind", model.model.kind);
    json_.text_or_null("type", model.model.type);
    json_.field("method", model.model.method);
    json_.field("modules", model.modules);
    json_.field("failed_modules", model.failed);
    json_.field("nodes", model.nodes);
    total("parameters", model.parameters);
    total("buffers", model.buffers);
    json_.field("macs", model.macs);
    json_.field("activation_bytes", model.activation_bytes);
    json_.field("peak_bytes", model.peak_bytes);
    json_.field("partial", model.is_partial);
    json_.close('}');
  }

  void module(const ModuleDifferences& module) {
    json_.open_lines('{');
    json_.field("path", module.path);
    json_.field("path_after", module.other);
    json_.text_or_null("type", module.type);
    json_.key("contents");
    json_.open('{');
    json_.field("modules", module.modules);
    json_.field("parameters", module.parameters);
    json_.field("nodes", module.nodes);
    json_.close('}');
    json_.key("differences");
    json_.open_lines('[');
    for (const Difference& difference : module.differences) {
      json_.item();
      this->difference(difference);
    }
    json_.close(']');
    json_.close('}');
  }

  void difference(const Difference& difference) {
    json_.open('{');
    json_.field("kind", to_string(difference.kind));
    json_.field("change", to_string(difference.change));
    json_.field("subject", difference.subject);
    json_.text_or_null("subject_after", difference.other);
    json_.text_or_null("field", difference.field);
    json_.field("before", difference.before);
    json_.field("after", difference.after);
    json_.text_or_null("text", difference.text);
    json_.field("graph", *difference.graph);
    json_.field("users", difference.users);
    source(difference.source);
    json_.field("within", difference.within);
    json_.field("follows", difference.follows);
    json_.close('}');
  }

  void source(const std::optional<SourceLocation>& source) {
    json_.key("source");
    if (!source) return json_.null();
    json_.open('{');
    json_.field("file", source->file);
    json_.field("line", source->line > 0 ? std::optional(source->line) : std::nullopt);
    json_.field("function", source->function);
    json_.field("text", source->text);
    json_.close('}');
  }

  JsonEmitter json_;
};

}  // namespace

void write_comparison_json(const ModelComparison& comparison, std::ostream& out) {
  Writer(out).document(comparison);
}

}  // namespace fxtrace
