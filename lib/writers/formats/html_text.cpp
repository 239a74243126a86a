#include "writers/formats/html_text.h"

#include "support/text/printable.h"

namespace fxtrace::internal {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    const std::string_view entity = entity_of(static_cast<unsigned char>(c));
    entity.empty() ? out += c : out += entity;
  }
  return out;
}

std::string html_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    switch (c) {
      case '"':
      case '\\':
        out += '\\';
        out += c;
        break;
      case '<':
        out += "\\u003c";
        break;
      default:
        out += c;
    }
  }
  return out + '"';
}

}  // namespace fxtrace::internal
