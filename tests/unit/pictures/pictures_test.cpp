// The layout of pictures: boxes, folding of equal siblings, and what is left out.
#include <chrono>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "pictures/labels.h"
#include "pictures/outline.h"
#include "pictures/picture.h"
#include "sample_collection.h"
#include "support/error.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;

// A model's graph; its modules are those that its nodes are in or call, in the order of the text.
GraphCollection model(const std::string& nodes, const std::vector<std::string>& called = {}) {
  GraphCollection collection;
  collection.graphs.push_back(module_graph("", "N", nodes));
  ModuleGraph& graph = collection.graphs.back();
  graph.execution->module_forward_order = called;
  std::vector<std::pair<std::string, std::string>> modules = {{"", "N"}};
  for (const NodeId id : graph.graph.order()) {
    const Scope& scope = graph.graph.node(id).scope;
    const std::pair<std::string, std::string> module{scope.module_path, scope.module_type.value_or("")};
    if (!module.first.empty() && std::find(modules.begin(), modules.end(), module) == modules.end()) {
      modules.push_back(module);
    }
  }
  for (const auto& [path, type] : modules) {
    collection.modules.push_back({path, type, ModuleStatus::kTraced, {}, {}, 1, {}});
  }
  return collection;
}

// Returns the visible items, one per line: "+" for an open box, "*" for a closed one, and its words; then the
// edges.
std::string text_of(const GraphCollection& collection, const PictureOptions& options = {}) {
  const Picture picture = make_picture(collection, options);
  const Labels labels(collection, picture.outline, options.order);
  std::string text;
  const auto words = [&](Index index) {
    const Label label = labels.label(index);
    std::string line = label.title;
    for (const std::string& more : {label.type, label.details, label.value, label.order, label.failure}) {
      if (!more.empty()) line += " | " + more;
    }
    for (const std::string& attribute : label.attributes) line += " | " + attribute;
    return line;
  };
  const std::function<void(Index, const std::string&)> write = [&](Index index, const std::string& indent) {
    const Outline::Item& item = picture.outline[index];
    const bool is_open = picture.is_open[index];
    const std::string note = labels.label(index).note;
    text += indent + (item.kind == Outline::Kind::kNode ? "" : is_open ? "+" : "*") + words(index);
    if (item.kind != Outline::Kind::kNode && !is_open) {
      text += " (" + labels.same_note(picture.same_as[index], index) +
              (picture.same_as[index] == Outline::kNone ? "" : ", ") + note + ")";
    }
    text += "\n";
    if (!is_open) return;
    for (const Index child : item.children) write(child, indent + "  ");
  };
  for (const Index top : picture.tops) write(top, "");
  for (const Index neighbor : picture.neighbors) text += "~" + words(neighbor) + "\n";
  for (const auto& [from, to] : picture.edges)
    text += labels.label(from).title + " -> " + labels.label(to).title + "\n";
  return text + picture.note;
}

std::string layer(int i, const std::string& input) {
  const std::string path = "h." + std::to_string(i);
  const std::string name = "h_" + std::to_string(i) + "_l";
  return "%" + name + " = call_module[" + path + ".l](%" + input + ")  # " + path +
         ".l: torch.nn.modules.linear.Linear\n" + "%r" + std::to_string(i) +
         " = call_function[aten.relu.default](%" + name + ")  # " + path + ": Block\n";
}

}  // namespace

TEST_CASE("pictures: each call of a module is a box, containers are none", "[pictures]") {
  const auto collection = model(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)  # a: A
      %a_l_0 = call_module[a.l.0](%relu)  # a.l.0: L
      %neg = call_function[aten.neg.default](%a_l_0)
      %relu_1 = call_function[aten.relu.default](%neg)  # a: A, call 2
      %a_l_0_1 = call_module[a.l.0](%relu_1)  # a.l.0: L, call 2
      %output = output[output](%a_l_0_1))",
                                {"", "a", "a.l.0", "a", "a.l.0"});
  CHECK(text_of(collection) == R"(+(root) | N
  x
  +a | A
    relu
    l.0 | L
  neg
  +a, call 2 | A
    relu
    l.0 | L
  output
x -> relu
relu -> l.0
l.0 -> neg
neg -> relu
relu -> l.0
l.0 -> output
)");
}

