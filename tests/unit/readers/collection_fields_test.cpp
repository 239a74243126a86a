// The descriptions of a collection's records say what its schema says.
#include "graph/collection_fields.h"

#include <string>

#include "catch.h"
#include "field_notes.h"

using namespace fxtrace::internal;

TEST_CASE("collection fields: they are those of the schema", "[collection_fields]") {
  const FieldSchema schema("graph_collection");
  schema.check_record("/properties/model", fields_of(GraphCollection::Model()));
  schema.check_record("/$defs/source", fields_of(SourceLocation()));
  schema.check_record("/$defs/cost", fields_of(Cost()));
  schema.check_record("/$defs/failure", fields_of(Failure()));
  schema.check_record("/$defs/module", fields_of(ModuleRecord()));
  schema.check_record("/$defs/module/properties/outputs/items", fields_of(Meta()));
  ParameterRecord object;
  object.kind = ParameterKind::kCustomObject;
  schema.check_record("/$defs/parameter", together(fields_of(ParameterRecord()), fields_of(object)));
  schema.check_record("/$defs/stored/items", fields_of(StoredPart()));
  schema.check_record("/$defs/object_constant", fields_of(Constant(), true));
  Constant elsewhere;
  elsewhere.record = "constants/0";
  schema.check_record("/$defs/tensor_constant",
                      together(fields_of(Constant(), false, true), fields_of(elsewhere)));
  schema.check_record("/$defs/graph/properties/guards/items", fields_of(Guard()));
  schema.check_record("/$defs/graph/properties/assignments/items", fields_of(Assignment()));
  GraphSignature::Entry lifted;
  lifted.role = SignatureRole::kParameter;
  schema.check_record("/$defs/signature_entry",
                      together(fields_of(GraphSignature::Entry()), fields_of(lifted)));
  schema.check_record("/$defs/graph_signature", fields_of(GraphSignature()));
  schema.check_record("/$defs/execution", fields_of(Execution()));
  const std::string execution = "/$defs/execution/properties/";
  schema.check_record(execution + "module_param_usage/items", fields_of(Execution::ModuleUses()));
  schema.check_record(execution + "module_param_usage/items/properties/uses/items",
                      fields_of(Execution::Use()));
  schema.check_record(execution + "method_calls/items", fields_of(Execution::MethodCall()));
  schema.check_record(execution + "call_values/items",
                      together(fields_of(Execution::CallValues()), fields_of(Execution::CallValues(), true)));
  Node node;
  node.op = Opcode::kCallModule;
  node.program = ProgramPart{{"linear"}, {}, {}};
  schema.check_record("/$defs/node", notes_of(node).fields);
  schema.check_record("/$defs/node/properties/meta", notes_of(node).meta_fields);
  schema.check_record("/$defs/node/properties/scope", fields_of(Scope()));
  schema.check_record("/$defs/program_places/items", fields_of(ProgramPart::Place()));

  // What the schema says of the roots' graphs alone is there too.
  FieldsOfRecord graph = fields_of(ModuleGraph());
  CHECK(graph.all.erase("graph_signature") + graph.all.erase("execution") == 2);
  schema.check_record("/$defs/graph", graph);
}
