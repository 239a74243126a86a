#include "app/output/graphviz.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/output/dot_check.h"
#include "app/output/picture_titles.h"
#include "app/process/child_process.h"
#include "app/process/lockdown.h"
#include "app/process/set_limit.h"
#include "support/descriptor.h"
#include "support/descriptor_stream.h"
#include "support/error.h"
#include "support/text/columns.h"
#include "support/text/printable.h"
#include "support/text/signal_name.h"

namespace fxtrace::internal::cli {
namespace {

constexpr int kCannotRun = 127;
constexpr std::string_view kBox = " [shape=";  // occurs once in each box
constexpr std::size_t kManyBoxes = 1000;       // more boxes take longer than seconds
// For large pictures, Graphviz's network simplex takes forever to place boxes; this limits its iterations to
// this many for each box.
constexpr const char* kMoves = "-Gnslimit=1";
constexpr std::size_t kSomeBoxes = 500;

bool is_program(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Runs in the child that becomes dot.
[[noreturn]] void become_dot(const std::string& program, const Graphviz::Drawing& drawing, int messages,
                             pid_t parent, const IsolationArguments& isolation) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::raise(SIGKILL);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  if (isolation.seconds() != 0) set_limit(RLIMIT_CPU, isolation.seconds(), 1);
  if (isolation.memory() != 0) {
    set_limit(RLIMIT_DATA, isolation.memory());
    set_limit(RLIMIT_FSIZE, isolation.memory());
  }
  set_limit(RLIMIT_CORE, 0);
  ::lseek(drawing.in, 0, SEEK_SET);
  const std::string option = "-T" + drawing.format;
  if (::dup2(drawing.in, STDIN_FILENO) >= 0 && ::dup2(drawing.out, STDOUT_FILENO) >= 0 &&
      ::dup2(messages, STDERR_FILENO) >= 0) {
    close_others({STDIN_FILENO, STDOUT_FILENO});
    // A defect of Graphviz that names in a model may trigger stays inside.  The warning about a missing
    // mechanism was given before.
    if (isolation.isolates()) lock_down(Lockdown::kRunProgram);
    const char* const moves = drawing.boxes > kSomeBoxes ? kMoves : nullptr;
    ::execl(program.c_str(), "dot", drawing.layout, option.c_str(), moves, static_cast<char*>(nullptr));
  }
  ::_exit(kCannotRun);
}

// Checks the DOT text, as the process that wrote it may have been taken over.  Returns the number of boxes.
std::size_t check_dot(int dot_text) {
  struct stat status{};
  const auto size = ::fstat(dot_text, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
  if (size == 0) return 0;
  void* const text = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, dot_text, 0);
  if (text == MAP_FAILED) throw input_error("cannot read the picture's text to check it");
  const std::string_view dot(static_cast<const char*>(text), size);
  const std::string foreign = find_foreign_dot(dot);
  std::size_t boxes = 0;
  for (std::size_t at = dot.find(kBox); at != std::string_view::npos; at = dot.find(kBox, at + 1)) ++boxes;
  ::munmap(text, size);
  if (!foreign.empty()) {
    throw Error(ErrorKind::kInput,
                "refusing the picture: its text has " + foreign + ", which fxtrace does not write",
                {"the model may have taken over the process that read it"});
  }
  return boxes;
}

void rewrite(int file, const std::string& text) {
  try {
    ::lseek(file, 0, SEEK_SET);
    DescriptorStream out(file);
    out << text << std::flush;
  } catch (const std::system_error& error) {
    throw input_error(std::string("cannot write the picture: ") + std::strerror(error.code().value()));
  }
}

std::string first_line(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string_view all(text.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  return printable(all.substr(0, all.find('\n')));
}

}  // namespace

Graphviz::Graphviz() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (program_.empty() && !rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, end)) + "/dot";
    // Relative folders of PATH are skipped, as they depend on the current directory.
    if (rest.front() == '/' && is_program(candidate)) program_ = candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (program_.empty()) {
    throw input_error("Graphviz draws this format, and its program `dot` is not installed",
                      {"apt-get install graphviz", "-f html and -f mermaid need nothing"});
  }
}

