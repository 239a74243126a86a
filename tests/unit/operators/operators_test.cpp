// The table of operators: schemas, targets, names of Python functions, and traits.
#include <algorithm>
#include <set>
#include <string>

#include "catch.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "opinfo/operator_row.h"
#include "opinfo/python_spelling.h"
#include "support/error.h"
#include "support/text/words.h"
#include "symbolic/python_operators.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

const Operator& row(std::string_view target) {
  const Operator* op = find_operator(parse_target(target));
  INFO(target);
  REQUIRE(op != nullptr);
  return *op;
}

std::string parts(std::string_view target) {
  const TargetParts parsed = parse_target(target);
  const char* kinds[] = {"operator", "higher order", "python"};
  return std::string(kinds[static_cast<int>(parsed.kind)]) + ": " + std::string(parsed.space) + " " +
         std::string(parsed.name) + " " + std::string(parsed.overload);
}

}  // namespace

TEST_CASE("functions of the model's own may look like operators", "[operators]") {
  CHECK(parts("rp.rope.f") == "operator: rp rope f");
  const TargetParts own = function_parts("rp.rope.f");
  CHECK(own.kind == TargetKind::kPython);
  CHECK(own.space == "rp.rope");
  CHECK(own.name == "f");
  CHECK(function_parts("f").name == "f");
  CHECK(function_parts("f").space.empty());
  for (const char* own_name :
       {"rp.rope.f", "f", "torch.nn.functional._pad", "aten.no_such.f", "mathutils.f"}) {
    INFO(own_name);
    CHECK_FALSE(is_reserved_target(own_name));
  }
  for (const char* taken : {"aten.add.Tensor", "aten.relu.default", "operator.getitem", "builtins.len",
                            "math.ceil", "higher_order.cond", "higher_order.a.f"}) {
    INFO(taken);
    CHECK(is_reserved_target(taken));
  }
}

TEST_CASE("targets are taken apart", "[operators]") {
  CHECK(parts("aten.add_.Tensor") == "operator: aten add_ Tensor");
  CHECK(parts("torchvision.nms.default") == "operator: torchvision nms default");
  CHECK(parts("aten.sym_size.int") == "operator: aten sym_size int");
  CHECK(parts("higher_order.cond") == "higher order: higher_order cond ");
  CHECK(parts("operator.add") == "python: operator add ");
  CHECK(parts("builtins.str.join") == "python: builtins.str join ");
  CHECK(parts("torch.nn.functional.relu") == "python: torch.nn.functional relu ");
  CHECK(parts("torch.sym_max") == "python: torch sym_max ");
  CHECK(parts("f") == "python:  f ");
  CHECK(parts("a..b") == "python: a. b ");
  CHECK(parts("") == "python:   ");
}

TEST_CASE("every schema of the table can be read, and every row be found", "[operators]") {
  for (const auto rows : {registered_operators(), extension_operators()}) {
    CHECK(std::ranges::is_sorted(rows, {}, &Operator::name));
    for (const Operator& op : rows) {
      INFO(op.name);
      CHECK_NOTHROW(op.schema());
      CHECK(find_operator(op.base_name(), op.overload()) == &op);
      CHECK(op.schema().writes() == (op.signature.find('!') != std::string_view::npos));
      for (const Alias& alias : entry_of(op).aliases) {
        CHECK(alias.argument < op.schema().arguments.size());
        CHECK(alias.result < op.schema().results.size());
      }
    }
  }
  CHECK(registered_operators().size() > 4000);
}

