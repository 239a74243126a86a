// count_operators MODEL [PASS...]: traces a model down to its operators, runs graph passes, and prints the
// number of operators in each module itself, without its submodules.
#include <cstddef>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <fxtrace/fxtrace.h>

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::cerr << "usage: count_operators MODEL [PASS...]\n";
    return 2;
  }
  fxtrace::Config config;
  config.options.default_leaves = false;  // modules of torch.nn are traced into, too
  config.passes.assign(arguments.begin() + 1, arguments.end());

  fxtrace::Listener listener;
  listener.warning = [](const std::string& text) { std::cerr << "warning: " << text << "\n"; };

  try {
    const fxtrace::GraphCollection collection = fxtrace::trace(arguments[0], config, listener);
    std::map<std::string, std::size_t> operators;  // key: the path of the module
    for (const fxtrace::ModuleGraph& result : collection.graphs) {
      for (const fxtrace::NodeId id : result.graph.order()) {
        const fxtrace::Node& node = result.graph.node(id);
        if (node.op == fxtrace::Opcode::kCallFunction) ++operators[node.scope->module_path];
      }
    }
    std::cout << collection.model.type << "\n";
    for (const auto& [path, count] : operators) {
      std::cout << (path.empty() ? "(root)" : path) << " " << count << "\n";
    }
  } catch (const fxtrace::Error& error) {
    std::cerr << (error.place().empty() ? "" : error.place() + ": ") << error.what() << "\n";
    for (const std::string& hint : error.hints()) std::cerr << "hint: " << hint << "\n";
    return 1;
  }
}
