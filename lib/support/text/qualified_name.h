// Qualified names of modules, parameters and types.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

// A name of parts separated by dots; a dot after a backslash belongs to a part: "a.b\.c" has the parts "a"
// and "b\.c".  The root's name is empty and has no parts.  This is a view: the text must outlive it.
class QualifiedName {
 public:
  explicit QualifiedName(std::string_view text) : text_(text) {}

  // Returns "a.b" for "a.b.c"; "" for a name of one part.
  std::string_view parent() const {
    const std::size_t dot = last_dot();
    return text_.substr(0, dot == kNone ? 0 : dot);
  }
  // Returns "c" for "a.b.c"; a name of one part as it is.
  std::string_view last() const {
    const std::size_t dot = last_dot();
    return text_.substr(dot == kNone ? 0 : dot + 1);
  }
  std::vector<std::string_view> parts() const {
    std::vector<std::string_view> found;
    std::size_t start = 0;
    for_each_prefix([&](std::string_view prefix) {
      found.push_back(prefix.substr(start));
      start = prefix.size() + 1;
    });
    return found;
  }
  // Calls f("a"), f("a.b"), f("a.b.c").
  template <class F>
  void for_each_prefix(F&& f) const {
    if (text_.empty()) return;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (is_dot(i)) f(text_.substr(0, i));
    }
    f(text_);
  }
  // Returns whether this name is nested in `outer`, at any depth; all names but the root's are nested in the
  // root's.
  bool is_below(std::string_view outer) const {
    if (outer.empty()) return !text_.empty();
    return text_.size() > outer.size() && text_[outer.size()] == '.' && text_.starts_with(outer);
  }
  // Returns the name relative to `outer`: "b.c" for "a.b.c" below "a"; the whole name when it is not below.
  std::string_view below(std::string_view outer) const {
    return outer.empty() || !is_below(outer) ? text_ : text_.substr(outer.size() + 1);
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;

  bool is_dot(std::size_t at) const { return text_[at] == '.' && (at == 0 || text_[at - 1] != '\\'); }
  std::size_t last_dot() const {
    for (std::size_t i = text_.size(); i-- > 0;) {
      if (is_dot(i)) return i;
    }
    return kNone;
  }

  std::string_view text_;
};

// Escapes the dots of a name to make it one part: "b\.c" for "b.c".  Python's own modules have no such names,
// but passes that rewrite TorchScript archives make them.
inline std::string part_of_name(std::string_view name) {
  std::string part;
  for (const char c : name) part += c == '.' ? std::string("\\.") : std::string(1, c);
  return part;
}

// Reverses part_of_name().
inline std::string name_of_part(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i).starts_with("\\.")) ++i;
    name += part[i];
  }
  return name;
}

// Returns a path with "#" in place of each number: "h.#.attn" for "h.11.attn".
inline std::string without_numbers(std::string_view text) {
  std::string result;
  bool is_number = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit || !is_number) result += is_digit ? '#' : c;
    is_number = is_digit;
  }
  return result;
}

// Returns the name without the number at its end: "h.layer" of "h.layer12", "" of "12".
inline std::string_view without_last_number(std::string_view name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

// Returns a module's path for display; the root's path is empty.
inline std::string path_text(const std::string& path) { return path.empty() ? "(root)" : path; }

}  // namespace fxtrace::internal
