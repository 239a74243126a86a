// Input from a file or a pipe, output to a file that is complete or not there.
#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string>

#include "app/console.h"

namespace fxtrace::cli {

// A model that can be opened by its path as often as needed.  What comes from a pipe ("-", a named pipe) is
// kept in a temporary file that disappears with this object, or with the process however it ends.
class InputFile {
 public:
  // Throws Error(kInput).
  InputFile(const std::string& name, std::istream& in);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }        // to open
  const std::string& display() const { return display_; }  // for messages
  std::string base_name() const;                           // "model.pt"; "-" for stdin

  // The error with the temporary file's path replaced by the name the user gave.
  Error with_display(const Error& error) const;

 private:
  void spool(std::istream& in);

  std::string path_, display_;
  int descriptor_ = -1;
};

// Calls write(stream) for `name`: "-" or "" is stdout, else a temporary file beside `name` that takes its
// place once everything is written.  When anything throws, `name` is as it was.  Throws Error(kInput) when it
// cannot be written.
void write_output(const std::string& name, Console& console, const std::function<void(std::ostream&)>& write);

// The whole of a small file.  Throws Error(kUsage, at the file).
std::string read_small_file(const std::string& path);

}  // namespace fxtrace::cli
