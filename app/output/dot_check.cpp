#include "app/output/dot_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "support/text/printable.h"

namespace fxtrace::internal::cli {
namespace {

constexpr auto kAttributes = std::to_array<std::string_view>(
    {"arrowsize", "bgcolor",     "color",     "fillcolor", "fontcolor", "fontname", "fontsize",
     "height",    "label",       "labeljust", "labelloc",  "margin",    "nodesep",  "pad",
     "penwidth",  "peripheries", "rankdir",   "ranksep",   "shape",     "style",    "tooltip"});
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

}  // namespace fxtrace::internal::cli
