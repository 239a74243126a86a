// The library as a C++ program uses it.
#include "fxtrace/fxtrace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "catch.h"

using namespace fxtrace;

namespace {

const std::string kSamples = FXTRACE_SOURCE_DIR "/sample_models/";
const std::string kModel = kSamples + "attention_exported.pt2";
const std::string kScripted = kSamples + "nested_scripted.pt";

template <class T>
std::string written(const T& value) {
  std::ostringstream out;
  value.write(out);
  return out.str();
}

// The name of a file, which is removed with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("fxtrace_test_" + std::to_string(::getpid()) + name)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

 private:
  std::filesystem::path path_;
};

template <class F>
std::string error_of(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.place() + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("library: a trace, its JSON and back", "[fxtrace]") {
  const GraphCollection collection = Model::open(kModel).trace();
  CHECK(collection.file() == "attention_exported.pt2");
  REQUIRE(collection.graphs().size() == 1);
  const std::string json = written(collection);
  CHECK(written(GraphCollection::of_json(json)) == json);
  const TemporaryFile file(".json");
  file.write(json);
  CHECK(written(GraphCollection::open(file.path())) == json);
  CHECK(Model::open(file.path()).order().parameters().size() == collection.order().parameters().size());

  std::ifstream stream(kModel, std::ios::binary);
  const GraphCollection of_stream = Model::open(stream, "attention_exported.pt2").trace();
  CHECK(written(of_stream) == json);
}

TEST_CASE("library: graphs are walked by values that keep what they show", "[fxtrace]") {
  std::vector<Node> nodes;
  {
    TraceOptions options;
    options.leaf_rules = {"*.Linear"};
    options.inputs = {{"x", "float32[batch,4]"}};
    options.dimensions = {{"batch", 2, 64}};
    const GraphCollection collection = Model::open(kScripted).trace(options);
    CHECK(collection.type() == "nets.nested.Net");
    CHECK(collection.options().inputs.front().text == "float32[batch,4]");
    nodes = collection.root().nodes();
  }
  REQUIRE(nodes.size() > 3);
  CHECK(nodes.front().op() == Opcode::kPlaceholder);
  const Node& output = nodes.back();
  CHECK(output.op() == Opcode::kOutput);
  REQUIRE(output.inputs().size() == 1);
  const Node last = output.inputs().front();
  CHECK(last.users().front() == output);
  CHECK(output.args().front().get_if<NodeId>() != nullptr);
  CHECK(output.graph().node(*output.args().front().get_if<NodeId>()) == last);
  CHECK(output.graph().find(last.name()) == last);
  CHECK(last.text().starts_with("%" + last.name() + " = "));
  REQUIRE(nodes.front().meta().shape());
  const std::vector<Size> shape = *nodes.front().meta().shape();
  CHECK(shape.front() == Size{{}, "batch"});
  CHECK(shape.back() == Size{4, "4"});
  CHECK(nodes.front().meta().dtype() == "float32");
}

TEST_CASE("library: modules and parameters", "[fxtrace]") {
  const GraphCollection collection = Model::open(kScripted).trace();
  const auto root = collection.find_module("");
  REQUIRE(root);
  CHECK(root->status() == ModuleStatus::kTraced);
  CHECK(collection.failed().empty());
  CHECK_FALSE(collection.find_module("nowhere"));
  REQUIRE_FALSE(collection.parameters().empty());
  CHECK(collection.parameters().front().dtype() == "float32");
  CHECK(collection.root().module_order().front().empty());
}

TEST_CASE("library: passes, parts, summaries", "[fxtrace]") {
  TraceOptions options;
  options.default_leaves = false;
  const GraphCollection collection = Model::open(kModel).trace(options);
  const GraphCollection functional = collection.with_passes({"functional"});
  CHECK(written(functional).find(R"("pass":["functional"])") != std::string::npos);
  CHECK(written(collection) == written(Model::open(kModel).trace(options)));
  const std::string last = collection.root().nodes().back().inputs().front().name();
  const GraphCollection part = collection.extract({.to = {last}});
  CHECK(part.root().size() > 2);
  const Summary summary = Model::open(kModel).summary();
  CHECK(summary.rows().front().parameters == summary.parameters());
  REQUIRE(summary.macs());
  CHECK(summary.macs()->number);
}

TEST_CASE("library: a summary on a device, and with memory", "[fxtrace]") {
  const Model model = Model::open(kModel);
  const Summary plain = model.summary();
  CHECK_FALSE(plain.fit());
  CHECK_FALSE(plain.memory());
  std::ostringstream trace;
  CHECK(error_of(ErrorKind::kUsage, [&] { plain.write_perfetto(trace); }).find("memory") !=
        std::string::npos);

  const Accelerator own{.name = "own", .memory_bytes = 1000, .bandwidth = 1e6, .peaks = {{"float32", 1e9}}};
  const SummaryOptions how{.on = own, .memory = true, .columns = {CostColumn::kFlops}};
  const Summary summary = model.summary(how);
  REQUIRE(summary.fit());
  CHECK(summary.fit()->fits() == false);
  CHECK(summary.fit()->weight_bytes == summary.parameter_bytes());
  const Summary::Row root = summary.rows().front();
  REQUIRE(root.least);
  CHECK(root.least->bound() == std::string("memory"));
  CHECK(root.weights_read);
  CHECK(root.quantization.calls > 0);
  REQUIRE(summary.memory());
  const MemoryTimeline& memory = *summary.memory();
  REQUIRE(memory.steps.size() > 1);
  CHECK(summary.memory_sizes().empty());
  CHECK(memory.steps[memory.peak].live == summary.peak_bytes()->number);
  summary.write_perfetto(trace);
  CHECK(trace.str().find("live bytes") != std::string::npos);
  CHECK(written(summary).find("FLOPs") != std::string::npos);
  CHECK(written(plain).find("FLOPs") == std::string::npos);
  CHECK(written(summary).find("own") != std::string::npos);
  const Summary saved = model.trace({.default_leaves = false}).summary(how);
  CHECK(saved.rows().front().least->seconds() == root.least->seconds());
  CHECK(saved.memory()->steps.size() == memory.steps.size());
  const GraphCollection batched = Model::open(kScripted).trace({.inputs = {{"x", "float32[batch,4]"}}});
  CHECK_FALSE(batched.summary().macs()->number);
  CHECK(batched.summary({.at = {{"batch", {8}}}}).macs()->number);
  CHECK_FALSE(batched.summary().macs()->number);  // it is as it was

  CHECK(model.summary({.on = Accelerator::named("h100")}).fit()->fits() == true);
  CHECK(error_of(ErrorKind::kUsage, [] { Accelerator::named("h10"); }).find("'h10'") != std::string::npos);
  CHECK(
      error_of(ErrorKind::kUsage, [] { Accelerator::of_json("{}", "mine.json"); }).starts_with("mine.json"));
  CHECK(error_of(ErrorKind::kUsage, [&] { model.summary({.on = Accelerator{.name = "none"}}); }) ==
        "none: memory, bandwidth and peaks of a device are positive");
}

TEST_CASE("library: a bill of materials", "[fxtrace]") {
  const BillOfMaterials bill = bom({Model::open(kModel), Model::open(kScripted)});
  REQUIRE(bill.materials.size() == 2);
  CHECK(bill.materials[0].kind == "exported_program");
  CHECK(bill.materials[0].sha256.size() == 64);
  CHECK(bill.materials[1].operators.at("aten") > 0);
  CHECK(written(bill).find("CycloneDX") != std::string::npos);
  std::ostringstream spdx;
  Model::open(kModel).bom().write(spdx, BillOfMaterials::Format::kSpdx);
  CHECK(spdx.str().find("SPDX-2.3") != std::string::npos);
  CHECK(error_of(ErrorKind::kUsage, [] { bom({}); }) != "");
}

TEST_CASE("library: a conversion is refused whole, or written whole", "[fxtrace]") {
  const TemporaryFile file(".pt2");
  TraceOptions options;
  options.inputs = {{"x", "float32[2,4]"}};
  const Conversion conversion = Model::open(kScripted).convert({}, options);
  REQUIRE(conversion.is_possible());
  conversion.write(file.path());
  CHECK(Model::open(file.path()).trace().kind() == "exported_program");
  CHECK(check(Model::open(file.path()), Rules().program().content()).holds());

  const Conversion without_shapes = Model::open(kScripted).convert();
  REQUIRE_FALSE(without_shapes.is_possible());
  CHECK_FALSE(without_shapes.refusals().front().why.empty());
  std::ostringstream out;
  CHECK(error_of(ErrorKind::kInput, [&] {
          without_shapes.write(out);
        }).starts_with(kScripted + ": no program"));

  const auto cannot_write = [](const Conversion& it, const std::string& name) {
    const std::string error = error_of(ErrorKind::kInput, [&] { it.write(name); });
    const std::string aside = ".fxtrace-" + std::to_string(::getpid());
    const std::filesystem::directory_iterator files(std::filesystem::temp_directory_path());
    CHECK(std::ranges::none_of(
        files, [&](const auto& each) { return each.path().filename().string().starts_with(aside); }));
    return error;
  };
  CHECK(cannot_write(without_shapes, file.path()).starts_with(kScripted + ": no program"));
  CHECK(Model::open(file.path()).trace().kind() == "exported_program");  // as it was
  CHECK(cannot_write(conversion, file.path() + "/it").find("cannot write it: Not a directory") !=
        std::string::npos);
  const std::string folder = file.path() + ".folder";
  std::filesystem::create_directory(folder);
  CHECK(cannot_write(conversion, folder).find("cannot write it: it is not a regular file") !=
        std::string::npos);
  std::filesystem::remove(folder);

  std::filesystem::create_symlink(file.path(), folder);
  conversion.write(folder);
  CHECK(std::filesystem::is_symlink(folder));
  std::filesystem::remove(folder);
}

TEST_CASE("library: checks and differences", "[fxtrace]") {
  const Model model = Model::open(kModel);
  CHECK(check(model, Rules().no_failed().security()).holds());
  const CheckReport broken = check(model, Rules().max_parameters(1).deny("aten.*"));
  CHECK_FALSE(broken.holds());
  CHECK(broken.offences().front().message.find("parameters") != std::string::npos);
  CHECK(error_of(ErrorKind::kUsage, [&] {
          check(model, Rules().deny("no_such_operator"));
        }).find("no_such_operator") != std::string::npos);
  CHECK(check(model, Rules().rules("quantization")).holds());
  CHECK(error_of(ErrorKind::kUsage, [&] { Rules().rules("quantisation"); }).find("'quantisation'") !=
        std::string::npos);
  CHECK(diff(model, model).is_equal());
  const Comparison comparison = diff(model, Model::open(kSamples + "nested_exported.pt2"));
  CHECK_FALSE(comparison.is_equal());
  CHECK(comparison.count("parameters") > 0);
  const auto kinds_of = [&](const DiffOptions& how) {
    std::set<std::string> kinds;
    for (const auto& each : diff(model, Model::open(kSamples + "nested_exported.pt2"), how).differences())
      kinds.insert(each.kind);
    return kinds;
  };
  CHECK(kinds_of({.only = {"parameters"}}) == std::set<std::string>{"parameters"});
  CHECK_FALSE(kinds_of({.ignore = {"parameters"}}).contains("parameters"));
  CHECK(error_of(ErrorKind::kUsage, [&] { kinds_of({.ignore = {"colours"}}); }).find("colours") !=
        std::string::npos);
  // Each with options of its own.
  CHECK(diff(model.trace({.max_depth = 0}), model.trace({.max_depth = 0})).is_equal());
  CHECK_FALSE(diff(model.trace({.max_depth = 0}), model.trace(), {.only = {"modules"}}).is_equal());
}

TEST_CASE("library: questions about failures", "[fxtrace]") {
  const Model model = Model::open(kScripted);
  CHECK(model.why().failures().empty());
  CHECK(error_of(ErrorKind::kUsage, [&] { model.why({.module = "nowhere"}); }) != "");
  CHECK(model.inspect().kind() == std::string("torchscript"));
  CHECK(model.inspect().methods().front() == "forward");
}

TEST_CASE("library: a catalog", "[fxtrace]") {
  const TemporaryFile file(".sqlite");
  {
    Catalog catalog(file.path());
    catalog.add("one", Model::open(kModel));
    catalog.add("none", Model::of_bytes("no model"));
    catalog.commit();
  }
  const Catalog::Table table =
      Catalog::query(file.path(), "SELECT path, error IS NULL AS fine FROM models ORDER BY path");
  CHECK(table.columns == std::vector<std::string>{"path", "fine"});
  REQUIRE(table.rows.size() == 2);
  CHECK(std::get<std::string>(table.rows[1][0]) == "one");
  CHECK(std::get<std::int64_t>(table.rows[0][1]) == 0);
}

TEST_CASE("library: what a trace has to say", "[fxtrace]") {
  TraceOptions options;
  options.leaf_rules = {"@nowhere"};
  std::vector<std::string> warnings, progress;
  Listener listener;
  listener.progress = [&](const std::string& text) { progress.push_back(text); };
  listener.warning = [&](const std::string& text) { warnings.push_back(text); };
  Model::open(kModel).trace(options, listener);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("@nowhere") != std::string::npos);
  CHECK(progress.size() == 3);
}

