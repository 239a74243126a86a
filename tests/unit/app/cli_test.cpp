// The command line, called as a function: options, errors, exit codes and files that are written.
#include "app/cli.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/console.h"
#include "app/output/files.h"
#include "app/output/output.h"
#include "catch.h"
#include "folder.h"
#include "support/error.h"

using namespace fxtrace::internal;

namespace {

struct Result {
  int code = 0;
  std::string out, err;
};

Result run(const std::vector<std::string>& args, const std::string& input = {}) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Result result;
  result.code = cli::run(args, in, out, err);
  result.out = out.str();
  result.err = err.str();
  return result;
}

std::string fixture(const std::string& name) { return FXTRACE_SOURCE_DIR "/tests/fixtures/files/" + name; }

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("cli: help and version", "[cli]") {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"--help"},
                                               {"-h"},
                                               {"trace", "--help"},
                                               {"inspect", "--help"},
                                               {"summary", "--help"}}) {
    CAPTURE(args);
    const Result result = run(args);
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(result.out.starts_with("Example:\n  fxtrace "));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
  CHECK(run({"--version"}).out.starts_with("fxtrace "));
  CHECK(run({"trace", "--help"}).out.find("--flat, --no-default-leaves") != std::string::npos);
}

TEST_CASE("cli: wrong usage", "[cli]") {
  struct Case {
    std::vector<std::string> args;
    const char* message;
  };
  const Case cases[] = {
      {{}, "missing command"},
      {{"trac"}, "unknown command 'trac', did you mean 'trace'?"},
      {{"model.pt", "-o", "x.dot"},
       "-o x.dot: unknown suffix '.dot', expected .txt, .json, .csv, .md or .perfetto"},
      {{"dir/model", "--sort", "name"}, "--sort: expected macs, params or bytes, got 'name'"},
      {{"-", "--json", "--csv"}, "--json excludes --csv"},
      {{"summary", "a", "--depth", "-1"}, "--depth: expected an integer of at least 0, got '-1'"},
      {{"summary", "a", "--pass", "functional"}, "unknown option '--pass': it belongs to fxtrace trace"},
      {{"--frob"}, "unknown option '--frob'"},
      {{"--versoin"}, "unknown option '--versoin', did you mean '--version'?"},
      {{"--leaf", "x", "trace", "a"},
       "unknown option '--leaf': it belongs to fxtrace trace\nhint: options come"},
      {{"inspect", "a", "--focus", "a"}, "unknown option '--focus': it belongs to fxtrace trace"},
      {{"trace", "a", "-lea", "x"}, "unknown option '-lea', did you mean '--leaf'?"},
      {{"trace"}, "MODEL is required"},
      {{"trace", "a", "b"}, "unexpected argument 'b'"},
      {{"trace", "--", "a", "-q"}, "unexpected argument '-q'"},
      {{"trace", "--", "a", "--"}, "unexpected argument '--'"},
      {{"--"}, "MODEL is required"},
      {{"--", "a", "--json"}, "unexpected argument '--json'"},
      {{"trace", "a", "--leafs", "x"}, "unknown option '--leafs', did you mean '--leaf'?"},
      {{"trace", "a", "--leaf"}, "--leaf: expected RULE\n"},
      {{"trace", "a", "--leaf", "torch.[nn"}, "invalid glob 'torch.[nn' at position 7"},
      {{"trace", "a", "--no-leaf", "x@"}, "no path after '@'"},
      {{"trace", "a", "--wrap", "["}, "invalid glob '['"},
      {{"trace", "a", "--max-depth", "-1"}, "--max-depth: expected an integer of at least 0, got '-1'"},
      {{"trace", "a", "--max-nodes", "many"}, "--max-nodes: expected an integer of at least 1, got 'many'"},
      {{"trace", "a", "--hooks", "maybe"}, "--hooks: expected run or skip, got 'maybe'"},
      {{"trace", "--hooks", "maybe", "--", "a"}, "--hooks: expected run or skip, got 'maybe'"},
      {{"trace", "a", "-f", "xml"}, " or graph, got 'xml'"},
      {{"trace", "a", "--max-label", "9"}, "--order and --max-label only apply to pictures"},
      {{"trace", "a", "--config", "/nonexistent/c.json"}, "/nonexistent/c.json: cannot open the file"},
      {{"trace", "a", "--concreet", "x=1"}, "unknown option '--concreet'"},
      {{"trace", "a", "--concrete", "x"}, "--concrete: expected NAME=VALUE, got 'x'"},
      {{"trace", "a", "--concrete", "x=tru"}, "--concrete x:1:1: invalid JSON"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.args);
    const Result result = run(c.args);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("fxtrace: error: "));
    CHECK_THAT(result.err, ContainsSubstring(c.message));
  }
}

