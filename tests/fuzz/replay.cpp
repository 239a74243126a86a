// Runs inputs one after another in this process and reports those that break a promise; a crash ends it after
// the name of its input was printed.  Lines of standard input:
//
//   TARGET<tab>FILE           a target of targets.h
//   archive<tab>FILE<tab>MODEL   an archive of torch.export, and which of its models; MODEL may be empty
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/fuzz/targets.h"
#include "trace/options/options.h"

namespace {

constexpr unsigned kSeconds = 30;  // for one input, by the clock
constexpr rlim_t kMemory = rlim_t{2} << 30;

void run(const std::string& target, const std::string& path, const std::string& model) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (target == "archive") {
    fxtrace::internal::Config config;
    if (!model.empty()) config.options.model = model;
    return fxtrace::internal::fuzz::exported_archive(bytes, config);
  }
  const auto* found =
      std::ranges::find(fxtrace::internal::fuzz::kTargets, target, &fxtrace::internal::fuzz::Target::name);
  if (found == std::end(fxtrace::internal::fuzz::kTargets))
    throw std::invalid_argument("there is no target " + target);
  found->run(bytes);
}

}  // namespace

int main() {
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit memory{kMemory, kMemory};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  int failed = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    std::string target, path, model;
    std::getline(fields, target, '\t');
    std::getline(fields, path, '\t');
    std::getline(fields, model);
    std::cout << path << std::flush;
    ::alarm(kSeconds);
    try {
      run(target, path, model);
      std::cout << "\n";
    } catch (const std::exception& error) {
      std::cout << ": " << error.what() << "\n";
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}