TEST_CASE("pictures: the output has the names that someone chose", "[pictures]") {
  auto collection = model("%x = placeholder[x]()\n%output = output[output](%x)");
  GraphSignature& signature = collection.graphs.front().signature.emplace();
  CHECK_THAT(text_of(collection), ContainsSubstring("  output\n"));
  for (const char* name : {"a", "add_1", "b", "c", "d", "e"}) {
    signature.outputs.emplace_back().name = name;
    signature.outputs.back().is_named = std::string(name) != "add_1";
  }
  CHECK_THAT(text_of(collection), ContainsSubstring("  output | a, b, c, d, and 1 more\n"));
  signature.outputs.resize(3);
  CHECK_THAT(text_of(collection), ContainsSubstring("  output | a, b\n"));
}

TEST_CASE("pictures: sizes, asserts and constants are left out, and edges go past them", "[pictures]") {
  auto collection = model(R"(
      %x = placeholder[x]()
      %size = call_function[aten.size.int](%x, 0)
      %floordiv = call_function[operator.floordiv](%size, 2)
      %_assert_scalar = call_function[aten._assert_scalar.default](%floordiv, "odd")
      %arange = call_function[aten.arange.default](%size)
      %unsqueeze = call_function[aten.unsqueeze.default](%arange, 0)
      %view = call_function[aten.view.default](%x, [%floordiv, -1])
      %split = call_function[aten.split.Tensor](%view, 2)
      %getitem = call_function[operator.getitem](%split, 1)
      %scale = get_attr[scale]()
      %mul = call_function[aten.mul.Tensor](%getitem, %scale)
      %add = call_function[aten.add.Tensor](%mul, %unsqueeze, alpha=2)
      %item = call_function[aten.item.default](%add)
      %mul_1 = call_function[operator.mul](%item, 2)
      %output = output[output](%mul_1))");
  Graph& graph = collection.graphs[0].graph;
  for (const NodeId id : graph.order()) {
    const std::string& name = graph.node(id).name;
    if (name == "size" || name == "floordiv") graph.meta(id).type = "int";
    if (name == "size") graph.meta(id).value = Expression::name("batch");
    if (name == "item" || name == "mul_1") graph.meta(id).type = "float";
    if (name == "unsqueeze" || name == "arange" || name == "view") graph.meta(id).type = "Tensor";
  }
  collection.parameters = {{"scale", ParameterKind::kParameter, {4}, "float32", {}, {}}};
  CHECK(text_of(collection) == R"(+(root) | N
  x
  view
  split | 2
  mul | scale [4]
  add | alpha=2 | from sizes
  item
  mul | 2
  output
x -> view
view -> split
split -> mul
mul -> add
add -> item
item -> mul
mul -> output
)");
  PictureOptions options;
  options.plumbing = true;
  options.parameters = true;
  const std::string all = text_of(collection, options);
  for (const char* line :
       {"  size | dim=0 | int batch\n", "  floordiv", "  _assert_scalar", "  arange\n", "  getitem | 1\n",
        "  scale\n", "size -> floordiv\n", "floordiv -> view\n", "split -> getitem\n"}) {
    CHECK_THAT(all, ContainsSubstring(line));
  }
}