TEST_CASE("cli: a wrong configuration", "[cli]") {
  const Folder folder;
  const std::string config = folder / "c.json";
  std::ofstream(config) << "{\"rules\": [\n  {\"type\": \"x\", \"leaf\": 1}]}";
  const Result result = run({"trace", "a", "--config", config});
  CHECK(result.code == 2);
  CHECK(result.err == "fxtrace: error: " + config + ":2:25: /rules/0/leaf: expected a boolean\n");
  const std::string guards = FXTRACE_SOURCE_DIR "/sample_models/guards.pt";
  std::ofstream(config) << R"({"input": {"x": "float32[2]"}})";
  // The command line replaces what a file says in the same words.
  const auto traced = [&](const std::vector<std::string>& inputs) {
    std::vector<std::string> args{"trace", guards, "--config", config, "-o", "/dev/null", "-f", "json"};
    for (const std::string& input : inputs) args.insert(args.end(), {"--input", input});
    return run(args).err;
  };
  CHECK(traced({"x=float32[2,4]"}).empty());
  CHECK_THAT(traced({"0=float32[2,4]"}), ContainsSubstring("--input x and --input 0 are one input, 'x'"));
}

TEST_CASE("cli: what cannot be traced", "[cli]") {
  struct Case {
    const char* file;
    const char* message;
  };
  const Case cases[] = {
      {"state_dict.pt", "this is a state_dict saved with torch.save: it holds no graph"},
      {"flatbuffer.ptl", "this is a TorchScript model for the lite interpreter"},
      {"missing.pt", "no such file"},
      {".", "this is a directory"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.file);
    const Result result = run({"trace", fixture(c.file)});
    CHECK(result.code == 3);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("fxtrace: error: " + fixture(c.file) + ": "));
    CHECK_THAT(result.err, ContainsSubstring(c.message));
    CHECK(result.err.find('\n') == result.err.size() - 1);
  }
  const Result piped = run({"trace", "-"}, content(fixture("state_dict.pt")));
  CHECK(piped.code == 3);
  CHECK(piped.err.starts_with("fxtrace: error: stdin: this is a state_dict"));
  CHECK_THAT(run({"trace", "-"}).err, ContainsSubstring("stdin: this is an empty file"));
}

TEST_CASE("cli: a file without a command is summed up", "[cli]") {
  const std::string model = FXTRACE_SOURCE_DIR "/sample_models/nested_exported.pt2";
  const Result alone = run({model, "--depth", "1"});
  CHECK(alone.code == 0);
  CHECK(alone.err.empty());
  CHECK(alone.out == run({"summary", model, "--depth", "1"}).out);
  CHECK_THAT(alone.out, ContainsSubstring("stem"));
  CHECK(run({"-"}, content(model)).out.starts_with("-: nets.nested.Net, exported program"));
  const Result missing = run({"missing.pt"});
  CHECK(missing.code == 3);
  CHECK(missing.err == "fxtrace: error: missing.pt: no such file\n");
  CHECK(run({"--", model}).out == run({model}).out);
  for (const char* name : {"--help", "-V", "trace", "--no-such"}) {
    CAPTURE(name);
    CHECK(run({"--", name}).err == std::string("fxtrace: error: ") + name + ": no such file\n");
  }
}

