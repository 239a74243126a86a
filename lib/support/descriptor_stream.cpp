#include "support/descriptor_stream.h"

#include <array>
#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace fxtrace::internal {

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 1 << 16> bytes{};
  while (true) {
    const ssize_t count = ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

void DescriptorStream::Buffer::write_all(const char* text, std::size_t size) {
  if (size > left_) throw TooMuchOutput();
  left_ -= size;
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::system_error(errno, std::generic_category());
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

void DescriptorStream::Buffer::flush() {
  const char* start = pbase();
  const auto size = static_cast<std::size_t>(pptr() - start);
  clear();
  write_all(start, size);
}

DescriptorStream::Buffer::int_type DescriptorStream::Buffer::overflow(int_type c) {
  flush();
  return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c)
                                                         : sputc(traits_type::to_char_type(c));
}

std::streamsize DescriptorStream::Buffer::xsputn(const char* text, std::streamsize size) {
  if (size < epptr() - pptr()) return std::streambuf::xsputn(text, size);
  flush();
  write_all(text, static_cast<std::size_t>(size));
  return size;
}

int DescriptorStream::Buffer::sync() {
  flush();
  return 0;
}

}  // namespace fxtrace::internal
