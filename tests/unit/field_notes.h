// Notes which fields the description of a record has (graph/collection_fields.h), and compares them with a
// schema.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "graph/collection_fields.h"

namespace fxtrace::internal {

using Names = std::set<std::string>;

struct FieldsOfRecord {
  Names all, required, added, nullable;
  std::map<std::string, FieldsOfRecord> records;  // in the fields that have some
};

// Returns the fields of two forms of one record.
inline FieldsOfRecord together(FieldsOfRecord one, const FieldsOfRecord& other) {
  std::erase_if(one.required, [&](const std::string& name) { return !other.required.contains(name); });
  one.all.insert(other.all.begin(), other.all.end());
  one.nullable.insert(other.nullable.begin(), other.nullable.end());
  for (const auto& [name, fields] : other.records) {
    const auto [known, is_new] = one.records.emplace(name, fields);
    if (!is_new) known->second = together(known->second, fields);
  }
  return one;
}

// An io of describe(), which notes the fields.
class FieldNotes {
 public:
  // Whether the record has what only some records have: a part of the fields, and elements.
  explicit FieldNotes(bool has_part = false, bool has_elements = false)
      : has_part_(has_part), has_elements_(has_elements) {}

  FieldsOfRecord fields, meta_fields;

  void optional(const std::string& name, const auto& value) {
    CHECK(fields.all.insert(name).second);
    note_record(name, value);
  }
  void field(const std::string& name, const auto& value, std::int64_t = 0) {
    optional(name, value);
    fields.required.insert(name);
  }
  void nullable(const std::string& name, const auto& value, std::int64_t = 0) {
    field(name, value);
    fields.nullable.insert(name);
  }
  void added(const std::string& name, const auto& value) {
    optional(name, value);
    fields.added.insert(name);
  }
  void null(const std::string& name) { nullable(name, 0); }
  void mark(const std::string& name, bool is_set, std::string_view, bool or_null = false) {
    optional(name, is_set);
    if (or_null) fields.nullable.insert(name);
  }
  void method(const std::string& name, const std::string& method) { optional(name, method); }
  void dtype(const std::string& name, const Meta&) { nullable(name, 0); }
  void expression(const std::string& name, const Expression& value) { field(name, value); }
  void plain(const std::string& name, const Kwargs& values) { optional(name, values); }
  void assignments(const std::string& name, const Graph& graph) { added(name, graph); }
  bool elements(const std::string& name, const Constant&) {
    nullable(name, 0);
    return has_elements_;
  }
  bool has(std::string_view, const auto&) const { return has_part_; }
  void part(std::string_view, const auto& part, auto&& f) { f(*part); }
  void meta(const std::string& name, const Node&, auto&& f) {
    nullable(name, 0);
    FieldNotes inner;
    Meta meta;
    std::optional<Cost> cost;
    f(inner, meta, cost);
    meta_fields = inner.fields;
  }

  void derived(const std::string& name, const auto& value) { field(name, value); }
  void named(const std::string& name, std::size_t index, const auto& list, auto member) {
    field(name, std::invoke(member, list.at(index)));
  }
  void object(const std::string& name, auto&& f) {
    field(name, 0);
    fields.records[name] = noted(f);
  }
  void block(const std::string& name, auto&& f) { object(name, f); }
  void list(const std::string& name, auto&& items, auto&& f) {
    field(name, 0);
    for (auto& item : items) {
      const FieldsOfRecord record = noted([&] { f(item); });
      const auto [known, is_new] = fields.records.emplace(name, record);
      if (!is_new) known->second = together(known->second, record);
    }
  }
  void lines(const std::string& name, auto&& items, auto&& f) { list(name, items, f); }

 private:
  FieldsOfRecord noted(auto&& f) {
    FieldsOfRecord outer = std::exchange(fields, {});
    f();
    return std::exchange(fields, std::move(outer));
  }
  void note_record(const std::string& name, const auto& value) {
    if constexpr (requires { describe(*this, value); })
      fields.records[name] = noted([&] { describe(*this, value); });
  }
  template <class T>
  void note_record(const std::string& name, const std::optional<T>& value) {
    if (value) note_record(name, *value);
  }
  template <class T>
  void note_record(const std::string& name, const std::vector<T>& values) {
    if (!values.empty()) note_record(name, values.front());
  }

