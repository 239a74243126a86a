// Traces archives that code_generator.h makes, each in a process of its own, until time is up.
//
//   torchscript_fuzz [--seconds N | --programs N] [--seed N] [--findings FOLDER]
//   torchscript_fuzz --replay FILE      prints the archive's code and traces it here, without a child
//   torchscript_fuzz --check-forms      whether all that the generator writes is TorchScript
//
// Each must end within the limits of time and memory, with a result or an Error about the input; one that
// does not is a finding, which is reduced and left in FOLDER.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

#include "graph/lint.h"
#include "interpreter/load.h"
#include "readers/collection_reader.h"
#include "support/error.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/torchscript/choices.h"
#include "tests/fuzz/torchscript/code_generator.h"
#include "trace/options/input_spec.h"
#include "trace/search/trace.h"
#include "writers/graphs/collection_writers.h"

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace fxtrace::internal::fuzz {
namespace {

constexpr rlim_t kMaxMemory = 3'000'000'000;
constexpr unsigned kMaxSeconds = kSanitized ? 60 : 20;

// The report of a child, in shared memory.
struct Report {
  enum Phase : int { kLoading, kTracing, kWriting, kDone };
  Phase phase;
  bool refused;
  char message[400];
};

TraceOptions options_of(Choices& choices) {
  TraceOptions options;
  if (choices.one_in(2)) options.inputs.push_back(read_input_spec("x=float32[2,3]"));
  if (choices.one_in(4)) options.inputs = {read_input_spec("x=float32[n,3]"), read_input_spec("n=m")};
  if (choices.one_in(3)) options.control_flow = ControlFlow::kSubgraph;
  if (choices.one_in(3)) options.default_leaves = false;
  if (choices.one_in(3)) options.param_shapes_constant = true;
  options.limits.iterations = 2'000;
  options.limits.nodes = 2'000;
  options.limits.call_depth = 200;
  return options;
}

// The first line is the outcome, by which findings are compared.
std::string difference(const std::string& written, const std::string& read_back) {
  constexpr std::size_t kContext = 60;
  const auto [first, second] = std::ranges::mismatch(written, read_back);
  const std::size_t from = std::max<std::ptrdiff_t>(0, first - written.begin() - kContext);
  return "the collection does not read back\n" + written.substr(from, 2 * kContext) + "\nis\n" +
         read_back.substr(from, 2 * kContext);
}

void trace_generated(std::string_view bytes, Report& report) {
  Choices choices(bytes.substr(0, 5));
  const TraceOptions options = options_of(choices);
  const GeneratedArchive archive = generate_archive(bytes.substr(std::min<std::size_t>(bytes.size(), 5)));
  const ModelFile file = memory_file(archive.bytes);
  TraceRequest wanted;
  wanted.description = true;
  wanted.hint = true;
  try {
    report.phase = Report::kLoading;
    auto program = interpreter::load_torchscript(identify_file(file), options, {});
    report.phase = Report::kTracing;
    const TraceResult result = trace_program(std::move(program), options, wanted, {});
    report.phase = Report::kWriting;
    lint(result.collection);
    std::ostringstream out;
    write_json(result.collection, out);
    std::ostringstream again;
    write_json(read_collection(out.str(), "result"), again);
    if (again.str() != out.str()) throw std::logic_error(difference(out.str(), again.str()));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) throw;
    report.refused = true;
    std::snprintf(report.message, sizeof report.message, "%s", error.what());
  }
  report.phase = Report::kDone;
}

std::string outcome_text(int status, const Report& report) {
  static constexpr const char* kPhases[] = {"loading", "tracing", "writing", "after writing"};
  std::string text;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    text = number == SIGXCPU || number == SIGKILL || number == SIGALRM ? "no end" : strsignal(number);
  } else if (WEXITSTATUS(status) != 0) {
    text = report.message[0] != '\0' ? report.message : "exit " + std::to_string(WEXITSTATUS(status));
    text = text.substr(0, text.find('\n'));
  } else {
    return "";
  }
  return text + " while " + kPhases[report.phase];
}

