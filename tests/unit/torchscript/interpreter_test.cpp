// The interpreter on TorchScript IR: one file of tests/interpreter for each case, IR above the line of dashes
// and what is recorded below.  FXTRACE_UPDATE=1 writes the lower parts anew.
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/irparser.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.h"
#include "graph/text_form.h"
#include "torchscript/archive.h"
#include "torchscript/declarations.h"
#include "torchscript/torchscript_program.h"
#include "trace/config.h"
#include "trace/input_spec.h"
#include "trace/leaf_rules.h"
#include "trace/trace.h"

using namespace fxtrace;

namespace {

constexpr std::string_view kLine = "----\n";

// The upper part of a case.
//
//   // What it is about.
//   --input x=float32[n,4]       options; these, --concrete, --leaf, --no-default-leaves and --control-flow
//
//   module Sub                   submodules first, the root last
//     weight: float32[4,3]       a parameter
//     count = 3                  an integer attribute, a float or a bool
//     sub: Sub                   a submodule
//   forward(%self, %x : Tensor):
//     ...
class Case {
 public:
  explicit Case(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    std::string ir;
    while (std::getline(lines, line)) {
      if (line.empty() || line.starts_with("//")) continue;
      if (line.starts_with("--")) {
        read_option(line);
      } else if (line.starts_with("module ")) {
        finish_method(ir);
        modules_.emplace(line.substr(7), torch::jit::Module("__torch__." + line.substr(7), unit_));
        current_ = line.substr(7);
      } else if (line[0] != ' ' && line.find("(%self") != std::string::npos) {
        finish_method(ir);
        method_ = line.substr(0, line.find('('));
        ir = "graph" + line.substr(line.find('(')) + "\n";
      } else if (!ir.empty()) {
        ir += line + "\n";
      } else {
        read_member(line.substr(line.find_first_not_of(' ')));
      }
    }
    finish_method(ir);
  }

  // What the trace gives, as text.
  std::string run() {
    TorchScriptProgram program(std::make_unique<TorchScriptArchive>(modules_.at(current_)),
                               std::make_unique<Declarations>(), options_);
    const GraphCollection collection = trace(program, options_).collection;
    std::string text;
    for (const ModuleGraph& graph : collection.graphs) {
      if (!graph.module.empty()) text += "graph of " + graph.module + "\n";
      add_graph(graph, text);
      for (const NodeId id : graph.graph.order()) {
        const Node& node = graph.graph.node(id);
        if (node.meta->shape || node.meta->value)
          text += "meta " + node.name + " " + value_text(node.meta) + "\n";
      }
    }
    for (const ModuleRecord& module : collection.modules) {
      if (!module.failure) continue;
      text += "failed " + (module.path.empty() ? "root" : module.path) + " (" +
              to_string(module.failure->kind) + "): " + module.failure->message + "\n";
    }
    return text;
  }

 private:
  static void add_graph(const ModuleGraph& graph, std::string& text) {
    text += print_graph(graph.graph);
    for (const Guard& guard : graph.guards) text += "guard " + guard.expr.text() + "\n";
    for (const Subgraph& subgraph : graph.subgraphs) {
      text += "subgraph " + subgraph.name + "\n";
      add_graph(subgraph.graph, text);
    }
  }

  void read_option(const std::string& line) {
    std::istringstream words(line);
    std::string option;
    std::string value;
    words >> option >> value;
    const auto equal = value.find('=');
    if (option == "--input") {
      options_.inputs.push_back(make_input_spec(value.substr(0, equal), value.substr(equal + 1)));
    } else if (option == "--concrete") {
      const std::string name = value.substr(0, equal);
      options_.concrete.push_back({name, parse_concrete(value.substr(equal + 1), name)});
    } else if (option == "--leaf") {
      options_.leaf_rules.push_back(parse_leaf_rule(value, true));
    } else if (option == "--control-flow") {
      options_.control_flow = value == "subgraph" ? ControlFlow::kSubgraph : ControlFlow::kFail;
    } else if (option == "--no-default-leaves") {
      options_.default_leaves = false;
    } else {
      FAIL("no option " + option);
    }
  }

  void read_member(const std::string& line) {
    torch::jit::Module& module = modules_.at(current_);
    if (const auto equal = line.find(" = "); equal != std::string::npos) {
      const std::string name = line.substr(0, equal);
      const std::string value = line.substr(equal + 3);
      if (value == "True" || value == "False") {
        module.register_attribute(name, c10::BoolType::get(), value == "True");
      } else if (value.find('.') != std::string::npos) {
        module.register_attribute(name, c10::FloatType::get(), std::stod(value));
      } else {
        module.register_attribute(name, c10::IntType::get(), std::int64_t{std::stol(value)});
      }
      return;
    }
    const auto colon = line.find(": ");
    REQUIRE(colon != std::string::npos);
    const std::string name = line.substr(0, colon);
    const std::string type = line.substr(colon + 2);
    if (const auto sub = modules_.find(type); sub != modules_.end()) {
      module.register_module(name, sub->second);
      return;
    }
    REQUIRE(type.starts_with("float32["));
    std::vector<std::int64_t> sizes;
    std::istringstream numbers(type.substr(8));
    for (std::int64_t size = 0; numbers >> size; numbers.get()) sizes.push_back(size);
    module.register_parameter(name, at::zeros(sizes), false);
  }

  // The parser knows no classes: values that are modules get their types here.
  void finish_method(std::string& ir) {
    if (ir.empty()) return;
    const torch::jit::Module& module = modules_.at(current_);
    auto graph = std::make_shared<torch::jit::Graph>();
    torch::jit::parseIR(ir, graph.get());
    graph->inputs()[0]->setType(module.type());
    set_types(*graph->block());
    torch::jit::Function* function =
        unit_->create_function(c10::QualifiedName(*module.type()->name(), method_), std::move(graph));
    module.type()->addMethod(function);
    ir.clear();
  }

  static void set_types(torch::jit::Block& block) {
    for (torch::jit::Node* node : block.nodes()) {
      for (torch::jit::Block* inner : node->blocks()) set_types(*inner);
      if (node->kind() != c10::prim::GetAttr) continue;
      if (const auto type = node->input(0)->type()->cast<c10::ClassType>()) {
        node->output()->setType(type->getAttribute(node->s(c10::attr::name)));
      }
    }
  }

  std::shared_ptr<torch::jit::CompilationUnit> unit_ = std::make_shared<torch::jit::CompilationUnit>();
  std::map<std::string, torch::jit::Module> modules_;
  std::string current_, method_;
  TraceOptions options_;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("interpreter: cases", "[torchscript]") {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(FXTRACE_SOURCE_DIR "/tests/interpreter")) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() > 10);
  const bool update = std::getenv("FXTRACE_UPDATE") != nullptr;
  for (const auto& path : paths) {
    INFO(path.filename().string());
    const std::string text = read(path);
    const std::size_t line = std::min(text.find(kLine), text.size());
    const std::string upper = text.substr(0, line);
    const std::string expected = line < text.size() ? text.substr(line + kLine.size()) : "";
    std::string given;
    CHECK_NOTHROW(given = Case(upper).run());
    if (update && given != expected) {
      std::ofstream(path, std::ios::binary) << upper << kLine << given;
    } else {
      CHECK(given == expected);
    }
  }
}