TEST_CASE("rows are of operators that there are, each in one", "[operators]") {
  std::set<std::string> seen;
  for_each_row([&](std::string_view name, const OperatorFacts& facts) {
    INFO(name);
    CHECK(seen.emplace(name).second);
    const std::string whole = (name.find("::") == std::string_view::npos ? "aten::" : "") + std::string(name);
    const std::size_t dot = whole.find('.');
    if (dot == std::string::npos) {
      // Some rows exist only for derived operators: _cdist for _cdist_backward.
      const auto rows = registered_operators();
      const auto row = std::ranges::lower_bound(rows, whole, {}, &Operator::name);
      CHECK((!overloads(whole).empty() || (row != rows.end() && row->name.starts_with(whole + "_"))));
    } else {
      CHECK(find_operator(whole.substr(0, dot), whole.substr(dot + 1)) != nullptr);
      // A fact about all overloads is in the row for all.
      CHECK(facts.traits == 0);
      CHECK((facts.shape == nullptr && facts.of_sparse == nullptr && facts.macs == nullptr &&
             facts.check == nullptr && facts.signature.empty()));
    }
    if (!facts.like.empty()) {
      const std::string_view like = facts.like == "=" ? name.substr(name.find("::") + 2) : facts.like;
      CHECK(facts_of("aten::" + std::string(like)).like.empty());
      CHECK_FALSE(overloads("aten::" + std::string(like)).empty());
    }
    // Each argument that a rule renames is one of the schema.
    for_each_word(facts.renamed, [&](std::string_view pair) {
      CHECK(overloads(whole).front().schema().find_argument(pair.substr(pair.find('=') + 1)).has_value());
    });
    for (const std::string_view synonym : {facts.synonym_of, facts.compared_as}) {
      const bool is_any = synonym.empty() || synonym == "conv";
      CHECK((is_any || !overloads("aten::" + std::string(synonym)).empty()));
    }
  });
}

TEST_CASE("signatures are of operators with these arguments and results", "[operators]") {
  const auto check = [](const Operator& op) {
    const OperatorFacts& facts = facts_of(op.base_name());
    if (facts.forms == nullptr) return;
    INFO(op.name << " has " << facts.signature);
    const Schema schema = op.schema();
    for (const SignatureForm& form : *facts.forms) {
      CHECK(form.operands.size() <= schema.arguments.size());
      CHECK(form.results.size() >= schema.results.size());
    }
  };
  std::ranges::for_each(registered_operators(), check);
  std::ranges::for_each(extension_operators(), check);
}

TEST_CASE("a signature is refused when it is wrong", "[operators]") {
  for (const std::string_view text :
       {"", "mk * kn", "mk kn -> mn -> m", "mk * -> m", "* mk -> m", "mk * + kn -> mn", "mk -> mn",
        "m... -> m", "M -> M", "m:int32 -> m", "m:sum -> m", "m -> m:floating", "m -> m:", "m -> m:int33",
        "m? -> m", ".../dim -> m", "m -> m | ", "m -> m | k"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_signature(text), std::logic_error);
  }
  CHECK(parse_signature("mn + mk * kn -> mn").front().summed == "k");
  CHECK(parse_signature("k * k ->").front().results.size() == 1);
}

TEST_CASE("functions of Python are operators again", "[operators]") {
  CHECK(operator_of_python("operator.add") == "aten::add");
  CHECK(operator_of_python("operator.iadd") == "aten::add_");  // and aten::extend
  CHECK(operator_of_python("builtins.list") == "aten::list");  // and aten::copy, aten::keys
  CHECK(operator_of_python("builtins.int") == "aten::Int");
  CHECK(operator_of_python("builtins.abs") == "prim::abs");
  CHECK(operator_of_python("torch.save").empty());  // it writes a file
  CHECK(operator_of_python("torch.sin").empty());
}

TEST_CASE("targets and rows name each other", "[operators]") {
  CHECK(row("aten.add.Tensor").name == "aten::add.Tensor");
  CHECK(row("aten.relu.default").target() == "aten.relu.default");
  CHECK(row("torchvision.nms.default").name == "torchvision::nms");
  CHECK(find_operator(parse_target("aten.add.Tensr")) == nullptr);
  CHECK(find_operator(parse_target("operator.add")) == nullptr);
  CHECK(overloads("aten::relu").size() == 2);  // and out
  CHECK(overloads("aten::rel").empty());
  CHECK(find_operator(parse_target("aten.add.Tensor")) == &row("aten.add.Tensor"));
  CHECK(find_operator(parse_target("pkg.add.default")) == nullptr);
  CHECK(parse_target("my.op.Tensor").base_name() == "my::op");
  CHECK(parse_target("my.op").base_name() == "my::op");
  CHECK(parse_target("op").base_name() == "op");
}

