#include "app/output/graphviz.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/process/child_process.h"
#include "app/process/lockdown.h"
#include "app/process/resource_limits.h"
#include "support/descriptor_stream.h"
#include "support/error.h"
#include "support/scope_guard.h"
#include "support/system.h"
#include "support/text/numbers.h"
#include "support/text/signal_name.h"
#include "support/text/unicode.h"

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
  end_with_parent();
  if (::getppid() != parent) std::raise(SIGKILL);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  if (isolation.seconds() != 0) set_limit(RLIMIT_CPU, isolation.seconds(), 1);
  if (isolation.memory() != 0) {
    if (kCountsMemory) set_limit(RLIMIT_DATA, isolation.memory());
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
  const Descriptor layout = memory_file();
  if (!layout) throw input_error(std::string("cannot run Graphviz: ") + std::strerror(errno));
  run({"-Kdot", "dot", dot_text, layout.number(), boxes}, isolation);
  const Descriptor with_titles = memory_file();
  if (!with_titles) throw input_error(std::string("cannot run Graphviz: ") + std::strerror(errno));
  rewrite(with_titles.number(), layout_with_titles_last(read_all(layout.number())));
  const std::string said = run({"-Knop2", format, with_titles.number(), picture, boxes}, isolation);
  if (said.find("too large") != std::string::npos)
    console.warning("the PNG is scaled down to the largest size that Graphviz draws; an SVG has any size");
}

std::string Graphviz::run(const Drawing& drawing, const IsolationArguments& isolation) const {
  const Descriptor messages = memory_file();
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

namespace {

constexpr auto kAttributes = std::to_array<std::string_view>(
    {"arrowsize", "bgcolor",   "color",    "fillcolor", "fontcolor", "fontname", "fontsize", "height",
     "label",     "labeljust", "labelloc", "margin",    "nodesep",   "pad",      "penwidth", "peripheries",
     "rankdir",   "ranksep",   "shape",    "size",      "style",     "tooltip"});
constexpr auto kShapes = std::to_array<std::string_view>({"box", "hexagon", "ellipse", "note"});
constexpr auto kTags = std::to_array<std::string_view>({"B", "BR", "FONT", "I"});
constexpr auto kTagAttributes = std::to_array<std::string_view>({"ALIGN", "COLOR", "POINT-SIZE"});

template <class Names>
bool is_in(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_of_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '-' || byte >= 0x80;
}

// Reads the tokens of DOT: https://graphviz.org/doc/info/lang.html.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string find_foreign() {
    while (skip_space(), !rest_.empty()) {
      const char c = rest_[0];
      if (rest_.starts_with("->") || rest_.starts_with("--")) {
        rest_.remove_prefix(2);
      } else if (is_of_name(c) || c == '"' || c == '<') {
        const auto name = token();
        if (!name) return problem_;
        if (skip_space(); !rest_.starts_with('=')) continue;
        rest_.remove_prefix(1);
        skip_space();
        const auto value = token();
        if (!value) return problem_;
        if (!is_in(kAttributes, *name)) return "the attribute " + quoted(*name);
        if (*name == "shape" && !is_in(kShapes, *value)) return "the shape " + quoted(*value);
        if (*name == "fontname" && *value != "\"Helvetica\"") return "the font " + quoted(*value);
      } else if (std::string_view("{}[];,").find(c) != std::string_view::npos) {
        rest_.remove_prefix(1);
      } else {
        return "the character " + quoted(rest_.substr(0, 1));
      }
    }
    return {};
  }

 private:
  static std::string quoted(std::string_view text) { return "'" + printable(text.substr(0, 60)) + "'"; }

  void skip_space() {
    const std::size_t end = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(end, rest_.size()));
  }

  // Returns the next token: a name, or a text in quotes or angle brackets, delimiters included.  Returns
  // nothing, and sets problem_, if it is not allowed.
  std::optional<std::string_view> token() {
    std::size_t size = 0;
    if (rest_.starts_with('"')) {
      for (size = 1; size < rest_.size() && rest_[size] != '"'; ++size) {
        if (rest_[size] == '\\') ++size;
      }
      ++size;
    } else if (rest_.starts_with('<')) {
      int open = 0;
      do {
        if (size == rest_.size()) break;
        if (rest_[size] == '<') ++open;
        if (rest_[size] == '>') --open;
        ++size;
      } while (open > 0);
      if (open > 0) size = rest_.size() + 1;
      if (size <= rest_.size() && !is_label(rest_.substr(1, size - 2))) return std::nullopt;
    } else {
      while (size < rest_.size() && is_of_name(rest_[size])) ++size;
    }
    if (size == 0 || size > rest_.size()) {
      problem_ = "a text that does not end";
      return std::nullopt;
    }
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }

  // Returns whether a label contains only text and tags that format it: no image, table or link.
  bool is_label(std::string_view html) {
    for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
      const std::size_t end = html.find('>', at);
      const std::string_view whole = html.substr(at, end - at + 1);
      if (!is_tag(whole.substr(1, whole.size() - 2))) {
        problem_ = "the tag " + quoted(whole);
        return false;
      }
      at = end;
    }
    return true;
  }

  // Returns whether a tag is allowed: B, /B, BR/ or FONT COLOR="red" POINT-SIZE="9".
  static bool is_tag(std::string_view tag) {
    if (tag.starts_with('/')) return is_in(kTags, tag.substr(1));
    if (tag.ends_with('/')) tag.remove_suffix(1);
    const std::size_t name = std::min(tag.find(' '), tag.size());
    if (!is_in(kTags, tag.substr(0, name))) return false;
    tag.remove_prefix(name);
    while (!tag.empty()) {
      const std::size_t open = tag.find("=\"");
      if (tag[0] != ' ' || open == std::string_view::npos || !is_in(kTagAttributes, tag.substr(1, open - 1)))
        return false;
      const std::size_t close = tag.find('"', open + 2);
      if (close == std::string_view::npos) return false;
      tag.remove_prefix(close + 1);
    }
    return true;
  }

  std::string_view rest_;
  std::string problem_;
};

}  // namespace