TEST_CASE("library: errors say where", "[fxtrace]") {
  CHECK(error_of(ErrorKind::kInput, [] { Model::open("missing.pt2"); }) == "missing.pt2: no such file");
  const TemporaryFile text(".txt");
  text.write("import torch\n");
  CHECK(error_of(ErrorKind::kInput, [&] {
          GraphCollection::open(text.path());
        }).starts_with(text.path() + ":1:1: "));
  CHECK(error_of(ErrorKind::kInput, [] {
          GraphCollection::open(kModel);
        }).starts_with(kModel + ": this is not a graph collection but "));

  const Model model = Model::open(kModel);
  const auto with = [&](const auto& change) {
    return error_of(ErrorKind::kUsage, [&] {
      TraceOptions options;
      change(options);
      model.trace(options);
    });
  };
  CHECK(with([](TraceOptions& options) { options.inputs = {{"x", "float32["}}; }) != "");
  CHECK(with([](TraceOptions& options) { options.leaf_rules = {"a[", {"", true}}; }) != "");
  CHECK(with([](TraceOptions& options) { options.dimensions = {{"b", 4, 2}}; }) != "");
  CHECK(with([](TraceOptions& options) { options.limits.nodes = 0; }) == ": a limit is at least 1");
  CHECK(error_of(ErrorKind::kUsage, [&] {
          static_cast<void>(model.trace().with_passes({"functional", "no-such-pass"}));
        }) == ": --pass: there is no pass 'no-such-pass'");

  const TemporaryFile file(".json");
  file.write(written(model.trace()));
  TraceOptions options;
  options.default_leaves = false;
  CHECK(error_of(ErrorKind::kUsage, [&] { Model::open(file.path()).trace(options); }).find("do not apply") !=
        std::string::npos);
}