TEST_CASE("schemas are read whole", "[operators]") {
  const Schema schema = parse_schema(
      "(Tensor(a!) self, Tensor?[] other, int[2] stride=[1, 1], str mode=\"a, (b\", *, Scalar alpha=1) -> "
      "(Tensor(a!), (str, t)[] items)");
  REQUIRE(schema.arguments.size() == 5);
  CHECK(schema.arguments[0].is_written);
  CHECK(schema.arguments[0].type.alias->before == std::vector<std::string>{"a"});
  CHECK(schema.arguments[1].type.is_list());
  CHECK(schema.arguments[1].type.parts[0].is_optional());
  CHECK(schema.arguments[1].type.innermost().name == "Tensor");
  CHECK_FALSE(schema.arguments[1].is_written);
  CHECK(schema.arguments[2].length == 2);
  CHECK(schema.arguments[2].default_value == "[1, 1]");
  CHECK(schema.arguments[3].default_value == "\"a, (b\"");
  CHECK_FALSE(schema.arguments[3].keyword_only);
  CHECK(schema.arguments[4].keyword_only);
  REQUIRE(schema.results.size() == 2);
  CHECK(schema.results[1].parts[0].name == "Tuple");
  CHECK(schema.results[1].parts[0].parts[1].is_variable());

  const Schema moves = parse_schema("(t[](a!) self, t(c -> *) el) -> t[](a!)");
  CHECK(moves.arguments[0].is_written);
  CHECK(moves.arguments[1].type.alias->after == std::vector<std::string>{"*"});
  CHECK(parse_schema("(str self, ...) -> str").is_variadic);
  CHECK(parse_schema("(...) -> ...").has_variadic_results);
  CHECK(parse_schema("() -> ()").results.empty());
  CHECK(parse_schema("(Dict(str, Tensor) x) -> __torch__.torch.classes.pkg.C").results[0].name ==
        "__torch__.torch.classes.pkg.C");
}

TEST_CASE("schemas that are none say where", "[operators]") {
  for (const char* text : {"", "(", "(Tensor)", "(Tensor x", "(Tensor x) ->", "(Tensor x) -> Tensor)",
                           "(Tensor x=) -> ()", "(int[x] y) -> ()", "(Tensor( x) -> ()"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_schema(text), Error);
  }
  CHECK_THROWS_AS(parse_schema("(" + std::string(1000, '(') + ") -> ()"), Error);
  CHECK_THROWS_WITH(parse_schema("(Tensor x) Tensor"), ContainsSubstring("expected '->' at character 12"));
}

TEST_CASE("an operator that is not in the table may do anything", "[operators]") {
  CHECK(may_write(nullptr));
  CHECK_FALSE(is_pure(nullptr));
  CHECK_FALSE(has_trait(nullptr, traits::kPlain));
}