TEST_CASE("pictures: equal siblings are one box", "[pictures]") {
  std::string nodes = "%x = placeholder[x]()\n%y = placeholder[y]()\n" + layer(0, "x");
  for (int i = 1; i < 12; ++i) nodes += layer(i, "r" + std::to_string(i - 1));
  const auto collection = model(nodes + "%output = output[output](%r11)");
  CHECK(text_of(collection) == R"(+(root) | N
  x
  y
  +h.0 | Block
    l | Linear
    relu
  *h.1 … h.11 | Block (as h.0, × 11)
  output
x -> l
l -> relu
relu -> h.1 … h.11
h.1 … h.11 -> output
)");
  PictureOptions options;
  options.fold = false;
  CHECK_THAT(text_of(collection, options), ContainsSubstring("  +h.8 | Block\n    l | Linear\n"));

  // A sibling with another size is not equal.
  auto other = collection;
  for (const NodeId id : other.graphs[0].graph.order()) {
    if (other.graphs[0].graph.node(id).name == "r5") {
      other.graphs[0].graph.meta(id) = {"Tensor", std::vector<Expression>{3}, ScalarType::kFloat32, {}, {}};
    }
  }
  const std::string text = text_of(other);
  for (const char* line :
       {"*h.1 … h.4 | Block (as h.0, × 4)\n", "+h.5 | Block\n", "*h.7 … h.11 | Block (as h.6, × 5)\n"}) {
    CHECK_THAT(text, ContainsSubstring(line));
  }
}

TEST_CASE("pictures: a row of several siblings repeats", "[pictures]") {
  // Experts: each takes its column, and its result is added to the sum.
  std::string nodes = "%x = placeholder[x]()\n%neg = call_function[aten.neg.default](%x)\n";
  std::string sum = "neg";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    nodes += "%c" + n + " = call_function[aten.select.int](%x, 1, " + n + ")\n";
    nodes += layer(i, "c" + n);
    nodes += "%s" + n + " = call_function[aten.add.Tensor](%" + sum + ", %r" + n + ")\n";
    sum = "s" + n;
  }
  CHECK(text_of(model(nodes + "%output = output[output](%s7)")) == R"(+(root) | N
  x
  neg
  +repeated: select … add
    select | dim=1, index=0
    +h.0 | Block
      l | Linear
      relu
    add
  *repetitions of the above (× 7)
  output
x -> neg
x -> select
select -> l
l -> relu
neg -> add
relu -> add
x -> repetitions of the above
add -> repetitions of the above
repetitions of the above -> output
)");
}

TEST_CASE("pictures: operations alone repeat four times before they fold", "[pictures]") {
  const auto chain = [](int length) {
    std::string nodes = "%v0 = placeholder[x]()\n";
    for (int i = 1; i <= length; ++i) {
      nodes +=
          "%v" + std::to_string(i) + " = call_function[aten.relu.default](%v" + std::to_string(i - 1) + ")\n";
    }
    return text_of(model(nodes + "%output = output[output](%v" + std::to_string(length) + ")"));
  };
  CHECK_THAT(chain(3), !ContainsSubstring("as relu"));
  CHECK_THAT(chain(4), ContainsSubstring("  x\n  *relu, × 4 ()\n  output\n"));
}

namespace {

// Calls of blocks, one after the other: "a" calls the block a, "a!" the module a without a box.
GraphCollection sequence(const std::vector<std::string>& blocks) {
  std::string nodes = "%v0 = placeholder[x]()\n";
  std::vector<std::string> called{""};
  std::map<std::string, int> calls;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool is_leaf = blocks[i].ends_with('!');
    const std::string path = blocks[i].substr(0, blocks[i].size() - static_cast<std::size_t>(is_leaf));
    const int call = ++calls[path];
    const std::string input = "%v" + std::to_string(i);
    const std::string kind = path.substr(0, path.find('.'));
    nodes += "%v" + std::to_string(i + 1) + " = ";
    nodes += is_leaf ? "call_module[" + path + "](" + input + ")"
                     : "call_function[aten." + kind + ".default](" + input + ")";
    nodes += "  # " + path + ": " + kind + (call > 1 ? ", call " + std::to_string(call) : "") + "\n";
    called.push_back(path);
  }
  GraphCollection collection =
      model(nodes + "%output = output[output](%v" + std::to_string(blocks.size()) + ")", called);
  for (ModuleRecord& module : collection.modules) module.calls = std::max(1, calls[module.path]);
  return collection;
}