  bool has_part_, has_elements_;
};

template <class T>
FieldNotes notes_of(T record, bool has_part = false, bool has_elements = false) {
  FieldNotes notes(has_part, has_elements);
  describe(notes, record);
  return notes;
}
template <class T>
FieldsOfRecord fields_of(T record, bool has_part = false, bool has_elements = false) {
  return notes_of(std::move(record), has_part, has_elements).fields;
}

// Returns the fields of the records of a report, with and without what only some have.
template <class T>
FieldsOfRecord fields_of_report(const T& report) {
  return together(fields_of(report, false), fields_of(report, true));
}

// A schema of ours, with which fields are compared.
class FieldSchema {
 public:
  explicit FieldSchema(const std::string& name) {
    std::ifstream file(FXTRACE_SOURCE_DIR "/schemas/" + name + ".schema.json");
    schema_ = nlohmann::json::parse(file);
  }

  // Compares the fields of the object that is described there.
  void check_record(const std::string& pointer, const FieldsOfRecord& fields) const {
    CAPTURE(pointer);
    check(schema_.at(nlohmann::json::json_pointer(pointer)), fields);
  }
  // Compares a document, and all records in it.  `header` are the fields that every document has.
  void check_document(FieldsOfRecord fields, const Names& header) const {
    fields.all.insert(header.begin(), header.end());
    fields.required.insert(header.begin(), header.end());
    check_all(schema_, fields);
  }

 private:
  void check_all(const nlohmann::json& record, const FieldsOfRecord& fields) const {
    check(record, fields);
    for (const auto& [name, inner] : fields.records) {
      CAPTURE(name);
      check_all(record_in(record.at("properties").at(name)), inner);
    }
  }

  void check(const nlohmann::json& record, const FieldsOfRecord& fields) const {
    Names all, required, nullable;
    for (const auto& [name, value] : record.at("properties").items()) {
      all.insert(name);
      if (allows_null(value)) nullable.insert(name);
    }
    for (const auto& name : record.value("required", nlohmann::json::array())) {
      if (!fields.added.contains(name)) required.insert(name);
    }
    CHECK(fields.all == all);
    CHECK(fields.required == required);
    for (const auto& name : fields.required) {
      CAPTURE(name);
      CHECK(fields.nullable.contains(name) == nullable.contains(name));
    }
  }

  const nlohmann::json& referred(const nlohmann::json& value) const {
    return schema_.at(nlohmann::json::json_pointer(value.at("$ref").get<std::string>().substr(1)));
  }

  // Returns the schema of the objects in a value: of itself, or of the items of a list.
  const nlohmann::json& record_in(const nlohmann::json& value) const {
    if (value.contains("properties")) return value;
    if (value.contains("$ref")) return record_in(referred(value));
    if (value.contains("items")) return record_in(value.at("items"));
    for (const auto& choice : value.at(value.contains("anyOf") ? "anyOf" : "oneOf")) {
      if (!allows_null(choice)) return record_in(choice);
    }
    return value;
  }

  bool allows_null(const nlohmann::json& value) const {
    if (value.value("$ref", "") == "#/$defs/argument") return false;  // null is one of the arguments
    if (value.contains("$ref")) return allows_null(referred(value));
    for (const char* choices : {"anyOf", "oneOf"}) {
      for (const auto& choice : value.value(choices, nlohmann::json::array())) {
        if (allows_null(choice)) return true;
      }
    }
    const auto& type = value.value("type", nlohmann::json());
    const auto& words = value.value("enum", nlohmann::json::array());
    return type == "null" || std::ranges::find(words, nlohmann::json()) != words.end() ||
           (type.is_array() && std::ranges::find(type, "null") != type.end());
  }

  nlohmann::json schema_;
};

}  // namespace fxtrace::internal