TEST_CASE("what operators do besides their results", "[operators]") {
  for (const char* target :
       {"aten.add.Tensor", "aten.view.default", "aten.batch_norm_elemt.default", "aten.gru_cell.default",
        "aten.item.default", "quantized.add.default", "torchvision.nms.default", "aten.zeros.default"}) {
    INFO(target);
    CHECK(is_pure(&row(target)));
  }
  for (const char* target :
       {"aten.add_.Tensor", "aten.add.out", "aten.batch_norm.default", "aten.native_batch_norm.default",
        "aten.__iand__.Tensor", "aten._native_batch_norm_legit.default", "aten.append.t",
        "aten.rrelu_with_noise.default", "aten.resize_.default"}) {
    INFO(target);
    CHECK(may_write(&row(target)));
  }
  for (const char* target :
       {"aten.dropout.default", "aten.rand.default", "aten.lstm.input", "aten.normal_.default",
        "aten.scaled_dot_product_attention.default", "aten.multinomial.default"}) {
    INFO(target);
    CHECK(has_trait(&row(target), traits::kRandom));
    CHECK_FALSE(is_pure(&row(target)));
  }
  // An operator with "uniform" in its name need not draw random numbers.
  CHECK(is_pure(&row("aten._philox_uniform.default")));
  for (const char* target :
       {"aten.save.default", "aten.warn.default", "aten.manual_seed.default", "prim.Print.default",
        "aten.set_grad_enabled.default", "aten._assert_scalar.default"}) {
    INFO(target);
    CHECK_FALSE(is_pure(&row(target)));
  }
  CHECK(has_trait(&row("aten.item.default"), traits::kReadsData));
  CHECK(has_trait(&row("aten.nonzero.default"), traits::kShapeFromData));
  CHECK(has_trait(&row("aten.unsqueeze_.default"), traits::kChangesShape));
  CHECK(has_trait(&row("aten.relu.default"), traits::kPointwise));
  CHECK(has_trait(&row("aten.sym_size.int"), traits::kGivesSize));
}

TEST_CASE("results that share memory with arguments", "[operators]") {
  const auto one = [](const char* target) {
    const auto found = entry_of(row(target)).aliases;
    INFO(target);
    REQUIRE(found.size() == 1);
    return found.front();
  };
  CHECK(one("aten.view.default").always);
  CHECK_FALSE(one("aten.view.default").may_be_same);
  CHECK_FALSE(one("aten.reshape.default").always);
  CHECK(one("aten.add_.Tensor").may_be_same);
  CHECK(one("aten.to.dtype").may_be_same);
  CHECK_FALSE(one("aten.to.dtype").always);
  CHECK(one("aten.dropout.default").may_be_same);
  CHECK(one("aten.einsum.default").argument == 1);
  CHECK(one("aten.split.Tensor").of_elements);
  CHECK(one("aten.__getitem__.t").of_elements);
  CHECK(entry_of(row("aten.add.Tensor")).aliases.empty());
  CHECK(entry_of(row("aten.max.dim_max")).aliases.size() == 2);
}

TEST_CASE("views have inverses", "[operators]") {
  const auto inverse = [](const char* target) { return entry_of(row(target)).inverse.target; };
  CHECK(inverse("aten.select.int") == "aten.select_scatter.default");
  CHECK(inverse("aten.transpose.int") == "aten.transpose.int");
  CHECK(inverse("aten.view.default") == "aten.reshape_as.default");
  CHECK(inverse("aten.expand.default").empty());  // one element appears in several places
  for (const Operator& op : registered_operators()) {
    const std::string_view target = entry_of(op).inverse.target;
    if (!target.empty()) CHECK(find_operator(parse_target(target)) != nullptr);
    if (!target.empty()) CHECK_FALSE(entry_of(op).aliases.empty());
  }
}

TEST_CASE("batching rules name what their operators have", "[operators]") {
  CHECK(entry_of(row("aten.add.Tensor")).batch.may_write);
  CHECK(entry_of(row("aten.sum.default")).batch.target == "aten.sum.dim_IntList");
  CHECK(entry_of(row("aten.nonzero.default")).batch.empty());
  for (const Operator& op : registered_operators()) {
    const BatchingRule rule = entry_of(op).batch;
    if (rule.empty()) continue;
    INFO(op.name);
    const Schema schema = op.schema();
    const auto has = [&](std::string_view name) {
      return name.empty() ||
             std::ranges::find(schema.arguments, name, &SchemaArgument::name) != schema.arguments.end();
    };
    CHECK(has(rule.argument));
    CHECK((entry_of(op).sizes.empty() || !entry_of(op).schema.arguments.empty()));
    CHECK(std::ranges::all_of(rule.fixed, has));
    if (!rule.target.empty()) CHECK(find_operator(parse_target(rule.target)) != nullptr);
  }
}

