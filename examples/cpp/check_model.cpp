// check_model MODEL [LARGEST]: a gate for a store of models: a file that is safe to open, whose model can be
// traced, and which has at most LARGEST parameters.
#include <cstdlib>
#include <iostream>

#include <fxtrace/fxtrace.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: check_model MODEL [LARGEST]\n";
    return 2;
  }
  try {
    fxtrace::Rules rules;
    rules.security().no_failed();
    if (argc > 2) rules.max_parameters(std::atoll(argv[2]));
    const fxtrace::CheckReport report = check(fxtrace::Model::open(argv[1]), rules);
    for (const fxtrace::CheckReport::Offence& offence : report.offences()) {
      std::cout << (offence.is_warning ? "warning: " : "error: ") << offence.rule << ": " << offence.message
                << "\n";
      for (const fxtrace::CheckReport::Place& place : offence.places) {
        if (place.module) std::cout << "  in module '" << *place.module << "'\n";
      }
    }
    return report.holds() ? 0 : 1;
  } catch (const fxtrace::Error& error) {
    std::cerr << (error.place().empty() ? "" : error.place() + ": ") << error.what() << "\n";
    for (const std::string& hint : error.hints()) std::cerr << "hint: " << hint << "\n";
    return 3;
  }
}