TEST_CASE("library: what options cannot mean is refused before a model is read", "[fxtrace]") {
  const Model model = Model::open(kScripted);
  const auto refused = [](const auto& ask) { return error_of(ErrorKind::kUsage, ask); };
  CHECK(refused([&] { model.extract({.module = "stem", .call = 0}); }).find("counted from 1") !=
        std::string::npos);
  CHECK(refused([&] { model.extract({.module = "stem", .to = {"x"}}); }).find("exclude") !=
        std::string::npos);
  CHECK(refused([&] { model.convert({.methods = {"forward", "forward"}}); }).find("twice") !=
        std::string::npos);
  CHECK(refused([&] { model.convert({.hints = {{"b", -3}}}); }).find("negative") != std::string::npos);
  TraceOptions options;
  Argument::Dict dict;
  dict.items.push_back({1, 2});
  options.concrete = {{"x", dict}};
  CHECK(refused([&] { model.trace(options); }).find("keys of dicts are texts") != std::string::npos);
  options.concrete = {{"x", NodeId{3}}};
  CHECK(refused([&] { model.trace(options); }).find("concrete value of x") != std::string::npos);
  options.concrete.clear();
  options.max_depth = -1;
  CHECK(refused([&] { model.trace(options); }) == ": max_depth is at least 0");
  std::string nested = "my::op(Tensor";
  for (int i = 0; i < 100'000; ++i) nested += "[]";
  options.max_depth.reset();
  options.op_schemas = {nested + " x) -> Tensor"};
  CHECK(refused([&] { model.trace(options); }).find("fewer levels") != std::string::npos);
  const Graph root = model.trace().root();
  CHECK(refused([&] { static_cast<void>(root.node(NodeId{100'000})); }) ==
        ": the graph has no node with that id");
}

TEST_CASE("library: streams that fail, and listeners that receive nothing", "[fxtrace]") {
  std::ifstream missing("missing.pt");
  CHECK(error_of(ErrorKind::kInput, [&] { Model::open(missing, "it"); }) == "it: cannot read the stream");
  std::ifstream folder(kSamples);
  CHECK(error_of(ErrorKind::kInput, [&] { Model::open(folder, "it"); }) == "it: cannot read the stream");
  Listener silent;
  silent.progress = silent.warning = nullptr;
  TraceOptions options;
  options.leaf_rules = {"@nowhere"};
  CHECK(Model::open(kModel).trace(options, silent).root().size() > 0);
  options.leaf_rules.clear();
  options.inputs = {{"x", "float32[2,4]"}};
  const Conversion conversion = Model::open(kScripted).convert({}, options);
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  CHECK(error_of(ErrorKind::kInput, [&] { conversion.write(out); }).find("cannot be written") !=
        std::string::npos);
}

TEST_CASE("library: several threads trace at the same time", "[fxtrace]") {
  const std::vector<std::string> names = {"attention_scripted.pt", "vision_scripted.pt",
                                          "attention_exported.pt2"};
  const auto trace_all = [&] {
    std::string all;
    for (const std::string& name : names) {
      TraceOptions options;
      options.default_leaves = false;
      options.param_shapes_constant = true;
      all += written(Model::open(kSamples + name).trace(options));
    }
    return all;
  };
  std::vector<std::string> results(3);
  {
    std::vector<std::jthread> threads;
    for (std::string& result : results) threads.emplace_back([&] { result = trace_all(); });
  }
  const std::string alone = trace_all();
  for (const std::string& result : results) CHECK(result == alone);
}