TEST_CASE("defaults that a functional twin does not have", "[operators]") {
  // remove-inplace writes the defaults out; all of them are plain values.
  std::vector<std::string> found;
  for (const Operator& op : registered_operators()) {
    const Operator* twin = functional_twin(op);
    if (twin == nullptr || twin == &op) continue;
    const Schema theirs = twin->schema();
    for (const SchemaArgument& argument : op.schema().arguments) {
      const auto other = std::ranges::find(theirs.arguments, argument.name, &SchemaArgument::name);
      if (!argument.default_value || argument.is_written) continue;
      if (other == theirs.arguments.end()) {
        found.push_back(std::string(op.name) + " has no twin's " + argument.name);
      } else if (other->default_value != argument.default_value) {
        found.push_back(std::string(op.name) + " " + argument.name + "=" + *argument.default_value + ", " +
                        other->default_value.value_or("none"));
      }
    }
  }
  CHECK(found == std::vector<std::string>{"aten::bernoulli.float_out p=0.5, none",
                                          "aten::bernoulli_.float p=0.5, none"});
}

TEST_CASE("operators find their twins", "[operators]") {
  const auto name = [](const Operator* op) { return op == nullptr ? std::string_view() : op->name; };
  CHECK(name(functional_twin(row("aten.add_.Tensor"))) == "aten::add.Tensor");
  CHECK(name(functional_twin(row("aten.add.out"))) == "aten::add.Tensor");
  CHECK(name(functional_twin(row("aten.__iand__.Scalar"))) == "aten::__and__.Scalar");
  CHECK(name(functional_twin(row("aten.dropout_.default"))) == "aten::dropout");
  CHECK(name(functional_twin(row("aten.normal_.default"))) == "aten::normal_functional");
  CHECK(name(functional_twin(row("aten._native_batch_norm_legit.default"))) ==
        "aten::_native_batch_norm_legit_functional");
  CHECK(name(functional_twin(row("aten.add.Tensor"))) == "aten::add.Tensor");
  CHECK(name(functional_twin(row("aten.set_data.default"))).empty());
}

TEST_CASE("Python has other names for some operators", "[operators]") {
  const auto spelled = [](const char* target) {
    const Operator& op = row(target);
    return python_target(op.base_name(), op.overload(), op.schema()).name;
  };
  CHECK(spelled("aten.add.int") == "operator.add");
  CHECK(spelled("aten.add.Tensor") == "aten.add.Tensor");
  CHECK(spelled("aten.pow.int_float") == "math.pow");
  CHECK(spelled("aten.upper.default") == "aten.upper.default");
  CHECK(spelled("prim.dtype.default") == "dtype");
  CHECK(spelled("aten.len.t") == "builtins.len");
  CHECK(spelled("aten.sin.float") == "math.sin");
  CHECK(python_symbol("operator.and_") == "&");
  CHECK(python_symbol("operator.getitem").empty());
}

TEST_CASE("higher-order operators run their subgraphs in one of three ways", "[operators]") {
  CHECK(subgraph_runs(parse_target("higher_order.cond")) == SubgraphRuns::kOneOf);
  CHECK(subgraph_runs(parse_target("higher_order.switch")) == SubgraphRuns::kOneOf);
  CHECK(subgraph_runs(parse_target("higher_order.flex_gemm")) == SubgraphRuns::kOnce);
  CHECK(subgraph_runs(parse_target("higher_order.scan")) == SubgraphRuns::kRepeated);
  CHECK(subgraph_runs(parse_target("higher_order.wrap_with_autocast")) == SubgraphRuns::kOnce);
  CHECK(subgraph_runs(parse_target("higher_order.flex_attention")) == SubgraphRuns::kUnknown);
  CHECK(subgraph_runs(parse_target("aten.scan.default")) == SubgraphRuns::kUnknown);
}
