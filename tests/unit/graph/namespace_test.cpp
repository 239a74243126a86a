// Names of nodes are made as torch.fx makes them.
#include "graph/namespace.h"

#include <string>
#include <vector>

#include "catch.h"

using fxtrace::internal::is_name_from;
using fxtrace::internal::name_candidate;
using fxtrace::internal::Namespace;

TEST_CASE("names are made as torch.fx makes them", "[names]") {
  struct Case {
    std::vector<std::string> candidates, names;
  };
  // Each row was run through torch.fx's _Namespace.create_name.
  const Case cases[] = {
      {{"x", "x", "x"}, {"x", "x_1", "x_2"}},
      {{"add_1", "add", "add", "add_1"}, {"add_1", "add", "add_2", "add_3"}},
      {{"x_7", "x", "x", "x_7"}, {"x_7", "x", "x_8", "x_9"}},
      {{"sum", "sum", "sum_1"}, {"sum_1", "sum_2", "sum_3"}},
      {{"getattr", "len", "float"}, {"getattr_1", "len_1", "float_1"}},
      {{"lambda", "class", "inf", "torch", "NoneType", "pytree"},
       {"lambda_1", "class_1", "inf_1", "torch_1", "NoneType_1", "pytree_1"}},
      {{"layer1.0.conv1", "a b--c", "a.b", "a..b"}, {"layer1_0_conv1", "a_b_c", "a_b", "a_b_1"}},
      {{"", "", "0", "0", "3x", "."}, {"_unnamed", "_unnamed_1", "_0", "_0_1", "_3x", "_"}},
      {{"x1", "x1", "x_", "x_", "_1", "_1", "__1", "__1"},
       {"x1", "x1_1", "x_", "x__1", "_1", "_1_1", "__1", "__2"}},
      {{"a_1_2", "a_1_2", "a_1", "a_1"}, {"a_1_2", "a_1_3", "a_1", "a_2"}},
      {{"x_007", "x", "x"}, {"x_007", "x", "x_8"}},
      {{"\xC3\xA9t\xC3\xA9",
        "gr\xC3\xBC\xC3\x9F"
        "e"},
       {"_t_", "gr_e"}},
  };
  for (const auto& [candidates, expected] : cases) {
    Namespace names;
    std::vector<std::string> made;
    for (const auto& candidate : candidates) made.push_back(names.create(candidate));
    CHECK(made == expected);
  }
}

TEST_CASE("a number that no integer holds is a part of the name", "[names]") {
  Namespace names;
  CHECK(names.create("x_99999999999999999999") == "x_99999999999999999999");
  CHECK(names.create("x_99999999999999999999") == "x_99999999999999999999_1");
}

TEST_CASE("None is no name", "[names]") {
  Namespace names;
  CHECK(names.create("None") == "None_1");
}

TEST_CASE("names can be taken back", "[names]") {
  Namespace names;
  names.create("add");
  names.create("x_5");
  const auto mark = names.mark();
  for (int round = 0; round < 3; ++round) {
    CHECK(names.create("add") == "add_1");
    CHECK(names.create("add") == "add_2");
    CHECK(names.create("x") == "x");
    CHECK(names.create("x") == "x_6");
    CHECK(names.create("fresh") == "fresh");
    names.roll_back(mark);
  }
  const auto inner = names.mark();
  names.create("add");
  names.roll_back(inner);
  CHECK(names.mark() == mark);
  CHECK(names.create("add") == "add_1");
}

TEST_CASE("the name candidate of a target", "[names]") {
  struct Case {
    std::string target;
    bool is_function;
    std::string candidate;
  };
  const Case cases[] = {
      {"aten.add.Tensor", true, "add"},
      {"aten.conv2d.default", true, "conv2d"},
      {"aten.__and__.Tensor", true, "and"},
      {"aten.add_.Tensor", true, "add_"},
      {"torchvision.nms.default", true, "nms"},
      {"torch.nn.functional.relu", true, "relu"},
      {"torch.functional.einsum", true, "einsum"},
      {"torch.tensor", true, "tensor"},
      {"operator.getitem", true, "getitem"},
      {"operator.and_", true, "and_"},
      {"builtins.getattr", true, "getattr"},
      {"math.ceil", true, "ceil"},
      {"higher_order.cond", true, "cond"},
      {"higher_order.while_loop", true, "while_loop"},
      {"pkg.ops.util.scaleUp", true, "scale_up"},
      {"helper", true, "helper"},
      {"layer1.0.conv1", false, "layer1.0.conv1"},
      {"encoder.selfAttn", false, "encoder.self_attn"},
      {"MLP.fc", false, "mlp.fc"},
      {"__getitem__", false, "getitem"},
      {"", false, ""},
  };
  for (const auto& [target, is_function, candidate] : cases) {
    INFO(target);
    CHECK(name_candidate(target, is_function) == candidate);
  }
}

TEST_CASE("names that torch makes from a target", "[names]") {
  for (const char* name : {"add", "add_3", "add_tensor", "add_tensor_12"})
    CHECK(is_name_from(name, "aten.add.Tensor"));
  for (const char* name : {"", "added", "add3", "logits", "add_scalar", "loss_add"})
    CHECK_FALSE(is_name_from(name, "aten.add.Tensor"));
  CHECK(is_name_from("_softmax_1", "aten._softmax.default"));
  CHECK(is_name_from("and_1", "aten.__and__.Tensor"));
  CHECK(is_name_from("getitem_1", "operator.getitem"));
}
