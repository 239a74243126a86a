#include "writers/comparison_json.h"

#include <optional>
#include <string>
#include <string_view>

#include "writers/json_emitter.h"

namespace fxtrace {
namespace {

class Writer {
 public:
  explicit Writer(std::ostream& out) : json_(out) {}

  void document(const ModelComparison& comparison) {
    json_.open_lines('{');
    text("format", "fxtrace.comparison");
    integer("version", 1);
    json_.key("producer");
    json_.open('{');
    text("name", "fxtrace");
    text("version", FXTRACE_VERSION);
    json_.close('}');
    model("before", comparison.before);
    model("after", comparison.after);
    boolean("equal", comparison.is_equal());
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
        integer(to_string(change), comparison.count(kind, change));
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

  void text(std::string_view key, std::string_view value) {
    json_.key(key);
    json_.string(value);
  }
  void text_or_null(std::string_view key, const std::optional<std::string>& value) {
    json_.key(key);
    if (!value) return json_.null();
    json_.string(*value);
  }
  void known(std::string_view key, const std::string& value) {
    text_or_null(key, value.empty() ? std::nullopt : std::optional(value));
  }
  void integer(std::string_view key, std::int64_t value) {
    json_.key(key);
    json_.integer(value);
  }
  void boolean(std::string_view key, bool value) {
    json_.key(key);
    json_.boolean(value);
  }
  void size(std::string_view key, const std::optional<SymInt>& value) {
    json_.key(key);
    if (!value) return json_.null();
    if (const auto number = value->number()) return json_.integer(*number);
    json_.string(value->text());
  }
  void total(std::string_view key, const TensorTotal& total) {
    json_.key(key);
    json_.open('{');
    integer("tensors", total.tensors);
    integer("elements", total.elements);
    integer("bytes", total.bytes);
    json_.close('}');
  }

  void model(std::string_view key, const ComparedModel& model) {
    json_.key(key);
    json_.open('{');
    text("file", model.model.file);
    text("kind", model.model.kind);
    known("type", model.model.type);
    text("method", model.model.method);
    integer("modules", model.modules);
    integer("failed_modules", model.failed);
    integer("nodes", model.nodes);
    total("parameters", model.parameters);
    total("buffers", model.buffers);
    size("macs", model.macs);
    size("activation_bytes", model.activation_bytes);
    size("peak_bytes", model.peak_bytes);
    boolean("partial", model.is_partial);
    json_.close('}');
  }

  void module(const ModuleDifferences& module) {
    json_.open_lines('{');
    text("path", module.path);
    text_or_null("path_after", module.other);
    known("type", module.type);
    json_.key("contents");
    json_.open('{');
    integer("modules", module.modules);
    integer("parameters", module.parameters);
    integer("nodes", module.nodes);
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
    text("kind", to_string(difference.kind));
    text("change", to_string(difference.change));
    text("subject", difference.subject);
    known("subject_after", difference.other);
    known("field", difference.field);
    text_or_null("before", difference.before);
    text_or_null("after", difference.after);
    known("text", difference.text);
    text("graph", *difference.graph);
    json_.key("users");
    json_.open('[');
    for (const std::string& user : difference.users) {
      json_.item();
      json_.string(user);
    }
    json_.close(']');
    source(difference.source);
    text_or_null("within", difference.within);
    boolean("follows", difference.follows);
    json_.close('}');
  }

  void source(const std::optional<SourceLocation>& source) {
    json_.key("source");
    if (!source) return json_.null();
    json_.open('{');
    text("file", source->file);
    json_.key("line");
    if (source->line > 0) {
      json_.integer(source->line);
    } else {
      json_.null();
    }
    text("function", source->function);
    text("text", source->text);
    json_.close('}');
  }

  JsonEmitter json_;
};

}  // namespace

void write_comparison_json(const ModelComparison& comparison, std::ostream& out) {
  Writer(out).document(comparison);
}

}  // namespace fxtrace