// Returns how many calls of modules an item represents, by its label.
std::size_t told_calls(const Outline& outline, const Labels& labels, Index index) {
  const Outline::Item& item = outline[index];
  const auto of_all = [&](const std::vector<Index>& children) {
    std::size_t count = 0;
    for (const Index child : children) count += told_calls(outline, labels, child);
    return count;
  };
  switch (item.kind) {
    case Outline::Kind::kModule:
      return 1;
    case Outline::Kind::kNode:
      return static_cast<std::size_t>(item.node->op == Opcode::kCallModule);
    case Outline::Kind::kRepeats: {
      const Label label = labels.label(index);
      const std::string text = label.title + label.note;
      const std::size_t at = text.find("\u00D7 ");
      const std::size_t times = at == std::string::npos ? 1 : std::stoul(text.substr(at + 3));
      // Its parts say how many items they group.
      for (const Index child : item.children) {
        if (outline[child].kind == Outline::Kind::kPart)
          CHECK_THAT(labels.label(child).note, ContainsSubstring("\u00D7 "));
      }
      Index one = item.like != Outline::kNone ? item.like : item.children.front();
      while (outline[one].kind == Outline::Kind::kPart) one = outline[one].children.front();
      return times * told_calls(outline, labels, one);
    }
    default:
      return of_all(item.children);
  }
}

std::size_t told_calls(const GraphCollection& collection, bool is_page) {
  const Outline outline =
      is_page ? make_folded_outline(collection, {}) : make_picture(collection, {}).outline;
  const Labels labels(collection, outline, false);
  return told_calls(outline, labels, outline.graphs[0]);
}

}  // namespace

TEST_CASE("pictures: counts are of modules, however many there are", "[pictures]") {
  std::vector<std::string> blocks;
  const auto add = [&](const std::string& kind, std::size_t i) {
    blocks.push_back(kind + "." + std::to_string(i));
  };
  for (std::size_t i = 0; i < 80; ++i) add("relu", i);
  CHECK_THAT(text_of(sequence(blocks)), ContainsSubstring("  *relu.1 … relu.79 | relu (as relu.0, × 79)\n"));
  blocks.clear();
  for (std::size_t i = 0; i < 96; ++i) add(i % 2 == 0 ? "relu" : "sin", i);
  CHECK_THAT(text_of(sequence(blocks)), ContainsSubstring("  *repetitions of the above (× 47)\n"));
  blocks.clear();
  for (std::size_t i = 0; i < 2400; ++i) add(i % 3 == 0 ? "relu" : i % 3 == 1 ? "sin" : "cos", i);
  CHECK_THAT(text_of(sequence(blocks)), ContainsSubstring("  *repetitions of the above (× 799)\n"));
  CHECK(told_calls(sequence(blocks), true) == 2400);
}

TEST_CASE("pictures: other weights are no repetition of calls of one module", "[pictures]") {
  const auto text = [](const std::vector<std::string>& blocks) { return text_of(sequence(blocks)); };
  CHECK_THAT(text({"a!", "a!", "a!", "b!"}), ContainsSubstring("  x\n  *a, × 3 | a ()\n  b | b\n  output\n"));
  // Boxes of one type: relu.0 is called three times.
  CHECK_THAT(text({"relu.0", "relu.0", "relu.0", "relu.1"}),
             ContainsSubstring("  +relu.0, call 1 | relu\n    relu\n"
                               "  *relu.0, call 2 … 3 | relu (as relu.0, call 1, × 2)\n"
                               "  +relu.1 | relu\n"));
  CHECK_THAT(text({"relu.0", "relu.1", "relu.1", "relu.1"}),
             ContainsSubstring("  *relu.1, call 2 … 3 | relu (as relu.1, call 1, × 2)\n"));
  // Two that alternate, and each twice in a row.
  CHECK_THAT(text({"relu.0", "relu.1", "relu.0", "relu.1"}),
             ContainsSubstring("  *repetition of the above ()\n"));
  CHECK_THAT(text({"relu.0", "relu.0", "relu.1", "relu.1", "relu.2", "relu.2"}),
             ContainsSubstring("    *relu.0, call 2 | relu (as relu.0, call 1)\n"
                               "  *repetitions of the above (× 2)\n"));
  // Features that all share do not distinguish them.
  CHECK_THAT(text({"relu.0", "sin.0", "relu.1", "sin.0", "relu.2", "sin.0"}),
             ContainsSubstring("  *repetitions of the above (× 2)\n"));
}