TEST_CASE("cli: the summary of a collection is that of its model", "[cli]") {
  const Folder folder;
  const std::string model = FXTRACE_SOURCE_DIR "/sample_models/nested_exported.pt2";
  const std::string collection = folder / "model.json";
  REQUIRE(run({"trace", model, "-o", collection}).code == 0);
  const auto modules = [](const Result& result) {
    auto json = nlohmann::json::parse(result.out);
    for (auto& module : json["modules"]) module.erase("status");  // they are leaves here
    return json["modules"];
  };
  const Result read = run({"summary", collection, "--json"});
  CHECK(read.code == 0);
  CHECK(modules(read) == modules(run({"summary", model, "--json", "--no-leaf", "none"})));
  const Result refused = run({"summary", collection, "--leaf", "x"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("options of a trace do not apply"));
  const Result python = run({"summary", fixture("model.py")});
  CHECK(python.code == 3);
}

TEST_CASE("cli: the format of a summary is that of the file's suffix", "[cli]") {
  const Folder folder;
  const std::string model = FXTRACE_SOURCE_DIR "/sample_models/nested_exported.pt2";
  const auto written = [&](const char* name, const std::vector<std::string>& more = {}) {
    const std::string file = folder / name;
    std::vector<std::string> args{"summary", model, "-o", file};
    args.insert(args.end(), more.begin(), more.end());
    REQUIRE(run(args).code == 0);
    return content(file);
  };
  CHECK(written("a.json").starts_with("{\n  \"format\": \"fxtrace.summary\""));
  CHECK(written("a.CSV").starts_with("path,"));
  CHECK(written("a.md").starts_with("`nested_exported.pt2: "));
  CHECK(written("a.txt").starts_with("nested_exported.pt2: "));
  CHECK(written("a").starts_with("nested_exported.pt2: "));
  CHECK(written("a.dat", {"--csv"}).starts_with("path,"));
}

TEST_CASE("cli: names from outside do not reach the terminal raw", "[cli]") {
  const Result result = run({"trace", "a\033[2Jb\nc"});
  CHECK(result.code == 3);
  CHECK(result.err == "fxtrace: error: a\\x1b[2Jb c: no such file\n");
}

TEST_CASE("cli: inspect what is no model", "[cli]") {
  const Result text = run({"inspect", fixture("state_dict.pt")});
  CHECK(text.code == 3);
  CHECK(text.out.empty());
  CHECK(text.err == run({"trace", fixture("state_dict.pt")}).err);
  const Result json = run({"inspect", "--json", fixture("package.pt")});
  CHECK(json.code == 3);
  CHECK(json.err == run({"trace", fixture("package.pt")}).err);
  const auto document = nlohmann::json::parse(json.out);
  CHECK(document["kind"] == "torch_package");
  CHECK(document["file"] == "package.pt");
  CHECK(run({"inspect", "/nonexistent"}).code == 3);
  CHECK(run({"inspect", "-"}).code == 3);
}

TEST_CASE("cli: a failed run leaves the output as it was", "[cli]") {
  const Folder folder;
  const std::string out = folder / "out.json";
  std::ofstream(out) << "before";
  CHECK(run({"trace", fixture("state_dict.pt"), "-o", out}).code == 3);
  CHECK(content(out) == "before");
  CHECK(folder.files() == 1);
}

TEST_CASE("cli: what is looked at and found wrong is not written", "[cli]") {
  const Folder folder;
  const std::string out = folder / "out.pt2";
  std::ofstream(out) << "before";
  std::istringstream in;
  std::ostringstream stdout_of_it, stderr_of_it;
  cli::Console console(in, stdout_of_it, stderr_of_it);
  const cli::InputFile input(fixture("state_dict.pt"), console);
  cli::Output output(out, input, console);
  output.prepare();
  output.write([](std::ostream& to) { to << "after"; });
  CHECK_THROWS(output.examine([](const ModelFile&) -> bool { throw input_error("wrong"); }));
  CHECK(!output.examine([](const ModelFile&) { return false; }));
  CHECK(!output.is_written());
  std::string seen;
  CHECK(output.examine([&](const ModelFile& file) {
    seen = file.read_whole();
    return true;
  }));
  CHECK(seen == "after");
  CHECK(output.is_written());
  CHECK(content(out) == "before");
  output.commit();
  CHECK(content(out) == "after");
}

TEST_CASE("cli: a named pipe is waited for, and not for ever", "[cli]") {
  const Folder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::istringstream in;
  std::ostringstream out, err;
  cli::Console console(in, out, err);
  CHECK_THROWS_WITH(cli::InputFile(pipe, console, 3), "waited 3 s for " + pipe + " to be written");
  CHECK(err.str() == "fxtrace: waiting for " + pipe + " to be written\n");
  std::thread writer([&] { std::ofstream(pipe) << content(fixture("state_dict.pt")); });
  CHECK(cli::InputFile(pipe, console).file().read_whole() == content(fixture("state_dict.pt")));
  writer.join();
  cli::Output output(pipe, cli::InputFile(fixture("state_dict.pt"), console), console);
  output.wait_at_most(1);
  output.prepare();
  output.write([](std::ostream& to) { to << "text"; });
  CHECK_THROWS_WITH(output.commit(), "waited 1 s for " + pipe + " to be read");
  std::thread reader([&] { CHECK(content(pipe) == "text"); });
  output.wait_at_most(60);
  output.commit();
  reader.join();
}

TEST_CASE("cli: trace", "[cli]") {
  const Folder folder;
  const std::string model = fixture("torchscript.pt");
  const Result result = run({"trace", model});
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const auto document = nlohmann::json::parse(result.out);
  CHECK(document["model"]["file"] == "torchscript.pt");
  CHECK(document["options"] == nlohmann::json::object());
  CHECK(run({"trace", model}).out == result.out);

  // From stdin to a file, in the format of its suffix.
  const Result piped = run({"trace", "-", "-o", "-"}, content(model));
  CHECK(piped.code == 0);
  CHECK(nlohmann::json::parse(piped.out)["model"]["file"] == "-");
  const std::string dot = folder / "out.dot";
  std::ofstream(dot) << "before";
  REQUIRE(::chmod(dot.c_str(), 0640) == 0);
  const Result to_file = run({"trace", model, "-o", dot});
  CHECK(to_file.code == 0);
  CHECK(to_file.out.empty());
  CHECK_THAT(content(dot), ContainsSubstring("digraph"));
  CHECK((std::filesystem::status(dot).permissions() & std::filesystem::perms::all) ==
        std::filesystem::perms(0640));
  CHECK(run({"trace", model, "-f", "json", "-o", dot}).code == 0);
  CHECK(content(dot) == result.out);
  CHECK(folder.files() == 1);
  for (const auto& [command, name, other] :
       {std::array{"trace", "mermaid", "mmd"}, std::array{"summary", "md", "markdown"}})
    CHECK(run({command, model, "-f", name}).out == run({command, model, "-f", other}).out);
  CHECK(run({"trace", model, "-o", folder / "no/such/folder.json"}).code == 3);
}

TEST_CASE("cli: rules keep their order, and options repeat a run", "[cli]") {
  const Folder folder;
  const std::string model = fixture("torchscript.pt");
  const auto rule_of = [](const Result& result) {
    CHECK(result.code == 0);
    return nlohmann::json::parse(result.out)["modules"][1]["rule"];
  };
  CHECK(rule_of(run({"trace", model, "--no-leaf", "@linear", "--leaf", "torch.nn.*"})) == "torch.nn.*");
  CHECK(rule_of(run({"trace", "--leaf", "torch.nn.*", model, "--no-leaf=@linear"})).is_null());
  CHECK(rule_of(run({"trace", "--leaf", "a", "--leaf", "torch.nn.*", "--no-leaf", "b", model})) ==
        "torch.nn.*");

  const Result first = run({"trace", model, "--no-default-leaves", "--leaf", "@linear", "--wrap", "x.*",
                            "--max-depth", "3", "--max-nodes", "500"});
  const std::string config = folder / "c.json";
  std::ofstream(config) << nlohmann::ordered_json::parse(first.out)["options"].dump();
  const Result second = run({"trace", model, "--config", config});
  CHECK(second.out == first.out);
  CHECK_THAT(first.err, ContainsSubstring("fxtrace: warning: rule 'x.*' matched nothing"));
  // Options of the command line are applied after the file.
  CHECK(rule_of(run({"trace", model, "--config", config, "--no-leaf", "@linear", "--max-depth", "9"}))
            .is_null());
}

TEST_CASE("cli: inspect a model", "[cli]") {
  const Result text = run({"inspect", fixture("torchscript.pt")});
  CHECK(text.code == 0);
  CHECK(text.out ==
        "torchscript.pt: a TorchScript archive, version 3\n"
        "parameters: 6 elements in 2 tensors, 24 bytes (float32 on cpu)\n"
        "buffers: none\n\n"
        "input  type\n"
        "x      Tensor\n\n"
        "output    type\n"
        "(result)  Tensor\n\n"
        "module    type             own  total  bytes  status\n"
        "(root)    Net                0      6     24  traced\n"
        "  linear  torch.nn.Linear    6      6     24  leaf (default)\n");
  const auto json = nlohmann::json::parse(run({"inspect", "--json", fixture("torchscript.pt")}).out);
  CHECK(json["producer_version"] == "3");
  CHECK(json["modules"][1]["parameters"]["own"] == 6);
  CHECK(json["modules"][1]["status"] == "leaf");
}

TEST_CASE("cli: exported programs", "[cli]") {
  const std::string model = fixture("exported.pt2");
  const Result result = run({"trace", model});
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const auto document = nlohmann::json::parse(result.out);
  CHECK(document["model"]["kind"] == "exported_program");
  CHECK(document["modules"][1]["rule"] == "default");
  CHECK(document["graphs"][0]["graph_signature"]["inputs"].size() == 3);
  CHECK(run({"trace", "-", "-f", "dot"}, content(model)).out.find("digraph") == 0);

  const Result text = run({"inspect", model});
  CHECK(text.code == 0);
  CHECK(
      text.out ==
      "exported.pt2: an exported program (torch.export.save), version 8.20, written by PyTorch 2.13.0+cpu\n"
      "loads with torch >= 2.9, because of the layout of the archive, the field name, the field guards_code\n"
      "parameters: 6 elements in 2 tensors, 24 bytes (float32 on cpu)\n"
      "buffers: none\n\n"
      "input  type\n"
      "x      float32[1, 2]\n\n"
      "output    type\n"
      "(result)  float32[1, 2]\n\n"
      "module    type             own  total  bytes  status\n"
      "(root)    __main__.Net       0      6     24  traced\n"
      "  linear  torch.nn.Linear    6      6     24  leaf (default)\n");
  const auto json = nlohmann::json::parse(run({"inspect", "--json", model}).out);
  CHECK(json["inputs"][0]["value"] == "float32[1, 2]");
  CHECK(json["inputs"][0]["fixed"] == false);
  const Result fixed = run({"inspect", FXTRACE_SOURCE_DIR "/sample_models/exported_containers.pt2"});
  CHECK_THAT(fixed.out,
             ContainsSubstring("\nscale            0.5 (fixed)\nmode             \"sum\" (fixed)\n"));
  CHECK_FALSE(json.contains("models"));
}

TEST_CASE("cli: several exported programs in one archive", "[cli]") {
  const Folder folder;
  const std::string model = FXTRACE_SOURCE_DIR "/sample_models/exported_several.pt2";
  const Result unsaid = run({"trace", model});
  CHECK(unsaid.code == 2);
  CHECK_THAT(unsaid.err, ContainsSubstring("decoder, encoder"));
  CHECK_THAT(unsaid.err, ContainsSubstring("--model"));
  const Result unknown = run({"trace", model, "--model", "encode"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("no model named 'encode'"));

  const Result first = run({"trace", model, "--model", "other", "--model", "encoder"});
  CHECK(first.code == 0);
  const auto document = nlohmann::ordered_json::parse(first.out);
  CHECK(document["options"].dump() == R"({"model":"encoder"})");
  const std::string config = folder / "c.json";
  std::ofstream(config) << document["options"].dump();
  CHECK(run({"trace", model, "--config", config}).out == first.out);
  CHECK(run({"trace", model, "--config", config, "--model", "decoder"}).out != first.out);

  const Result names = run({"inspect", model});
  CHECK(names.code == 0);
  CHECK(names.out ==
        "exported_several.pt2: an exported program (torch.export.save)\n"
        "it holds 2 models; --model NAME shows one:\n"
        "  decoder\n"
        "  encoder\n");
  const auto json = nlohmann::json::parse(run({"inspect", "--json", model}).out);
  CHECK(json["models"] == std::vector<std::string>{"decoder", "encoder"});
  CHECK_FALSE(json.contains("modules"));
  CHECK_THAT(run({"inspect", model, "--model", "decoder"}).out, ContainsSubstring("leaf (default)"));
}

TEST_CASE("cli: modules that fail", "[cli]") {
  const std::string model = FXTRACE_SOURCE_DIR "/sample_models/control_flow_submodule.pt";
  if (!std::filesystem::exists(model)) return;
  const Folder folder;
  const Result result = run({"trace", model});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, ContainsSubstring(" modules failed to trace and became "));
  CHECK_THAT(result.err, ContainsSubstring("(see \"failure\" in the output)"));
  const std::string out = folder / "out.json";
  std::ofstream(out) << "before";
  const Result strict = run({"trace", model, "--strict", "-o", out});
  CHECK(strict.code == 4);
  CHECK(content(out) == run({"trace", model, "--strict"}).out);  // the output is written all the same
  CHECK_THAT(strict.err, ContainsSubstring("modules failed to trace"));
}
