// Leaf rules: which modules are leaves, and rules that match nothing.
#include "trace/tracer/leaf_rules.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "fake_program.h"
#include "operators/names/modules.h"
#include "support/error.h"

using namespace fxtrace::internal;

namespace {

const char kLinear[] = "torch.nn.modules.linear.Linear";
const char kConv[] = "torch.nn.modules.conv.Conv2d";

FakeModules sample() {
  FakeModules program;
  program.add("", "pkg.Net");
  program.add("encoder", "pkg.Encoder");
  program.add("encoder.layers", "torch.nn.modules.container.ModuleList");
  program.add("encoder.layers.0", "pkg.Layer");
  program.add("encoder.layers.0.fc", kLinear, {{"in_features", 4}, {"bias", true}});
  program.add("encoder.layers.1", "pkg.Layer");
  program.add("encoder.layers.1.fc", kLinear, {{"in_features", 8}, {"bias", true}});
  program.add("stem", "torch.nn.modules.container.Sequential");
  program.add("stem.0", kConv,
              {{"groups", 1}, {"kernel_size", Argument::Tuple{{3, 3}}}, {"padding_mode", "zeros"}});
  program.add("stem.1", kConv, {{"groups", 8}, {"kernel_size", Argument::Tuple{{5, 5}}}, {"eps", 1e-5}});
  program.add("fused", "torch.ao.nn.intrinsic.modules.fused.ConvReLU2d");
  program.add("other", "pkg.Other");
  program.parameter("encoder.layers.0.fc", "weight", {4, 4});
  program.parameter("encoder.layers.1.fc", "weight", {8, 8});
  program.parameter("stem.0", "weight", {2, 2});
  program.parameter("stem.0", "running_mean", {1000}, ParameterKind::kBuffer);
  program.alias("other.fc", "encoder.layers.0.fc");
  return program;
}

std::string leaves(const FakeModules& program, const TraceOptions& options) {
  const LeafRules rules(options, program);
  std::string text;
  for (std::uint32_t i = 0; i < program.modules().size(); ++i) {
    const auto& module = program.modules()[i];
    CHECK(rules.is_leaf(ModuleId{i}) == rules.rule(ModuleId{i}).has_value());
    if (!rules.is_leaf(ModuleId{i}) || module.alias_of) continue;
    text += (text.empty() ? "" : " ") + (module.path.empty() ? std::string("(root)") : module.path);
  }
  return text;
}

const char kDefault[] = "encoder.layers.0.fc encoder.layers.1.fc stem.0 stem.1";

TraceOptions with_rules(std::initializer_list<const char*> texts, bool default_leaves = true) {
  TraceOptions options;
  options.default_leaves = default_leaves;
  for (std::string text : texts) {
    const bool no = text.starts_with("!");
    options.leaf_rules.push_back(fxtrace::LeafRule(no ? text.substr(1) : text, !no));
  }
  return options;
}

}  // namespace

TEST_CASE("leaf rules: public alias", "[leaf_rules]") {
  CHECK(public_alias("torch.nn.modules.linear.Linear") == "torch.nn.Linear");
  CHECK(public_alias("torch.ao.nn.quantized.modules.conv.Conv2d") == "torch.ao.nn.quantized.Conv2d");
  CHECK(public_alias("torch.ao.nn.quantized.dynamic.modules.linear.Linear") ==
        "torch.ao.nn.quantized.dynamic.Linear");
  CHECK(public_alias("torch.nn.utils.parametrize.ParametrizationList") ==
        "torch.nn.utils.parametrize.ParametrizationList");
  CHECK(public_alias("pkg.modules.linear.Linear") == "pkg.modules.linear.Linear");
  CHECK(public_alias("torch.nn.modules.Linear") == "torch.nn.modules.Linear");
}

TEST_CASE("leaf rules: which modules", "[leaf_rules]") {
  struct Case {
    std::vector<const char*> rules;
    bool default_leaves;
    const char* leaves;
  };
  const Case cases[] = {
      {{}, true, kDefault},
      {{}, false, ""},
      {{"torch.nn.Linear"}, false, "encoder.layers.0.fc encoder.layers.1.fc"},
      {{"torch.nn.modules.linear.Linear"}, false, "encoder.layers.0.fc encoder.layers.1.fc"},
      {{"torch.nn.Sequential"}, false, "stem"},
      {{"pkg.*"}, false, "(root) encoder encoder.layers.0 encoder.layers.1 other"},
      {{"pkg.Net"}, true, "(root) encoder.layers.0.fc encoder.layers.1.fc stem.0 stem.1"},
      {{"@encoder.layers.*"}, false, "encoder.layers.0 encoder.layers.1"},
      {{"@encoder.**"},
       false,
       "encoder.layers encoder.layers.0 encoder.layers.0.fc encoder.layers.1 encoder.layers.1.fc"},
      {{"@**.fc"}, false, "encoder.layers.0.fc encoder.layers.1.fc"},
      {{"@**"},
       false,
       "encoder encoder.layers encoder.layers.0 encoder.layers.0.fc encoder.layers.1 encoder.layers.1.fc stem "
       "stem.0 stem.1 fused other"},
      {{"torch.nn.*@**.1.*"}, false, "encoder.layers.1.fc"},
      {{"torch.nn.*@stem.*"}, false, "stem.0 stem.1"},
      {{"!torch.nn.Conv2d"}, true, "encoder.layers.0.fc encoder.layers.1.fc"},
      {{"torch.nn.Conv2d", "!@stem.0"}, false, "stem.1"},
      {{"!@stem.0", "torch.nn.Conv2d"}, false, "stem.0 stem.1"},
      {{"@other.fc"}, false, "encoder.layers.0.fc"},
  };
  const FakeModules program = sample();
  for (const auto& c : cases) {
    TraceOptions options;
    options.default_leaves = c.default_leaves;
    for (std::string text : c.rules) {
      const bool no = text.starts_with("!");
      options.leaf_rules.push_back(fxtrace::LeafRule(no ? text.substr(1) : text, !no));
    }
    CAPTURE(c.rules);
    CHECK(leaves(program, options) == c.leaves);
  }
}

