// Writes records as JSON by their descriptions, and parts of JSON that several documents have.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/collection_fields.h"
#include "support/json_emitter.h"
#include "support/shared.h"

namespace fxtrace::internal {

// Writes records as JSON by their descriptions; graph/collection_fields.h says what they are.

// An `io` of describe(), which says what the verbs mean.  They write into the current object of the emitter.
class FieldWriter {
 public:
  // `on_lines`: lists of records that are fields of the current object have an item a line.
  explicit FieldWriter(JsonEmitter& json, bool on_lines = false) : json_(json), on_lines_(on_lines) {}

  void field(std::string_view name, const auto& value, std::int64_t /*least*/ = 0) {
    json_.key(name);
    write(value);
  }
  void added(std::string_view name, const auto& value) { field(name, value); }
  void nullable(std::string_view name, const auto& value, std::int64_t /*least*/ = 0) {
    json_.key(name);
    is_empty(value) ? json_.null() : write(value);
  }
  void optional(std::string_view name, const auto& value) {
    if (!is_empty(value)) field(name, value);
  }
  void null(std::string_view name) { json_.key(name).null(); }
  void mark(std::string_view name, bool is_set, std::string_view word, bool or_null = false) {
    if (is_set) json_.field(name, word);
    if (!is_set && or_null) null(name);
  }
  void method(std::string_view name, const std::string& method) { optional(name, method); }
  void dtype(std::string_view name, const Meta& meta) { json_.field(name, meta.dtype_text()); }
  void expression(std::string_view name, const Expression& value) { json_.field(name, value.text()); }
  void plain(std::string_view name, const Kwargs& values) { optional(name, values); }
  void assignments(std::string_view name, const Graph& graph) { field(name, graph.assignments()); }
  bool elements(std::string_view name, const Constant& constant);
  bool has(std::string_view, const auto& value) const { return !is_empty(value); }
  void derived(std::string_view name, const auto& value) { field(name, value); }
  void named(std::string_view name, std::size_t index, const auto& list, auto member) {
    field(name, std::invoke(member, list[index]));
  }
  void object(std::string_view name, auto&& f) {
    json_.key(name);
    fields(false, f);
  }
  void block(std::string_view name, auto&& f) {
    json_.key(name);
    fields(true, f);
  }
  void list(std::string_view name, auto&& items, auto&& f) {
    json_.key(name).list(items, [&](const auto& item) { fields(false, [&] { f(item); }); });
  }
  void lines(std::string_view name, auto&& items, auto&& f) {
    json_.key(name).list_lines(items, [&]<class T>(const T& item) { fields(kOnLines<T>, [&] { f(item); }); });
  }
  void part(std::string_view, const auto& part, auto&& f) { f(*part); }
  void meta(std::string_view name, const Node& node, auto&& f) {
    json_.key(name);
    const Meta& meta = *node.meta;
    if (!meta.type && !meta.shape && !meta.has_dtype() && !meta.device && !meta.value && !*node.cost)
      return json_.null();
    json_.object([&] { f(*this, meta, *node.cost); });
  }

 private:
  template <class T>
  static constexpr bool kIsRecord = requires(FieldWriter& io, const T& value) { describe(io, value); };
  template <class T>
  static bool is_empty(const Shared<T>& value) {
    return is_empty(*value);
  }
  template <class T>
  static bool is_empty(const T& value) {
    if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
    } else if constexpr (requires { value.valid(); }) {
      return !value.valid();
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else {
      return value == T{};
    }
  }

  template <class T>
  void write(const T& value) {
    if constexpr (kIsRecord<T>) {
      record(value);
    } else if constexpr (std::is_enum_v<T>) {
      json_.string(to_string(value));
    } else {
      json_.value(value);
    }
  }
  template <class T>
  void write(const Shared<T>& value) {
    write(*value);
  }
  template <class T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    const auto each = [this](const T& value) { write(value); };
    on_lines_&& kIsRecord<T> ? json_.list_lines(values, each) : json_.list(values, each);
  }
  template <class T>
  void write(const std::vector<std::pair<std::string, T>>& values) {
    on_lines_&& kIsRecord<T> ? json_.open_lines('{') : json_.open('{');
    for (const auto& [name, value] : values) field(name, value);
    json_.close('}');
  }
  void write(const Device& device) { json_.string(device.text()); }
  void write(const Cost& cost);
  void write(NodeId node) { json_.string(graph_->node(node).name); }
  void write(const Graph& nodes);
  void write(const SubgraphList& subgraphs);
  void write(const ModuleGraph& graph);
  void write(const Argument& argument);

  template <class T>
  void record(const T& value) {
    fields(kOnLines<T>, [&] { describe(*this, value); });
  }
  void fields(bool on_lines, auto&& write_fields) {
    const bool outer = std::exchange(on_lines_, on_lines);
    on_lines_ ? json_.open_lines('{') : json_.open('{');
    write_fields();
    json_.close('}');
    on_lines_ = outer;
  }
  void tagged(std::string_view tag, const auto& value) {
    json_.object([&] { field(tag, value); });
  }
  void number(double value);
  void data(std::span<const std::int64_t> shape, std::span<const Argument>& data);

  JsonEmitter& json_;
  const Graph* graph_ = nullptr;  // where nodes have their names
  bool on_lines_;                 // for the current record
};

// Writers of whole JSON documents.

// Writes the first fields of a document: its format, the format's version, and the producer.
void write_format(JsonEmitter& json, std::string_view format, int version);

// Writes the document that the record's description says.
template <class Record>
void write_fields(const Record& record, std::ostream& out, JsonLayout layout = JsonLayout::kSpaced) {
  JsonEmitter json(out, layout);
  json.document([&] {
    FieldWriter io(json, true);
    describe(io, record);
  });
}

// Writes a report: the fields of write_format(), and those that its description says.
template <class Report>
void write_report(const Report& report, std::string_view format, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    write_format(json, format, 1);
    FieldWriter io(json, true);
    describe(io, report);
  });
}

}  // namespace fxtrace::internal