// Returns the problem; empty when nothing is wrong.
std::string run_in_child(std::string_view bytes, Report& report) {
  std::memset(&report, 0, sizeof report);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!kSanitized) {
      const rlimit memory{kMaxMemory, kMaxMemory};
      ::setrlimit(RLIMIT_AS, &memory);
      std::freopen("/dev/null", "w", stderr);
    }
    std::freopen("/dev/null", "w", stdout);
    const rlimit core{0, 0};
    ::setrlimit(RLIMIT_CORE, &core);
    const rlimit time{kMaxSeconds / 2, kMaxSeconds / 2};
    ::setrlimit(RLIMIT_CPU, &time);
    ::alarm(kMaxSeconds * 3);
    int code = 0;
    try {
      trace_generated(bytes, report);
    } catch (const std::bad_alloc&) {
      std::snprintf(report.message, sizeof report.message, "out of memory");
      code = 1;
    } catch (const std::exception& error) {
      std::snprintf(report.message, sizeof report.message, "%s", error.what());
      code = 1;
    }
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return outcome_text(status, report);
}

// Reduces the bytes, in number and value, with the same outcome.
std::string made_small(std::string bytes, const std::string& outcome, Report& report) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto tries = [&](const std::string& candidate) {
    if (std::chrono::steady_clock::now() > deadline || run_in_child(candidate, report) != outcome)
      return false;
    bytes = candidate;
    return true;
  };
  for (std::size_t size = bytes.size() / 2; size > 0; size /= 2) {
    for (std::size_t at = 0; at + size <= bytes.size();) {
      std::string shorter = bytes;
      shorter.erase(at, size);
      if (tries(shorter)) continue;
      std::string zeros = bytes;
      zeros.replace(at, size, size, '\0');
      if (zeros != bytes) tries(zeros);
      at += size;
    }
  }
  return bytes;
}

std::string random_bytes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(20 + random() % 400, '\0');
  for (char& c : bytes) c = static_cast<char>(random() & 0xFF);
  return bytes;
}

int replay(const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::cout << generate_archive(std::string_view(bytes).substr(std::min<std::size_t>(bytes.size(), 5))).code
            << std::flush;
  Report report{};
  trace_generated(bytes, report);
  std::cout << "----\n" << (report.refused ? report.message : "traced") << "\n";
  return 0;
}

int check_forms() {
  int wrong = 0;
  for (const auto& [form, archive] : archives_of_forms()) {
    try {
      const ModelFile file = memory_file(archive.bytes);
      interpreter::load_torchscript(identify_file(file), {}, {});
    } catch (const Error& error) {
      std::cout << form << ": " << error.what() << "\n";
      ++wrong;
    }
  }
  return wrong == 0 ? 0 : 1;
}

// Runs programs from `seed` on: `wanted` of them, or as many as there is time for.
int main_loop(std::uint64_t seed, unsigned seconds, std::size_t wanted, const std::string& folder) {
  auto* report = static_cast<Report*>(
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::size_t programs = 0, refused = 0;
  std::map<std::string, std::size_t> findings;
  const auto is_over = [&] {
    return wanted > 0 ? programs == wanted : std::chrono::steady_clock::now() >= deadline;
  };
  for (; !is_over(); ++seed, ++programs) {
    const std::string bytes = random_bytes(seed);
    const std::string outcome = run_in_child(bytes, *report);
    refused += report->refused ? 1 : 0;
    if (report->refused && std::getenv("FXTRACE_FUZZ_REFUSED") != nullptr)
      std::cerr << report->message << "\n";
    if (outcome.empty()) continue;
    constexpr std::size_t kKept = 3;  // findings of one outcome
    if (++findings[outcome] > kKept) continue;
    const std::string small = made_small(bytes, outcome, *report);
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/torchscript-" + std::to_string(seed);
    std::ofstream(path, std::ios::binary) << small;
    std::ofstream(path + ".pt", std::ios::binary)
        << generate_archive(std::string_view(small).substr(std::min<std::size_t>(small.size(), 5))).bytes;
    std::cout << "seed " << seed << ": " << outcome << "\n  " << path << ".pt\n"
              << generate_archive(std::string_view(small).substr(std::min<std::size_t>(small.size(), 5))).code
              << std::flush;
  }
  std::cout << programs << " programs, " << refused << " refused, the next seed is " << seed << "\n";
  for (const auto& [outcome, count] : findings) std::cout << "finding: " << outcome << ": " << count << "\n";
  return findings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace fxtrace::internal::fuzz

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  unsigned seconds = 20;
  std::size_t programs = 0;
  std::string folder = "findings";
  if (argc == 2 && std::string_view(argv[1]) == "--check-forms")
    return fxtrace::internal::fuzz::check_forms();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--replay") return fxtrace::internal::fuzz::replay(argv[i + 1]);
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seconds") seconds = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
    if (option == "--programs") programs = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--findings") folder = argv[i + 1];
  }
  return fxtrace::internal::fuzz::main_loop(seed, seconds, programs, folder);
}
