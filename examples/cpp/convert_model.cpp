// convert_model MODEL OUT.pt2 [NAME=SPEC...]: makes a functional program of torch.export of a model, or lists
// everything that one cannot express.
#include <iostream>
#include <string>

#include <fxtrace/fxtrace.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: convert_model MODEL OUT.pt2 [NAME=SPEC...]\n";
    return 2;
  }
  fxtrace::TraceOptions options;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    options.inputs.push_back(
        {text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)});
  }
  try {
    const fxtrace::Conversion conversion =
        fxtrace::Model::open(argv[1]).convert({.functional = true}, options);
    for (const fxtrace::NotConvertible& each : conversion.refusals()) {
      std::cerr << each.what << (each.module.empty() ? "" : " in " + each.module) << ": " << each.why
                << (each.help.empty() ? "" : "; " + each.help);
      if (each.source) std::cerr << " (" << each.source->file << ":" << each.source->line << ")";
      std::cerr << "\n";
    }
    if (!conversion.is_possible()) return 1;
    conversion.write(std::string(argv[2]));
  } catch (const fxtrace::Error& error) {
    std::cerr << (error.place().empty() ? "" : error.place() + ": ") << error.what() << "\n";
    for (const std::string& hint : error.hints()) std::cerr << "hint: " << hint << "\n";
    return 1;
  }
}
