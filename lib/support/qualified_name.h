// Qualified names of modules, parameters and types.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// Parts with dots between them; a dot behind a backslash belongs to a part: "a.b\.c" has the parts "a" and
// "b\.c".  The root's name is empty and has none.  A view: the text must outlive it.
class QualifiedName {
 public:
  explicit QualifiedName(std::string_view text) : text_(text) {}

  // "a.b" of "a.b.c"; "" of a name of one part.
  std::string_view parent() const {
    const std::size_t dot = last_dot();
    return text_.substr(0, dot == kNone ? 0 : dot);
  }
  // "c" of "a.b.c", and a name of one part itself.
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
  // Whether `outer` is a name in which this one is, however deep; all names but the root's are in the root's.
  bool is_below(std::string_view outer) const {
    if (outer.empty()) return !text_.empty();
    return text_.size() > outer.size() && text_[outer.size()] == '.' && text_.starts_with(outer);
  }
  // What stands behind `outer`: "b.c" of "a.b.c" below "a".  All of it where it is not below.
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

// The part for a name that may have dots: "b\.c" of "b.c".  Python's own modules have no such names; passes
// that rewrite TorchScript archives make them.
inline std::string part_of_name(std::string_view name) {
  std::string part;
  for (const char c : name) part += c == '.' ? std::string("\\.") : std::string(1, c);
  return part;
}

// The inverse.
inline std::string name_of_part(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i).starts_with("\\.")) ++i;
    name += part[i];
  }
  return name;
}

// The path of a module for people: the root's is empty.
inline std::string path_text(const std::string& path) { return path.empty() ? "(root)" : path; }

}  // namespace fxtrace
