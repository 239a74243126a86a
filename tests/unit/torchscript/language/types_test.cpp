// Types of TorchScript: their texts are those of torch 2.13.
#include "torchscript/language/types.h"

#include "catch.h"
#include "support/error.h"
#include "torchscript/language/function_schema.h"
#include "torchscript/language/parser.h"
#include "torchscript/language/type_parser.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {
namespace {

TypePtr named_tuple() {
  return std::make_shared<TupleType>("__torch__.Pair", std::vector<std::string>{"a", "b"},
                                     std::vector<TypePtr>{tensor_type(), int_type()},
                                     std::vector<ScriptConstant>{});
}

}  // namespace

TEST_CASE("script types: texts") {
  struct Row {
    TypePtr type;
    const char* schema;
    const char* annotation;
    const char* ir;
  };
  const std::vector<Row> rows = {
      {number_type(), "Scalar", "number", "Scalar"},
      {list_type(int_type()), "int[]", "List[int]", "int[]"},
      {optional_type(list_type(int_type())), "int[]?", "Optional[List[int]]", "int[]?"},
      {dict_type(string_type(), optional_type(tensor_type())), "Dict(str, Tensor?)",
       "Dict[str, Optional[Tensor]]", "Dict(str, Tensor?)"},
      {tuple_type({}), "()", "Tuple[()]", "()"},
      {tuple_type({tensor_type()}), "(Tensor)", "Tuple[Tensor]", "(Tensor)"},
      {named_tuple(), "__torch__.Pair", "__torch__.Pair", "NamedTuple(a : Tensor, b : int)"},
      {future_type(tensor_type()), "Future(Tensor)", "Future[Tensor]", "Future[Tensor]"},
      {list_type(future_type(tensor_type())), "Future(Tensor)[]", "List[Future[Tensor]]", "Future[Tensor][]"},
      {await_type(tensor_type()), "Await(Tensor)", "Await[Tensor]", "Await(Tensor)"},
      {union_type({int_type(), string_type()}), "Union(int, str)", "Union[int, str]", "Union(int, str)"},
      {union_type({int_type(), none_type(), tensor_type()}), "Union(Tensor, int, NoneType)",
       "Union[Tensor, int, NoneType]", "Union(Tensor, int, NoneType)"},
      {union_type({int_type(), float_type(), complex_type()}), "Union(Scalar)", "Union[number]",
       "Union(Scalar)"},
      {union_type({int_type(), float_type(), complex_type(), none_type()}), "Scalar?", "Optional[number]",
       "Scalar?"},
      {union_type({list_type(int_type()), none_type()}), "int[]?", "Optional[List[int]]", "int[]?"},
  };
  for (const Row& row : rows) {
    CHECK(row.type->str() == row.schema);
    CHECK(row.type->annotation_str() == row.annotation);
    CHECK(row.type->ir_str() == row.ir);
  }
}

TEST_CASE("script types: names in code and in schemas") {
  const auto in_code = [](const std::string& name) {
    SyntaxFile file(std::make_unique<SourceText>("a type", name));
    return TypeParser(file, nullptr).find_type(parse_expression(file));
  };
  const auto in_schema = [](const std::string& name) -> TypePtr {
    try {
      return parse_function_schema("a::f(" + name + " x) -> ()", nullptr).arguments.at(0).type;
    } catch (const Error&) {
      return nullptr;
    }
  };
  for (const char* name : {"int", "NoneType", "None", "number", "Capsule", "Tensor"}) {
    CHECK(in_code(name) != nullptr);
    CHECK(in_code(name) == in_schema(name));
  }
  CHECK(in_code("torch.dtype") == int_type());
  CHECK(in_code("PyObject") != nullptr);
  CHECK(in_schema("PyObject") == nullptr);
  for (const char* name : {"list", "tuple"}) {
    CHECK(in_code(name) != nullptr);
    CHECK(in_schema(name)->kind() == TypeKind::kVar);
  }
  CHECK(in_schema("SymInt") == int_type());
  for (const char* name : {"Quantizer", "Scalar", "AnyListType", "tensor"}) {
    CHECK(in_code(name) == nullptr);
    CHECK(in_schema(name) != nullptr);
  }
}