TEST_CASE("pictures: counts add up to the modules that the graph calls", "[pictures]") {
  constexpr unsigned kSeeds = 200;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
    const std::vector<std::string> kinds = {"relu", "sin", "cos"};
    std::vector<std::string> blocks;
    for (std::size_t segment = 1 + below(4); segment-- > 0;) {
      // A row with a period of a few blocks, equal or different in each period; some of them are leaves.
      const std::size_t period = 1 + below(4);
      const std::size_t times = 1 + below(below(5) == 0 ? 60 : 6);
      const std::size_t modules = 1 + below(4);
      const bool is_new = below(2) == 0;
      std::vector<std::string> row;
      for (std::size_t i = 0; i < period; ++i)
        row.push_back(kinds[below(kinds.size())] + "." + std::to_string(below(modules)));
      for (std::size_t time = 0; time < times; ++time) {
        for (const std::string& block : row) {
          const bool is_other = is_new && below(8) != 0;
          blocks.push_back(block + (is_other ? "_" + std::to_string(blocks.size()) : ""));
          if (block.starts_with("cos")) blocks.back() += '!';
        }
      }
    }
    INFO("seed " << seed);
    const GraphCollection collection = sequence(blocks);
    CHECK(told_calls(collection, false) == blocks.size());
    CHECK(told_calls(collection, true) == blocks.size());
  }
}

TEST_CASE("pictures: depth and focus", "[pictures]") {
  const auto collection = model(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)  # a: A
      %neg = call_function[aten.neg.default](%relu)  # a.b: B
      %sin = call_function[aten.sin.default](%neg)  # a.b.c: C
      %cos = call_function[aten.cos.default](%sin)  # z: Z
      %output = output[output](%cos))");
  PictureOptions options;
  options.depth = 1;
  CHECK(text_of(collection, options) == R"(+(root) | N
  x
  *a | A (3 operations)
  *z | Z (1 operation)
  output
x -> a
a -> z
z -> output
)");
  options.depth = 2;
  CHECK_THAT(text_of(collection, options),
             ContainsSubstring("  +a | A\n    relu\n    *b | B (2 operations)\n"));
  options.depth.reset();
  options.focus = "a.b";
  CHECK(text_of(collection, options) == R"(+b | B
  neg
  +c | C
    sin
~relu
~cos
relu -> neg
neg -> sin
sin -> cos
)");
  options.focus = "a.bb";
  CHECK_THROWS_WITH(text_of(collection, options), "the model has no module 'a.bb'");
}

TEST_CASE("pictures: a focus on a container, another name, a leaf", "[pictures]") {
  auto collection =
      model("%x = placeholder[x]()\n" + layer(0, "x") + layer(1, "r0") + "%output = output[output](%r1)");
  collection.modules.push_back(
      {"h", "torch.nn.modules.container.ModuleList", ModuleStatus::kTraced, {}, {}, 0, {}});
  collection.modules.push_back({"k", "Block", ModuleStatus::kTraced, "h.1", {}, 0, {}});
  PictureOptions options;
  options.fold = false;
  options.focus = "h";
  CHECK_THAT(text_of(collection, options),
             Catch::Matchers::StartsWith("+h.0 | Block\n  l | Linear\n  relu\n+h.1 | Block\n"));
  options.focus = "k";
  CHECK_THAT(text_of(collection, options), Catch::Matchers::StartsWith("+h.1 | Block\n"));
  for (ModuleRecord& module : collection.modules) {
    if (module.path == "h.0.l") module.status = ModuleStatus::kLeaf;
  }
  options.focus = "h.0.l";
  CHECK_THROWS_WITH(text_of(collection, options),
                    "--focus h.0.l: the module has no nodes in a graph: it is a leaf");
}