void Graphviz::draw(const std::string& format, int dot_text, int picture, const IsolationArguments& isolation,
                    Console& console) const {
  const std::size_t boxes = check_dot(dot_text);
  if (boxes > kManyBoxes) {
    console.warning("Graphviz takes up to a minute for " + with_separators(static_cast<std::int64_t>(boxes)) +
                    " boxes, and draws at most " + with_separators(static_cast<std::int64_t>(kMostBoxes)) +
                    "; --depth N and --focus PATH draw fewer, and -f html shows any number");
  }
  if (format == "svg") {
    run({"-Kdot", format, dot_text, picture, boxes}, isolation);
    rewrite(picture, svg_with_titles_last(read_all(picture)));
    return;
  }
  const Descriptor layout(::memfd_create("fxtrace", MFD_CLOEXEC));
  if (!layout) throw input_error(std::string("cannot run Graphviz: ") + std::strerror(errno));
  run({"-Kdot", "dot", dot_text, layout.number(), boxes}, isolation);
  const Descriptor with_titles(::memfd_create("fxtrace", MFD_CLOEXEC));
  if (!with_titles) throw input_error(std::string("cannot run Graphviz: ") + std::strerror(errno));
  rewrite(with_titles.number(), layout_with_titles_last(read_all(layout.number())));
  const std::string said = run({"-Knop2", format, with_titles.number(), picture, boxes}, isolation);
  if (said.find("too large") != std::string::npos)
    console.warning("the PNG is scaled down to the largest size that Graphviz draws; an SVG has any size");
}

std::string Graphviz::run(const Drawing& drawing, const IsolationArguments& isolation) const {
  const Descriptor messages(::memfd_create("fxtrace", MFD_CLOEXEC));
  const pid_t parent = ::getpid();
  const pid_t child = messages ? ::fork() : -1;
  if (child < 0) throw input_error(std::string("cannot run Graphviz: ") + std::strerror(errno));
  if (child == 0) become_dot(program_, drawing, messages.number(), parent, isolation);
  const auto ended = wait_for(child, isolation.seconds_by_the_clock(), nullptr);
  if (!ended || (WIFSIGNALED(*ended) && (WTERMSIG(*ended) == SIGXCPU || WTERMSIG(*ended) == SIGKILL))) {
    throw input_error(
        "Graphviz needed more than " + std::to_string(isolation.seconds()) + " s to draw it",
        {"a smaller --depth, or --focus PATH, makes the picture smaller", "--max-time SECONDS allows more"});
  }
  const int status = *ended;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) {
    throw input_error("the picture is larger than " + std::to_string(isolation.memory() >> 20) + " MB",
                      {"--max-memory MB allows more"});
  }
  if (WIFSIGNALED(status)) {
    throw input_error("Graphviz crashed (" + signal_name(WTERMSIG(status)) + ")",
                      {"-f html and -f mermaid need no Graphviz"});
  }
  std::string said = first_line(messages.number());
  if (WEXITSTATUS(status) != 0)
    throw input_error("Graphviz could not draw it" + (said.empty() ? "" : ": " + said));
  return said;
}

void connect_graphviz(Output& output, const char* format, const IsolationArguments& isolation,
                      Console& console) {
  if (format == nullptr) return;
  if (std::string_view(format) == "png" && output.display() == "stdout" && console.out_is_terminal())
    throw usage_error("PNG is binary, and stdout is a terminal", {"-o picture.png writes it to a file"});
  output.set_filter([graphviz = Graphviz(), format, &isolation, &console](int dot_text, int picture) {
    graphviz.draw(format, dot_text, picture, isolation, console);
  });
}

}  // namespace fxtrace::internal::cli
