// The interpreter on TorchScript IR: one file of tests/interpreter for each case, IR above the line of dashes
// and what is recorded below.  FXTRACE_UPDATE=1 writes the lower parts anew.
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
#include "graph/analysis/text_form.h"
#include "interpreter/load.h"
#include "interpreter/program/torchscript_archive.h"
#include "shapes/abstract_value.h"
#include "tests/forms/graph_text.h"
#include "tests/forms/ir_text.h"
#include "torchscript/compiler/script_program.h"
#include "trace/options/option_table.h"
#include "trace/search/trace.h"

using namespace fxtrace::internal;
using namespace fxtrace::internal::interpreter;

namespace {

// Returns the graph that a case contains.
class WrittenCode final : public torchscript::FunctionCode {
 public:
  explicit WrittenCode(std::unique_ptr<IrGraph> graph) : graph_(std::move(graph)) {}

  FunctionSchema make_schema(Function& function) override {
    FunctionSchema schema;
    schema.name = function.qualified_name();
    const IrGraph& graph = graph_ ? *graph_ : function.graph();
    for (const IrValue* input : graph.inputs()) {
      FunctionArgument argument;
      argument.name = input->name();
      argument.type = input->type();
      schema.arguments.push_back(std::move(argument));
    }
    for (const IrValue* output : graph.outputs()) schema.results.push_back(output->type());
    return schema;
  }
  std::unique_ptr<IrGraph> compile(Function& /*function*/) override { return std::move(graph_); }

 private:
  std::unique_ptr<IrGraph> graph_;
};

constexpr std::string_view kLine = "----\n";

// Returns the upper part of a case.
//
//   // What it is about.
//   --input x=float32[n,4]       options of a trace
//
//   module Sub                   submodules first, the root last
//     weight: float32[4,3]       a parameter; frozen, without `requires_grad` behind it
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
        add_module(line.substr(7));
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

  // Returns the result of the trace as text.
  std::string run() {
    const auto program =
        make_program(std::make_unique<TorchScriptArchive>(unit_, modules_.at(current_)), config_.options);
    const GraphCollection collection = trace(*program, config_.options).collection;
    std::string text;
    for (const ModuleGraph& graph : collection.graphs) {
      if (!graph.module.empty()) text += "graph of " + graph.module + "\n";
      add_graph(graph, text);
      for (const NodeId id : graph.graph.order()) {
        const Node& node = graph.graph.node(id);
        if (node.meta->shape || node.meta->value)
          text += "meta " + node.name + " " + value_text(node.meta) + "\n";
        if (!node.method->empty()) text += "method " + node.name + " " + *node.method + "\n";
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
    const auto row = std::ranges::find(option_table(), option, &OptionRow::name);
    if (row == option_table().end()) FAIL("no option " + option);
    OptionSource source;
    set_option(*row, value, source, config_);
  }

  void read_member(const std::string& line) {
    if (const auto equal = line.find(" = "); equal != std::string::npos) {
      const std::string name = line.substr(0, equal);
      const std::string value = line.substr(equal + 3);
      if (value == "True" || value == "False") return add_member(name, bool_type(), value == "True");
      if (value.find('.') != std::string::npos) return add_member(name, float_type(), std::stod(value));
      return add_member(name, int_type(), std::int64_t{std::stol(value)});
    }
    const auto colon = line.find(": ");
    REQUIRE(colon != std::string::npos);
    const std::string name = line.substr(0, colon);
    const std::string type = line.substr(colon + 2);
    if (const auto sub = modules_.find(type); sub != modules_.end()) {
      return add_member(name, sub->second->type, sub->second);
    }
    REQUIRE(type.starts_with("float32["));
    std::vector<std::int64_t> sizes;
    std::istringstream numbers(type.substr(8));
    for (std::int64_t size = 0; numbers >> size; numbers.get()) sizes.push_back(size);
    auto tensor = make_counted<TensorValue>();
    tensor->sizes = sizes;
    tensor->strides = contiguous_strides(sizes);
    tensor->requires_grad = type.ends_with(" requires_grad");
    add_member(name, tensor_type(), std::move(tensor), true);
  }

  void add_module(const std::string& name) {
    auto type = std::make_shared<ClassType>("__torch__." + name, ClassType::Form::kModule);
    types_.emplace(name, type);
    modules_.emplace(name, make_counted<ObjectValue>(type, 0));
  }

  void add_member(const std::string& name, TypePtr type, Value value, bool is_parameter = false) {
    types_.at(current_)->add_attribute({name, std::move(type), is_parameter, false});
    modules_.at(current_)->slots.push_back(std::move(value));
  }

  // The parser knows no classes: values that are modules get their types here.
  void finish_method(std::string& ir) {
    if (ir.empty()) return;
    auto graph = torchscript::parse_ir(ir);
    graph->inputs()[0]->set_type(types_.at(current_));
    set_types(*graph->block());
    functions_.push_back(std::make_unique<Function>(types_.at(current_)->name() + "." + method_,
                                                    std::make_shared<WrittenCode>(std::move(graph))));
    types_.at(current_)->add_method(method_, functions_.back().get());
    ir.clear();
  }

  static void set_types(IrBlock& block) {
    for (IrNode* node : block.nodes()) {
      for (IrBlock* inner : node->blocks()) set_types(*inner);
      // LibTorch's parser, with which the cases were written, names only parameters.
      for (IrValue* output : node->outputs()) output->set_name("");
      if (!node->is(Symbol::kPrimGetAttr)) continue;
      const auto* type = node->input(0)->type()->as<ClassType>();
      if (type != nullptr) node->output()->set_type(type->find_attribute(node->text())->type);
    }
  }

  std::shared_ptr<torchscript::ScriptProgram> unit_ =
      std::make_shared<torchscript::ScriptProgram>(torchscript::ProgramSource{});
  std::vector<std::unique_ptr<Function>> functions_;
  std::map<std::string, std::shared_ptr<ClassType>> types_;
  std::map<std::string, Ref<ObjectValue>> modules_;
  std::string current_, method_;
  Config config_;
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
    DYNAMIC_SECTION(path.stem().string()) {
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
}
