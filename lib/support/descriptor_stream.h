// An output stream over a file descriptor that reports the reason of failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <ostream>
#include <streambuf>
#include <string>

namespace fxtrace::internal {

class TooMuchOutput : public std::exception {};

// Returns the content of a descriptor's file from its beginning, as far as it can be read.
std::string read_all(int descriptor);

// Writes to an open descriptor, which it does not own.  A failed write throws std::system_error from the
// function that wrote to the stream; unwritten data is dropped.  More than `most` bytes throw
// TooMuchOutput.
class DescriptorStream : public std::ostream {
 public:
  explicit DescriptorStream(int descriptor, std::uint64_t most = UINT64_MAX)
      : std::ostream(nullptr), buffer_(descriptor, most) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

  int descriptor() const { return buffer_.descriptor(); }

 private:
  class Buffer : public std::streambuf {
   public:
    Buffer(int descriptor, std::uint64_t most) : descriptor_(descriptor), left_(most) { clear(); }
    int descriptor() const { return descriptor_; }

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

   private:
    void clear() { setp(bytes_.get(), bytes_.get() + kSize); }
    void write_all(const char* text, std::size_t size);
    void flush();

    static constexpr std::size_t kSize = 1 << 16;

    int descriptor_;
    std::uint64_t left_;  // bytes that may still be written
    std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kSize);
  };

  Buffer buffer_;
};

}  // namespace fxtrace::internal