std::string find_foreign_dot(std::string_view text) { return Reader(text).find_foreign(); }

namespace {

template <class F>
void for_each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    f(text.substr(0, size));
    text.remove_prefix(size);
  }
}

// A cluster of a layout, while its lines are read.
struct Cluster {
  std::string_view fill = "white";  // the colour behind the title
  std::map<std::string_view, std::string_view> attributes;
};

}  // namespace

std::string svg_with_titles_last(std::string_view svg) {
  constexpr std::string_view kEnd = "</g>\n</svg>";
  constexpr std::string_view kText = "<text ";
  const std::size_t end = svg.rfind(kEnd);
  if (end == std::string_view::npos) return std::string(svg);
  std::string kept;
  std::string titles;
  bool is_title = false;
  for_each_line(svg.substr(0, end), [&](std::string_view line) {
    if (line.starts_with("<g id=\"clust")) is_title = true;
    if (line.starts_with("<g id=\"node") || line.starts_with("<g id=\"edge")) is_title = false;
    if (is_title && line.starts_with(kText)) {
      titles.append(kText)
          .append(R"(paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round" )")
          .append(line.substr(kText.size()));
    } else {
      kept += line;
    }
  });
  return kept + titles + std::string(svg.substr(end));
}

std::string layout_with_titles_last(std::string_view layout) {
  constexpr std::string_view kLabel = "label=<";
  constexpr std::string_view kLabelEnd = ">,\n";
  const std::size_t end = layout.rfind('}');
  if (end == std::string_view::npos) return std::string(layout);
  std::string kept;
  std::string titles;
  std::size_t count = 0;
  std::vector<Cluster> open;
  bool is_about_cluster = false;  // within the lines of its attributes
  for_each_line(layout.substr(0, end), [&](std::string_view line) {
    std::string_view words = line.substr(std::min(line.find_first_not_of('\t'), line.size() - 1));
    if (words.starts_with("subgraph ")) {
      open.push_back({open.empty() ? "white" : open.back().fill, {}});
    } else if (words == "}\n" && !open.empty()) {
      open.pop_back();
    } else if (words.starts_with("graph [") && !open.empty()) {
      is_about_cluster = true;
    } else if (is_about_cluster && words.starts_with(kLabel) && words.ends_with(kLabelEnd)) {
      open.back().attributes["label"] =
          words.substr(kLabel.size(), words.size() - kLabel.size() - kLabelEnd.size());
      // otherwise it inherits the label of the cluster around it
      kept.append(line.substr(0, line.size() - words.size())).append("label=\"\",\n");
      return;
    } else if (is_about_cluster && words.starts_with("];")) {
      is_about_cluster = false;
      Cluster& cluster = open.back();
      auto& has = cluster.attributes;
      if (const auto fill = has.find("fillcolor"); fill != has.end()) cluster.fill = fill->second;
      if (has.contains("label") && has.contains("lp") && has.contains("lwidth") && has.contains("lheight")) {
        titles += "\tt" + std::to_string(count++);
        titles += " [shape=plaintext, style=filled, margin=0, fixedsize=true, fontsize=12, fillcolor=\"";
        titles.append(cluster.fill).append("\", pos=\"").append(has["lp"]);
        titles.append("\", width=").append(has["lwidth"]).append(", height=").append(has["lheight"]);
        titles.append(", label=<").append(has["label"]).append(">];\n");
      }
    }
    if (is_about_cluster) {
      const std::size_t equals = words.find('=');
      const std::size_t value_end = words.find_last_not_of("\",\n");
      if (equals != std::string_view::npos && value_end != std::string_view::npos && value_end > equals) {
        std::string_view value = words.substr(equals + 1, value_end - equals);
        if (value.starts_with('"')) value.remove_prefix(1);
        open.back().attributes[words.substr(0, equals)] = value;
      }
    }
    kept += line;
  });
  return kept + "\tgraph [outputorder=edgesfirst];\n" + titles + std::string(layout.substr(end));
}

}  // namespace fxtrace::internal::cli
