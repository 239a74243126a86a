// list_layers MODEL [NAME=SPEC...]: the layers that a quantizer asks about, as CSV: each call of a linear
// layer or a convolution in order of execution, with the shapes of its input and output, its MACs, and the
// module that takes its value.
#include <iostream>
#include <string>
#include <vector>

#include <fxtrace/fxtrace.h>

namespace {

bool is_a_layer(const fxtrace::Node& node) {
  if (node.op() != fxtrace::Opcode::kCallModule) return false;
  const std::string type = node.scope().module_type.value_or("");
  return type.find(".Linear") != std::string::npos || type.find(".Conv") != std::string::npos;
}

std::string shape_of(const fxtrace::Node& node) {
  std::string text;
  for (const fxtrace::Size& size : node.meta().shape().value_or(std::vector<fxtrace::Size>()))
    text += (text.empty() ? "" : "x") + size.text;
  return text.empty() ? "?" : text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: list_layers MODEL [NAME=SPEC...]\n";
    return 2;
  }
  fxtrace::TraceOptions options;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      std::cerr << "expected NAME=SPEC, such as x=float32[1,3,224,224]\n";
      return 2;
    }
    options.inputs.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  fxtrace::Listener listener;
  listener.warning = [](const std::string& text) { std::cerr << "warning: " << text << "\n"; };
  try {
    const fxtrace::Model model = fxtrace::Model::open(argv[1]);
    const fxtrace::GraphCollection collection = model.trace(options, listener);
    std::cout << "layer,type,input,output,macs,used_by\n";
    for (const fxtrace::Node& node : collection.root().nodes()) {
      if (!is_a_layer(node)) continue;
      const std::vector<fxtrace::Node> inputs = node.inputs();
      const std::vector<fxtrace::Node> users = node.users();
      std::cout << node.target() << "," << *node.scope().module_type << ","
                << (inputs.empty() ? "?" : shape_of(inputs.front())) << "," << shape_of(node) << ","
                << (node.macs() ? node.macs()->text : "?") << ","
                << (users.empty() ? "" : users.front().target()) << "\n";
    }
    for (const fxtrace::Module& module : collection.failed())
      std::cerr << "not traced: " << module.path() << ": " << module.failure()->message << "\n";
  } catch (const fxtrace::Error& error) {
    std::cerr << (error.place().empty() ? "" : error.place() + ": ") << error.what() << "\n";
    for (const std::string& hint : error.hints()) std::cerr << "hint: " << hint << "\n";
    return 1;
  }
}