TEST_CASE("leaf rules: depth", "[leaf_rules]") {
  const FakeModules program = sample();
  TraceOptions options = with_rules({"!@encoder"}, false);
  options.max_depth = 1;
  // Children of containers are called directly, so they become leaves in place of the container.
  CHECK(
      leaves(program, options) ==
      "encoder encoder.layers.0 encoder.layers.0.fc encoder.layers.1 encoder.layers.1.fc stem stem.0 stem.1 fused "
      "other");
  const LeafRules rules(options, program);
  CHECK(rules.rule(program.find("encoder")) == "--max-depth 1");
  options.max_depth = 0;
  CHECK(LeafRules(options, program).is_leaf(ModuleId{0}));
}

TEST_CASE("leaf rules: the rule that decided", "[leaf_rules]") {
  const FakeModules program = sample();
  const LeafRules rules(with_rules({"torch.nn.Linear", "pkg.None", "@stem.9"}), program);
  CHECK(rules.rule(program.find("encoder.layers.0.fc")) == "torch.nn.Linear");
  CHECK(rules.rule(program.find("other.fc")) == "torch.nn.Linear");
  CHECK(rules.rule(program.find("stem.0")) == "default");
  CHECK_FALSE(rules.rule(program.find("stem")).has_value());
  const auto unmatched = rules.unmatched();
  REQUIRE(unmatched.size() == 2);
  CHECK(unmatched[0].text() == "rule 'pkg.None' matched nothing");
  CHECK(unmatched[1].text() == "rule '@stem.9' matched nothing; '@stem.0' would match");
  // A rule that others override everywhere has still matched.
  CHECK(LeafRules(with_rules({"@stem.0", "torch.nn.Conv2d"}), program).unmatched().empty());
}

TEST_CASE("leaf rules: what would have matched", "[leaf_rules]") {
  const std::pair<const char*, const char*> cases[] = {
      {"Conv2D", "Conv2d"},                             // misspelt
      {"fc", "@fc"},                                    // the end of a path
      {"torch.nn.Conv2D", "torch.nn.Conv2d"},           //
      {"nn.Conv2d", "**.nn.Conv2d"},                    //
      {"stem.0", "@stem.0"},                            // a path
      {"layers.0.fc", "@**.layers.0.fc"},               // the end of a path
      {"@layers.0.fc", "@**.layers.0.fc"},              //
      {"@torch.nn.Conv2d", "torch.nn.Conv2d"},          // a type
      {"@Conv2d", "Conv2d"},                            //
      {"@encoder.layer.0.fc", "@encoder.layers.0.fc"},  // misspelt
      {"nothing.like.it", ""},
  };
  for (const auto& [rule, would] : cases) {
    CAPTURE(rule);
    const auto unmatched = LeafRules(with_rules({rule}), sample()).unmatched();
    REQUIRE(unmatched.size() == 1);
    const std::string text = "rule '" + std::string(rule) + "' matched nothing";
    CHECK(unmatched[0].text() == (*would == '\0' ? text : text + "; '" + would + "' would match"));
  }
}

TEST_CASE("leaf rules: a bare name is the last part of names where it is none as it stands", "[leaf_rules]") {
  FakeModules program = sample();
  program.add("fc", "Block");
  program.add("deep", "pkg.Block");
  program.add("deep.stem", "pkg.Net");
  const auto leaf = [&](const char* rule) {
    TraceOptions options = with_rules({rule});
    options.default_leaves = false;
    CHECK(LeafRules(options, program).unmatched().empty());
    return leaves(program, options);
  };
  CHECK(leaf("Linear") == leaf("torch.nn.Linear"));
  CHECK(leaf("Layer") == leaf("pkg.Layer"));
  CHECK(leaf("[LM]ayer") == leaf("pkg.Layer"));
  CHECK(leaf("@0") == "encoder.layers.0 stem.0");
  CHECK(leaf("Linear@encoder.**") == "encoder.layers.0.fc encoder.layers.1.fc");
  // Unchanged.
  CHECK(leaf("@fc") == "fc");
  CHECK(leaf("@stem") == "stem");
  CHECK(leaf("Block") == "fc");
  CHECK(leaf("pkg.Block") == "deep");
}