TEST_CASE("pictures: what does not fit is closed, and the picture says so", "[pictures]") {
  // Twelve stages of different widths, and one box of another kind with too much in it.
  std::string nodes = "%x = placeholder[x]()\n";
  std::string last = "x";
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < 8; ++k) {
      const std::string name = "s" + std::to_string(i) + "_" + std::to_string(k);
      nodes += "%" + name + " = call_function[aten." + (k % 2 == 0 ? "relu" : "sin") + ".default](%" + last +
               ")  # stage" + std::to_string(i) + ": Stage\n";
      last = name;
    }
  }
  auto stages = model(nodes + "%output = output[output](%" + last + ")");
  int width = 0;
  for (const NodeId id : stages.graphs[0].graph.order()) {
    stages.graphs[0].graph.meta(id) = {
        "Tensor", std::vector<Expression>{1 + (width++ / 8)}, ScalarType::kFloat32, {}, {}};
  }
  std::string text = text_of(stages);
  for (const char* line : {"  +stage0 | Stage\n", "  *stage1 | Stage (as stage0, 8 operations)\n",
                           "  *stage11 | Stage (as stage0, 8 operations)\n",
                           "Of several boxes with the same structure, the first is open."}) {
    CHECK_THAT(text, ContainsSubstring(line));
  }

  const auto many = [](const std::string& scope, int count) {
    std::string long_nodes = "%w0 = placeholder[x]()\n";
    for (int i = 1; i <= count; ++i) {
      const char* op = i % 7 == 0   ? "relu"
                       : i % 5 == 0 ? "sin"
                       : i % 3 == 0 ? "cos"
                       : i % 2 == 0 ? "tanh"
                                    : "neg";
      long_nodes += "%w" + std::to_string(i) + " = call_function[aten." + op + ".default](%w" +
                    std::to_string((i * i) % i) + ", " + std::to_string(i) + ")" + scope + "\n";
    }
    return model(long_nodes + "%output = output[output](%w" + std::to_string(count) + ")");
  };
  text = text_of(many("  # deep: Deep", 100));
  CHECK_THAT(text, ContainsSubstring("closed to keep the picture small"));
  for (const int count : {200, 5000}) {
    const auto large = many("", count);
    const Picture picture = make_picture(large, {});
    std::size_t seen = 0;
    for (Index i = 0; i < picture.outline.items.size(); ++i) {
      seen += static_cast<std::size_t>(picture.seen[i] == i && !picture.is_open[i]);
      CHECK(picture.outline[i].children.size() <= kSiblings);
    }
    CHECK(seen <= kBoxesOfPicture);
    CHECK_FALSE(picture.note.empty());
    std::size_t closed = 0;
    for (Index i = 0; i < picture.outline.items.size(); ++i) {
      const auto kind = picture.outline[i].kind;
      closed += static_cast<std::size_t>(picture.seen[i] == i && !picture.is_open[i] &&
                                         kind != Outline::Kind::kNode);
    }
    CHECK(picture.note.starts_with(std::to_string(closed) + " box"));
  }
}

