#include "archive/zip_writer.h"

#include <algorithm>
#include <streambuf>
#include <string_view>

#include <zlib.h>

namespace fxtrace::internal {
namespace {

constexpr std::uint64_t kMost32 = 0xFFFFFFFF;  // this and larger numbers are in a field of zip64
constexpr std::uint64_t kMost16 = 0xFFFF;
constexpr std::uint64_t kVersion = 20, kVersionOfZip64 = 45;  // the version of zip that a reader must know
constexpr std::uint64_t kIsUtf8 = 0x800;
constexpr std::uint64_t kFirstDay = 0x21;  // 1 January 1980, as there is no earlier one

// The fields of a header; integers are written with the lowest byte first.
class Fields {
 public:
  Fields& operator()(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }
  Fields& operator()(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::uint32_t crc_of(std::string_view bytes, std::uint32_t crc = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));  // NOLINT: zlib's type
}

// A stream's buffer that counts bytes, and passes them on if there is a stream for it.
class Measure : public std::streambuf {
 public:
  explicit Measure(std::ostream* out) : out_(out) {}
  std::uint64_t size = 0;
  std::uint32_t crc = 0;

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    const std::string_view piece(bytes, static_cast<std::size_t>(count));
    size += piece.size();
    if (out_ == nullptr)
      crc = crc_of(piece, crc);
    else
      out_->write(bytes, count);
    return count;
  }
  int_type overflow(int_type byte) override {
    const char one = traits_type::to_char_type(byte);
    xsputn(&one, 1);
    return byte;
  }

 private:
  std::ostream* out_;
};

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  place_ += bytes.size();
}

void ZipWriter::begin(const std::string& name, std::uint64_t size, std::uint32_t crc) {
  records_.push_back({name, size, place_, crc});
  const bool is_large = size >= kMost32;
  Fields header;
  header("PK\x03\x04")(is_large ? kVersionOfZip64 : kVersion, 2)(kIsUtf8, 2)(0, 2)(0, 2)(kFirstDay, 2);
  header(crc, 4)(is_large ? kMost32 : size, 4)(is_large ? kMost32 : size, 4);
  // PyTorch's extra field is padding, which aligns the content so that it can be mapped into memory.
  constexpr std::uint64_t kAlignment = 64, kFieldHeader = 4, kZip64 = 20;
  const std::uint64_t others = is_large ? kZip64 : 0;
  const std::uint64_t behind = place_ + header.text().size() + 4 + name.size() + others + kFieldHeader;
  const std::uint64_t padding = (kAlignment - behind % kAlignment) % kAlignment;
  header(name.size(), 2)(others + kFieldHeader + padding, 2)(name);
  if (is_large) header(1, 2)(16, 2)(size, 8)(size, 8);
  header("FB")(padding, 2)(std::string(padding, 'Z'));
  write(header.text());
}

void ZipWriter::add(const std::string& name, std::string_view content) {
  begin(name, content.size(), crc_of(content));
  write(content);
}

void ZipWriter::add(const std::string& name, const ModelFile& file, std::uint64_t offset, std::uint64_t size,
                    std::optional<std::uint32_t> crc) {
  if (!crc) {
    crc = 0;
    file.for_each_piece(offset, size, [&](std::string_view piece) { crc = crc_of(piece, *crc); });
  }
  begin(name, size, *crc);
  file.for_each_piece(offset, size, [&](std::string_view piece) { write(piece); });
}

void ZipWriter::add(const std::string& name, const std::function<void(std::ostream&)>& write) {
  Measure measure(nullptr);
  std::ostream measured(&measure);
  write(measured);
  begin(name, measure.size, measure.crc);
  Measure passed(&out_);
  std::ostream copy(&passed);
  write(copy);
  place_ += passed.size;
}

void ZipWriter::finish() {
  const std::uint64_t start = place_;
  for (const Record& record : records_) {
    const bool is_large = record.size >= kMost32;
    const bool is_far = record.place >= kMost32;
    Fields more;  // of zip64, in this order
    if (is_large) more(record.size, 8)(record.size, 8);
    if (is_far) more(record.place, 8);
    const std::uint64_t version = more.text().empty() ? kVersion : kVersionOfZip64;
    Fields entry;
    entry("PK\x01\x02")(version, 2)(version, 2)(kIsUtf8, 2)(0, 2)(0, 2)(kFirstDay, 2)(record.crc, 4);
    entry(is_large ? kMost32 : record.size, 4)(is_large ? kMost32 : record.size, 4);
    entry(record.name.size(), 2)(more.text().empty() ? 0 : more.text().size() + 4, 2)(0, 2)(0, 2)(0, 2)(0, 4);
    entry(is_far ? kMost32 : record.place, 4)(record.name);
    if (!more.text().empty()) entry(1, 2)(more.text().size(), 2)(more.text());
    write(entry.text());
  }
  const std::uint64_t size = place_ - start;
  const std::uint64_t count = records_.size();
  const std::uint64_t end = place_;
  Fields last;
  const bool is_zip64 = count >= kMost16 || size >= kMost32 || start >= kMost32;
  if (is_zip64) {
    constexpr std::uint64_t kRest = 44;  // bytes of the end of zip64 behind this number
    last("PK\x06\x06")(kRest, 8)(kVersionOfZip64, 2)(kVersionOfZip64, 2)(0, 4)(0, 4);
    last(count, 8)(count, 8)(size, 8)(start, 8);
    last("PK\x06\x07")(0, 4)(end, 8)(1, 4);
  }
  last("PK\x05\x06")(0, 2)(0, 2)(std::min(count, kMost16), 2)(std::min(count, kMost16), 2);
  last(std::min(size, kMost32), 4)(std::min(start, kMost32), 4)(0, 2);
  write(last.text());
}

}  // namespace fxtrace::internal