TEST_CASE("leaf rules: predicates", "[leaf_rules]") {
  struct Case {
    Predicate predicate;
    const char* leaves;
  };
  const Argument three_three = Argument::List{{3, 3}};
  const Case cases[] = {
      {{"groups", ">", 1}, "stem.1"},
      {{"groups", ">=", 1}, "stem.0 stem.1"},
      {{"groups", "<", 8}, "stem.0"},
      {{"groups", "<=", 8}, "stem.0 stem.1"},
      {{"groups", "==", 8.0}, "stem.1"},
      {{"groups", "!=", 8}, "stem.0"},
      {{"groups", "==", "8"}, ""},
      {{"groups", "!=", "8"}, "stem.0 stem.1"},
      {{"groups", "<", "8"}, ""},
      {{"groups", "==", Argument::None{}}, ""},
      {{"eps", "<", 1e-4}, "stem.1"},
      {{"padding_mode", "==", "zeros"}, "stem.0"},
      {{"kernel_size", "==", three_three}, "stem.0"},
      {{"kernel_size", "!=", three_three}, "stem.1"},
      {{"kernel_size", ">", three_three}, "stem.1"},
      {{"bias", "==", true}, "encoder.layers.0.fc encoder.layers.1.fc"},
      {{"missing", "!=", 1}, ""},
      {{"depth", "==", 0}, "(root)"},
      {{"depth", ">", 3}, ""},
      {{"depth", "==", 3}, "encoder.layers.0 encoder.layers.1"},
      {{"parameters", ">", 60}, "(root) encoder encoder.layers encoder.layers.1 encoder.layers.1.fc"},
      {{"parameters", "==", 16}, "encoder.layers.0 encoder.layers.0.fc other"},
      {{"parameters", "==", 84}, "(root)"},
  };
  FakeModules program = sample();
  for (const auto& c : cases) {
    CAPTURE(c.predicate.attribute, c.predicate.op);
    TraceOptions options;
    options.default_leaves = false;
    LeafRule rule;
    rule.where = {c.predicate};
    if (c.predicate.attribute == "depth" && c.predicate.op == ">") rule.type_glob = "pkg.*";
    options.leaf_rules = {rule};
    CHECK(leaves(program, options) == c.leaves);
  }
}

TEST_CASE("leaf rules: functions", "[leaf_rules]") {
  TraceOptions options;
  options.wrap_rules = {
      {"pkg.*", true}, {"pkg.b", false}, {"torch.nn.functional.relu", false}, {"nothing.*", true}};
  const LeafRules rules(options, sample());
  CHECK(rules.is_wrapped("torch.nn.functional.linear"));
  CHECK(rules.is_wrapped("torch.functional.einsum"));
  CHECK_FALSE(rules.is_wrapped("torch.nn.functional.relu"));
  CHECK_FALSE(rules.is_wrapped("torch.nn.functionally.relu"));
  CHECK(rules.is_wrapped("pkg.a"));
  CHECK(rules.is_wrapped("pkg.a"));
  CHECK_FALSE(rules.is_wrapped("pkg.b"));
  CHECK_FALSE(rules.is_wrapped("other.f"));
  CHECK(rules.unmatched() == std::vector<Diagnostic>{{"rule {} matched nothing", {"'nothing.*'"}}});
}

TEST_CASE("leaf rules: wrong ones", "[leaf_rules]") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "empty rule"},
      {"a@", "no path after '@'"},
      {"@", "no path after '@'"},
      {"torch.[nn@x", "invalid glob 'torch.[nn@x' at position 7: missing ']'"},
      {"torch.nn@x.[", "invalid glob 'torch.nn@x.[' at position 12: missing ']'"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK_THROWS_WITH(fxtrace::LeafRule(text, true), ContainsSubstring(message));
  }
}

TEST_CASE("leaf rules: shared parents", "[leaf_rules]") {
  FakeModules program;
  program.add("", "pkg.Net");
  program.add("a", "pkg.Block");
  program.add("a.x", "pkg.X");
  program.add("a.x.y", "pkg.Y");
  program.add("b", "pkg.Holder");
  program.alias("b.block", "a");
  CHECK(leaves(program, with_rules({"@b.block.x.y"})) == "a.x.y");
  CHECK(leaves(program, with_rules({"@a.x"})) == "a.x");
  CHECK(leaves(program, with_rules({"@b.block"})) == "a");
}

TEST_CASE("leaf rules: many modules and many rules", "[leaf_rules]") {
  FakeModules program;
  program.add("", "pkg.Net");
  for (int i = 0; i < 100; ++i) {
    const std::string block = "block" + std::to_string(i);
    const ModuleId id = program.add(block, "pkg.Block" + std::to_string(i));
    (void)id;
  }
  TraceOptions options;
  for (int i = 0; i < 100; ++i)
    options.leaf_rules.push_back(fxtrace::LeafRule("@**.layer*.x" + std::to_string(i), true));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) LeafRules rules(options, program);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}
