// The console: the streams of one run, and the format of messages on stderr.
#pragma once

#include <cstddef>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include <sys/types.h>

#include "fxtrace/listener.h"
#include "support/error.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal::cli {

// Identifies a file independently of paths and links.
struct FileIdentity {
  dev_t device;
  ino_t inode;
  bool operator==(const FileIdentity&) const = default;
};

class Console {
 public:
  Console(std::istream& in, std::ostream& out, std::ostream& err);

  std::istream& in() { return in_; }
  std::ostream& out() { return out_; }
  std::ostream& err() { return err_; }
  bool colour() const { return colour_; }  // stderr is a terminal and NO_COLOR is not set
  bool out_is_terminal() const { return out_is_terminal_; }
  // Whether stdout is a terminal and NO_COLOR is not set, and the number of its columns; any width if it is
  // not a terminal.
  bool out_colour() const { return out_colour_; }
  std::size_t out_width() const { return out_width_; }
  // Whether this process is fxtrace itself (not a test), and the streams are those of the process.
  bool owns_process() const { return owns_process_; }

  // Records a file that was read besides the models, such as rules: no output may replace it.
  void has_read(const std::string& name);
  struct ReadFile {
    std::string name;
    FileIdentity identity;
  };
  const std::vector<ReadFile>& files_read() const { return files_read_; }

  // Writes one line, "fxtrace: ...", with unprintable characters escaped (support/text/unicode.h).
  void note(const std::string& message);
  // Writes advice for the user: "note: ...", "hint: ...".
  void remark(const char* kind, const std::string& message);
  void warning(const std::string& message);
  void error(const Error& error);

 private:
  std::string label(const char* text, const char* colour) const;

  std::istream& in_;
  std::ostream& out_;
  std::ostream& err_;
  bool colour_ = false, out_colour_ = false, out_is_terminal_ = false, owns_process_ = false;
  std::size_t out_width_ = TextLayout::kAny;
  std::vector<ReadFile> files_read_;
};

// Returns a listener that writes to the console, which must outlive it; progress goes to the log.
Listener listener_of(Console& console);

}  // namespace fxtrace::internal::cli