TEST_CASE("script types: subtypes") {
  CHECK(is_subtype(*int_type(), *number_type()));
  CHECK_FALSE(is_subtype(*bool_type(), *number_type()));
  CHECK(is_subtype(*none_type(), *optional_type(tensor_type())));
  CHECK(is_subtype(*int_type(), *optional_type(number_type())));
  CHECK_FALSE(is_subtype(*list_type(int_type()), *list_type(number_type())));
  CHECK(is_subtype(*list_type(int_type()), *simple_type(TypeKind::kAnyList)));
  CHECK(is_subtype(*named_tuple(), *tuple_type({tensor_type(), int_type()})));
  CHECK_FALSE(is_subtype(*tuple_type({tensor_type(), int_type()}), *named_tuple()));
  CHECK(is_subtype(*tuple_type({int_type()}), *tuple_type({optional_type(int_type())})));
  CHECK(is_subtype(*optional_type(int_type()), *union_type({int_type(), string_type(), none_type()})));
  CHECK_FALSE(is_subtype(*optional_type(int_type()), *union_type({int_type(), string_type()})));
  const auto module = std::make_shared<ClassType>("__torch__.M", ClassType::Form::kModule);
  InterfaceType interface("__torch__.I", true);
  FunctionSchema method;
  method.name = "forward";
  interface.add_method(method);
  std::string why;
  CHECK_FALSE(is_subtype(*module, interface, &why));
  CHECK(why == "Class '__torch__.M' does not have method 'forward' but '__torch__.I' does.\n");
}

TEST_CASE("script types: one type for two") {
  const auto text = [](const TypePtr& type) { return type == nullptr ? "none" : type->str(); };
  CHECK(text(unify(int_type(), float_type())) == "none");
  CHECK(text(unify(int_type(), float_type(), nullptr, true)) == "Union(float, int)");
  CHECK(text(unify(none_type(), int_type())) == "int?");
  CHECK(text(unify(tuple_type({none_type(), int_type()}), tuple_type({tensor_type(), int_type()}))) ==
        "(Tensor?, int)");
  TypeBindings bindings;
  CHECK_FALSE(match_variables(list_type(var_type("t")), tuple_type({int_type(), int_type()}), bindings));
  CHECK(text(substitute(dict_type(string_type(), var_type("t")), bindings)) == "Dict(str, int)");
}

TEST_CASE("script types: what is too large is refused") {
  TypePtr deep = int_type();
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 1000; ++i) deep = list_type(deep);
      }(),
      Error);
  TypePtr wide = int_type();
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 90; ++i) wide = tuple_type({wide, wide});
      }(),
      Error);
  CHECK_THROWS_AS(dict_type(list_type(int_type()), int_type()), Error);
}

TEST_CASE("script types: schemas") {
  const auto schema = parse_function_schema(
      "aten::x.out(Device? d=None, int[2] stride=1, int[2]? k=None, str mode=\"a\\\"b\", float eps=1, *, Scalar alpha=1,"
      " ScalarType t=6, Tensor(a!) out) -> (Tensor(a!), int)",
      nullptr);
  CHECK(
      to_text(schema) ==
      "aten::x.out(Device? d=None, int[2] stride=[1, 1], int[2]? k=None, str mode=\"a\\\"b\", float eps=1., *, "
      "Scalar alpha=1, int t=6, Tensor out) -> (Tensor, int)");
  CHECK(schema.writes());
  CHECK_THROWS_AS(parse_function_schema("f(Wrong x) -> ()", nullptr), Error);
  try {
    parse_function_schema("a::f", nullptr);
    FAIL();
  } catch (const Error& error) {
    CHECK(error.what() == std::string("the schema 'a::f': expected '(' at character 5"));
  }
  CHECK_THROWS_AS(parse_function_schema("f(int x=a) -> ()", nullptr), Error);
}

}  // namespace fxtrace::internal::torchscript
