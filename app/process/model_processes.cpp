#include "app/process/model_processes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli.h"
#include "app/process/isolation.h"
#include "support/descriptor_stream.h"
#include "support/system.h"

namespace fxtrace::internal::cli {
namespace {

using Clock = std::chrono::steady_clock;

Descriptor product_file() {
  Descriptor file = memory_file();
  if (!file) throw input_error("cannot make a file in memory: " + std::generic_category().message(errno));
  return file;
}

void write_product(const ModelProcesses::Work& work, Isolated& isolated, int product) {
  DescriptorStream stream(product);
  work(isolated, stream);
  stream.flush();
}

void reap(pid_t id) {
  while (::waitpid(id, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

struct ModelProcesses::Running {
  Running(std::size_t which, const IsolationArguments& arguments, Console& console, Descriptor file)
      : number(which), process(arguments, console), product(std::move(file)) {}

  std::size_t number;
  IsolatedProcess process;
  Descriptor product;
  Descriptor handle;      // end_of() the process
  Clock::time_point end;  // the process is killed then
};

ModelProcesses::ModelProcesses(const IsolationArguments& arguments, Console& console, std::size_t most)
    : arguments_(arguments), console_(console), most_(std::max<std::size_t>(most, 1)) {}

ModelProcesses::~ModelProcesses() {
  for (const Running& running : running_) {
    ::kill(running.process.id(), SIGKILL);
    reap(running.process.id());
  }
}

void ModelProcesses::start(std::size_t number, const InputFile& input, const Work& work) {
  Descriptor product = product_file();
  if (!arguments_.isolates() || !console_.owns_process()) return run_here(number, work, std::move(product));
  Running& running = running_.emplace_back(number, arguments_, console_, std::move(product));
  const Descriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  bool is_written = false;
  try {
    running.process.start(
        nothing ? nothing.number() : STDERR_FILENO, {input.file().descriptor(), running.product.number()},
        [&](Isolated& isolated) {
          write_product(work, isolated, running.product.number());
          is_written = true;
          return kDone;
        },
        [&] { return is_written; });
  } catch (const Error&) {
    running_.pop_back();
    throw;
  }
  running.handle = end_of(running.process.id());
  const std::uint64_t seconds = arguments_.seconds_by_the_clock();
  running.end = seconds == 0
                    ? Clock::time_point::max()
                    : Clock::now() + std::chrono::seconds(std::min<std::uint64_t>(seconds, INT32_MAX));
}

void ModelProcesses::run_here(std::size_t number, const Work& work, Descriptor product) {
  Ended ended{number, std::nullopt, std::move(product)};
  Isolated here(console_, false);
  try {
    write_product(work, here, ended.product.number());
  } catch (const Error& error) {
    ended.failure = error;
  } catch (const std::system_error& error) {
    ended.failure = input_error(error.code().message());
  }
  done_.push_back(std::move(ended));
}

std::optional<ModelProcesses::Ended> ModelProcesses::find_ended() {
  for (auto running = running_.begin(); running != running_.end(); ++running) {
    const IsolatedProcess& process = running->process;
    std::optional<Error> failure;
    int status = 0;
    const pid_t ended = ::waitpid(process.id(), &status, WNOHANG);
    if (ended < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    if (ended == process.id()) {
      failure = process.failure(status);
      if (!failure) failure = process.error();
      if (!failure && !process.has_product()) failure = input_error("the process that read it failed");
    } else if (Clock::now() >= running->end) {
      ::kill(process.id(), SIGKILL);
      reap(process.id());
      failure = process.took_too_long();
    } else {
      continue;
    }
    Ended result{running->number, std::move(failure), std::move(running->product)};
    running_.erase(running);
    return result;
  }
  return std::nullopt;
}

ModelProcesses::Ended ModelProcesses::wait() {
  using std::chrono::milliseconds;
  if (!done_.empty()) {
    Ended ended = std::move(done_.front());
    done_.pop_front();
    return ended;
  }
  while (true) {
    if (auto ended = find_ended()) return std::move(*ended);
    constexpr milliseconds kPause(10);  // without a handle
    constexpr milliseconds kLongest(60'000);
    milliseconds pause = kLongest;
    std::vector<pollfd> waiting;
    for (const Running& running : running_) {
      if (!running.handle) pause = kPause;
      waiting.push_back({running.handle ? running.handle.number() : -1, POLLIN, 0});
      if (running.end == Clock::time_point::max()) continue;
      pause = std::clamp(std::chrono::ceil<milliseconds>(running.end - Clock::now()), milliseconds(0), pause);
    }
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(pause.count())) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
  }
}

}  // namespace fxtrace::internal::cli
