// The descriptions of a collection's records say what its schema says.
#include "graph/collection_fields.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace fxtrace;

namespace {

using Names = std::set<std::string>;

struct FieldsOfRecord {
  Names all, required, added, nullable;
};

// An io of describe(), which notes the fields.
class FieldNotes {
 public:
  // Whether the record has what only some records have: a part of the fields, and elements.
  explicit FieldNotes(bool has_part = false, bool has_elements = false)
      : has_part_(has_part), has_elements_(has_elements) {}

  FieldsOfRecord fields, meta_fields;

  void optional(const std::string& name, const auto&) { CHECK(fields.all.insert(name).second); }
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
  void dtype(const std::string& name, const Meta& meta) { nullable(name, meta); }
  void expression(const std::string& name, const Expression& value) { field(name, value); }
  void plain(const std::string& name, const Kwargs& values) { optional(name, values); }
  void assignments(const std::string& name, const Graph& graph) { added(name, graph); }
  bool elements(const std::string& name, const Constant& constant) {
    nullable(name, constant);
    return has_elements_;
  }
  bool has(std::string_view, const auto&) const { return has_part_; }
  void part(std::string_view, const auto& part, auto&& f) { f(*part); }
  void meta(const std::string& name, const Node& node, auto&& f) {
    nullable(name, node);
    FieldNotes inner;
    Meta meta;
    std::optional<Cost> cost;
    f(inner, meta, cost);
    meta_fields = inner.fields;
  }

 private:
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

// Returns the fields of two forms of one record.
FieldsOfRecord together(FieldsOfRecord one, const FieldsOfRecord& other) {
  Names required;
  std::ranges::set_intersection(one.required, other.required, std::inserter(required, required.end()));
  one.required = required;
  one.all.insert(other.all.begin(), other.all.end());
  one.nullable.insert(other.nullable.begin(), other.nullable.end());
  return one;
}

class CollectionSchema {
 public:
  CollectionSchema() {
    std::ifstream file(FXTRACE_SOURCE_DIR "/schemas/graph_collection.schema.json");
    schema_ = nlohmann::json::parse(file);
  }

  void check(const std::string& pointer, const FieldsOfRecord& fields) const {
    CAPTURE(pointer);
    const nlohmann::json& record = schema_.at(nlohmann::json::json_pointer(pointer));
    Names all, required, nullable;
    for (const auto& [name, value] : record.at("properties").items()) {
      all.insert(name);
      if (allows_null(value)) nullable.insert(name);
    }
    for (const auto& name : record.at("required")) {
      if (!fields.added.contains(name)) required.insert(name);
    }
    CHECK(fields.all == all);
    CHECK(fields.required == required);
    for (const auto& name : fields.required) {
      CAPTURE(name);
      CHECK(fields.nullable.contains(name) == nullable.contains(name));
    }
  }

 private:
  bool allows_null(const nlohmann::json& value) const {
    if (value.value("$ref", "") == "#/$defs/argument") return false;  // null is one of the arguments
    if (value.contains("$ref")) {
      const auto pointer = value.at("$ref").get<std::string>().substr(1);
      return allows_null(schema_.at(nlohmann::json::json_pointer(pointer)));
    }
    for (const auto& choice : value.value("anyOf", nlohmann::json::array())) {
      if (allows_null(choice)) return true;
    }
    const auto& type = value.value("type", nlohmann::json());
    return type == "null" || (type.is_array() && std::ranges::find(type, "null") != type.end());
  }

  nlohmann::json schema_;
};

}  // namespace

TEST_CASE("collection fields: they are those of the schema", "[collection_fields]") {
  const CollectionSchema schema;
  schema.check("/properties/model", fields_of(GraphCollection::Model()));
  schema.check("/$defs/source", fields_of(SourceLocation()));
  schema.check("/$defs/cost", fields_of(Cost()));
  schema.check("/$defs/failure", fields_of(Failure()));
  schema.check("/$defs/module", fields_of(ModuleRecord()));
  schema.check("/$defs/module/properties/outputs/items", fields_of(Meta()));
  ParameterRecord object;
  object.kind = ParameterKind::kCustomObject;
  schema.check("/$defs/parameter", together(fields_of(ParameterRecord()), fields_of(object)));
  schema.check("/$defs/stored/items", fields_of(StoredPart()));
  schema.check("/$defs/object_constant", fields_of(Constant(), true));
  Constant elsewhere;
  elsewhere.record = "constants/0";
  schema.check("/$defs/tensor_constant", together(fields_of(Constant(), false, true), fields_of(elsewhere)));
  schema.check("/$defs/graph/properties/guards/items", fields_of(Guard()));
  schema.check("/$defs/graph/properties/assignments/items", fields_of(Assignment()));
  GraphSignature::Entry lifted;
  lifted.role = SignatureRole::kParameter;
  schema.check("/$defs/signature_entry", together(fields_of(GraphSignature::Entry()), fields_of(lifted)));
  schema.check("/$defs/graph_signature", fields_of(GraphSignature()));
  schema.check("/$defs/execution", fields_of(Execution()));
  const std::string execution = "/$defs/execution/properties/";
  schema.check(execution + "module_param_usage/items", fields_of(Execution::ModuleUses()));
  schema.check(execution + "module_param_usage/items/properties/uses/items", fields_of(Execution::Use()));
  schema.check(execution + "method_calls/items", fields_of(Execution::MethodCall()));
  schema.check(execution + "call_values/items",
               together(fields_of(Execution::CallValues()), fields_of(Execution::CallValues(), true)));
  Node node;
  node.op = Opcode::kCallModule;
  node.program = ProgramPart{{"linear"}, {}, {}};
  schema.check("/$defs/node", notes_of(node).fields);
  schema.check("/$defs/node/properties/meta", notes_of(node).meta_fields);
  schema.check("/$defs/node/properties/scope", fields_of(Scope()));
  schema.check("/$defs/program_places/items", fields_of(ProgramPart::Place()));

  // What the schema says of the roots' graphs alone is there too.
  FieldsOfRecord graph = fields_of(ModuleGraph());
  CHECK(graph.all.erase("graph_signature") + graph.all.erase("execution") == 2);
  schema.check("/$defs/graph", graph);
}