TEST_CASE("pictures: control flow is a box with its bodies", "[pictures]") {
  const auto collection = exported_collection();
  const std::string text = text_of(collection);
  CHECK_THAT(text, ContainsSubstring(R"(  +a | Gate
    +cond
      +true_graph_0
        +inner | Part
          +map_impl
            +body_graph_0
              sin
              output
            map_impl
        output
      +false_graph_0
        output
      cond
    cond | runs true_graph_0, false_graph_0
)"));
  // Operands lead to their users in the bodies, and results of a body to the operator.
  for (const char* edge : {"x -> sin\n", "sin -> output\n", "output -> map_impl\n", "output -> cond\n",
                           "l -> cond\n", "x -> output\n"}) {
    CHECK_THAT(text, ContainsSubstring(edge));
  }
}

TEST_CASE("pictures: modules and operations say what matters", "[pictures]") {
  auto collection = model(R"(
      %x = placeholder[x]()
      %conv = call_module[conv](%x)  # conv: torch.nn.modules.conv.Conv2d
      %softmax = call_function[aten.softmax.int](%conv, -1)
      %pow_1 = call_function[aten.pow.Tensor_Scalar](%softmax, 0.0714285714)
      %slice_1 = call_function[aten.slice.Tensor](%pow_1, 1, 0, 9223372036854775807, 2)
      %to = call_function[aten.to.dtype](%slice_1, dtype("float64"))
      %run = call_function[mylib.fast.default](%to, "mode")
      %attn = call_module[attn](%run)  # attn: pkg.Attention
      %output = output[output](%attn))");
  collection.modules[1].attributes = {{"in_channels", 3},
                                      {"out_channels", 64},
                                      {"kernel_size", Argument::Tuple{{7, 7}}},
                                      {"stride", Argument::Tuple{{2, 2}}},
                                      {"padding", Argument::Tuple{{3, 1}}},
                                      {"dilation", Argument::Tuple{{1, 1}}},
                                      {"groups", 1},
                                      {"padding_mode", "zeros"}};
  collection.modules[2].attributes = {{"num_heads", 12}, {"secret", 3}};
  collection.modules[2].status = ModuleStatus::kFailed;
  collection.modules[2].failure = Failure{FailureKind::kRaised, "it raises", "attn", "", {}};
  collection.graphs[0].execution->module_forward_order = {"", "conv", "attn"};
  PictureOptions options;
  options.order = true;
  const std::string text = text_of(collection, options);
  for (const char* line :
       {"  conv | Conv2d | 3 → 64, 7×7, stride 2, padding 3×1 | #2\n", "  softmax | dim=-1\n",
        "  pow | 0.071429\n", "  slice | dim=1, start=0, step=2\n", "  to | dtype=float64\n",
        "  mylib.fast | \"mode\"\n", "  attn | Attention | 12 heads | #3 | it raises\n"}) {
    CHECK_THAT(text, ContainsSubstring(line));
  }
}

TEST_CASE("pictures: modules say the dtype of quantized weights", "[pictures]") {
  auto collection = model(R"(
      %x = placeholder[x]()
      %a = call_module[a](%x)  # a: torch.ao.nn.quantized.modules.linear.Linear
      %b = call_module[b](%a)  # b: torch.ao.nn.quantized.modules.linear.Linear
      %c = call_module[c](%b)  # c: torch.nn.modules.linear.Linear
      %d = call_module[d](%c)  # d: torch.nn.modules.linear.Linear
      %output = output[output](%d))");
  const std::vector<std::int64_t> shape{8, 4};
  collection.parameters = {
      {"a._packed_params._packed_params", ParameterKind::kCustomObject, {}, "", "LinearPackedParamsBase", {}},
      {"b._packed_params.weight", ParameterKind::kParameter, shape, "qint8", {}, {}},
      {"c.weight", ParameterKind::kParameter, shape, "int8", {}, {}},
      {"d.weight", ParameterKind::kParameter, shape, "float32", {}, {}}};
  const std::string text = text_of(collection);
  for (const char* line : {"  a | Linear | quantized\n", "  b | Linear | qint8\n",
                           "  c | Linear | 4 → 8, int8\n", "  d | Linear | 4 → 8\n"}) {
    CHECK_THAT(text, ContainsSubstring(line));
  }
}

TEST_CASE("pictures: no body of an if repeats the other", "[pictures]") {
  auto collection = model(R"(
      %x = placeholder[x]()
      %gt = call_function[aten.gt.Scalar](%x, 0)
      %cond = call_function[higher_order.cond](%gt, graph("true_graph_0"), graph("false_graph_0"), [%x])
      %output = output[output](%cond))");
  for (const char* name : {"true_graph_0", "false_graph_0"}) {
    const std::string called = name[0] == 't' ? "a" : "b";
    collection.graphs[0].subgraphs.add({name, module_graph("", "", R"(
      %y = placeholder[y]()
      %l = call_module[)" + called + R"(](%y)  # )" + called + R"(: L
      %output = output[output](%l))")});
  }
  CHECK_THAT(text_of(collection), ContainsSubstring(R"(    +true_graph_0
      a | L
      output
    +false_graph_0
      b | L
      output
)"));
}

TEST_CASE("pictures: a part of a parameter stands where it is used", "[pictures]") {
  auto collection = model(R"(
      %x = placeholder[x]()
      %w = get_attr[w]()
      %data = call_function[export.access_subclass_inner_tensor.default](%w, "qdata")
      %scale = call_function[export.access_subclass_inner_tensor.default](%w, "scale")
      %mm = call_function[aten.mm.default](%x, %data)
      %mul = call_function[aten.mul.Tensor](%mm, %scale)
      %output = output[output](%mul))");
  collection.parameters.push_back({"w", ParameterKind::kParameter, {4, 8}, "int8", {}, {}});
  CHECK(text_of(collection) == R"(+(root) | N
  x
  mm | w.qdata
  mul | w.scale
  output
x -> mm
mm -> mul
mul -> output
)");
}

TEST_CASE("pictures: regions in another mode are drawn inline", "[pictures]") {
  auto collection = model(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)  # a: A
      %wrap = call_function[higher_order.wrap_with_set_grad_enabled](False, graph("submod_1"), %relu, %x)  # a: A
      %getitem = call_function[operator.getitem](%wrap, 1)
      %neg = call_function[aten.neg.default](%getitem)
      %output = output[output](%neg))");
  collection.graphs[0].subgraphs.add({"submod_1", module_graph("", "", R"(
      %p = placeholder[p]()
      %q = placeholder[q]()
      %sin = call_function[aten.sin.default](%p)  # a: A
      %cos = call_function[aten.cos.default](%q)  # a.b: B
      %output = output[output]((%sin, %cos)))")});
  CHECK(text_of(collection) == R"(+(root) | N
  x
  +a | A
    relu
    sin
    +b | B
      cos
  neg
  output
x -> relu
relu -> sin
x -> cos
cos -> neg
neg -> output
)");
}

TEST_CASE("pictures: cost follows the size, whatever the shape", "[pictures]") {
  constexpr int kNodes = 20'000;
  const auto time = [](const GraphCollection& collection) {
    const auto start = std::chrono::steady_clock::now();
    const Picture picture = make_picture(collection, {});
    CHECK(picture.outline.items.size() > kNodes / 2);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::string flat = "%w0 = placeholder[x]()\n";
  std::string deep = flat;
  std::string path;
  for (int i = 1; i <= kNodes; ++i) {
    const std::string node = "%w" + std::to_string(i) + " = call_function[aten." +
                             (i % 2 == 0 ? "relu" : "sin") + ".default](%w" + std::to_string(i - 1) + ")";
    flat += node + "\n";
    if (i % 50 == 0) path += path.empty() ? "m" : ".m";
    deep += node + (path.empty() ? "" : "  # " + path + ": M") + "\n";
  }
  const double bound = 5;  // seconds; a debug build takes a tenth of it
  CHECK(time(model(flat)) < bound);
  CHECK(time(model(deep)) < bound);
}

}  // namespace fxtrace::internal
