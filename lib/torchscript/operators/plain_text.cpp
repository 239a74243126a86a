// Plain operators on strings, and conversions of values to strings and back, with the results of LibTorch.
// Strings are sequences of bytes, as there.
#include "torchscript/operators/plain_call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>

#include "opinfo/values/list_changes.h"

namespace fxtrace::internal::torchscript {
namespace {

// --- characters ---

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) { return is_upper(c) || is_lower(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char to_other(char c) { return is_upper(c) ? to_lower(c) : to_upper(c); }

template <bool (*Is)(char), bool OfEmpty = false>
Value all_are(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  return text.empty() ? OfEmpty : std::ranges::all_of(text, Is);
}

// Returns whether there is a letter, and all letters are of one case.
template <bool (*Is)(char)>
Value letters_are(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  return std::ranges::any_of(text, is_alpha) &&
         std::ranges::all_of(text, [](char c) { return !is_alpha(c) || Is(c); });
}

Value is_identifier(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_alnum);
}

Value is_title(Arguments arguments) {
  bool found = false, behind_letter = false;
  for (const char c : text_argument(arguments, 0)) {
    if (is_alpha(c) && behind_letter == is_upper(c)) return false;
    found = found || is_alpha(c);
    behind_letter = is_alpha(c);
  }
  return found;
}

template <char (*Map)(char)>
Value mapped(Arguments arguments) {
  std::string text = text_argument(arguments, 0);
  std::ranges::transform(text, text.begin(), Map);
  return text;
}

Value capitalize(Arguments arguments) {
  std::string text = text_argument(arguments, 0);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = i == 0 ? to_upper(text[i]) : to_lower(text[i]);
  return text;
}

Value title(Arguments arguments) {
  std::string text = text_argument(arguments, 0);
  bool behind_letter = false;
  for (char& c : text) {
    c = behind_letter ? to_lower(c) : to_upper(c);
    behind_letter = is_alpha(c);
  }
  return text;
}

// --- searches ---

struct Range {
  std::int64_t from, to;
};

// Reads the range of a search, arguments 2 and 3.  Negative ends count from the end of the text; -1 as the
// second end means the end of the text.
Range range_of(Arguments arguments, std::int64_t size) {
  std::int64_t from = int_argument(arguments, 2), to = int_argument(arguments, 3);
  if (from < 0) from = std::max<std::int64_t>(0, wrapped(bits(size) + bits(from)));
  if (to < 0) to = std::max<std::int64_t>(0, wrapped(bits(size) + bits(to) + 1));
  return {from, to};
}

// Does what std::string::substr does, with its message.
std::string_view piece_of(std::string_view text, std::int64_t from, std::int64_t size) {
  if (bits(from) > text.size()) {
    throw Raised("basic_string::substr: __pos (which is " + std::to_string(bits(from)) +
                 ") > this->size() (which is " + std::to_string(text.size()) + ")");
  }
  return text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(size));
}

std::int64_t find_text(Arguments arguments, bool from_behind) {
  const std::string& text = text_argument(arguments, 0);
  const std::string& wanted = text_argument(arguments, 1);
  const Range range = range_of(arguments, static_cast<std::int64_t>(text.size()));
  std::string_view piece;
  if (range.to > range.from) piece = piece_of(text, range.from, range.to - range.from);
  const auto place = from_behind ? piece.rfind(wanted) : piece.find(wanted);
  return place == std::string_view::npos ? -1 : static_cast<std::int64_t>(place) + range.from;
}

Value find(Arguments arguments) { return find_text(arguments, false); }
Value find_last(Arguments arguments) { return find_text(arguments, true); }

template <bool FromBehind>
Value index_of_text(Arguments arguments) {
  const std::int64_t place = find_text(arguments, FromBehind);
  if (place < 0) throw Raised("ValueError: substring not found");
  return place;
}

template <bool AtEnd>
Value starts_or_ends(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const std::string& wanted = text_argument(arguments, 1);
  const Range range = range_of(arguments, static_cast<std::int64_t>(text.size()));
  const std::string_view piece = piece_of(text, range.from, wrapped(bits(range.to) - bits(range.from)));
  return AtEnd ? piece.ends_with(wanted) : piece.starts_with(wanted);
}

// The pattern is not empty (plain_call.cpp).
Value count_text(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const std::string& wanted = text_argument(arguments, 1);
  const auto size = static_cast<std::int64_t>(text.size());
  if (int_argument(arguments, 2) > size) return 0;
  const Range range = range_of(arguments, size);
  std::int64_t found = 0;
  for (auto at = static_cast<std::size_t>(range.from);; at += wanted.size()) {
    at = text.find(wanted, at);
    if (at == std::string::npos || static_cast<std::int64_t>(at) >= range.to) return found;
    ++found;
  }
}

Value replace(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const std::string& old = text_argument(arguments, 1);
  const std::string& fresh = text_argument(arguments, 2);
  const std::int64_t most = int_argument(arguments, 3);
  std::string result;
  std::size_t from = 0;
  std::int64_t done = 0;
  for (auto at = text.find(old); at != std::string::npos; at = text.find(old, from)) {
    if (most >= 0 && ++done > most) break;
    result.append(text, from, at - from).append(fresh);
    from = at + old.size();
    if (result.size() > kMaxPlainSize) break;  // refused by the caller as too large
  }
  return result.append(text, from);
}

template <bool Left, bool Right>
Value strip(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const std::string& characters = text_argument(arguments, 1);
  const auto first = Left ? text.find_first_not_of(characters) : 0;
  const auto last = Right ? text.find_last_not_of(characters) : text.size() - 1;
  if (first == std::string::npos || last == std::string::npos) return "";
  return text.substr(first, last + 1 - first);
}

// --- splitting and joining ---

Value text_list(const std::vector<std::string>& texts) {
  return make_list(string_type(), std::vector<Value>(texts.begin(), texts.end()));
}

// Single bytes, as in LibTorch, including the bytes of two separators beyond ASCII (U+2028, U+2029).
constexpr std::string_view kLineEnds = "\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";
constexpr std::string_view kBlanks = " \t\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";

Value split_at_blanks(std::string_view text) {
  std::vector<std::string> pieces;
  for (auto from = text.find_first_not_of(kBlanks); from != std::string_view::npos;) {
    const auto to = std::min(text.find_first_of(kBlanks, from), text.size());
    pieces.emplace_back(text.substr(from, to - from));
    from = text.find_first_not_of(kBlanks, to);
  }
  return text_list(pieces);
}

Value split(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  if (argument(arguments, 1).is_none()) return split_at_blanks(text);
  const std::string& separator = text_argument(arguments, 1);
  const std::int64_t most = int_argument(arguments, 2);
  std::vector<std::string> pieces;
  std::size_t from = 0;
  for (auto at = text.find(separator); at != std::string::npos; at = text.find(separator, from)) {
    if (most >= 0 && static_cast<std::int64_t>(pieces.size()) == most) break;
    pieces.push_back(text.substr(from, at - from));
    from = at + separator.size();
  }
  pieces.push_back(text.substr(from));
  return text_list(pieces);
}

Value split_from_behind(Arguments arguments) {
  std::string_view text = text_argument(arguments, 0);
  const std::string& separator = text_argument(arguments, 1);
  const std::int64_t most = int_argument(arguments, 2);
  std::vector<std::string> pieces;
  for (auto at = text.rfind(separator); at != std::string_view::npos; at = text.rfind(separator)) {
    if (most >= 0 && static_cast<std::int64_t>(pieces.size()) == most) break;
    pieces.emplace_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  pieces.emplace_back(text);
  std::ranges::reverse(pieces);
  return text_list(pieces);
}

Value split_lines(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const bool keeps_ends = bool_argument(arguments, 1);
  std::vector<std::string> pieces;
  std::size_t from = 0;
  for (auto at = text.find_first_of(kLineEnds); at != std::string::npos;
       at = text.find_first_of(kLineEnds, from)) {
    pieces.push_back(text.substr(from, at - from));
    if (keeps_ends) pieces.push_back(text.substr(at, 1));
    from = at + 1;
  }
  if (from != text.size()) pieces.push_back(text.substr(from));
  return text_list(pieces);
}

template <bool FromBehind>
void partition(Arguments arguments, ResultValues& results) {
  const std::string& text = text_argument(arguments, 0);
  const std::string& separator = text_argument(arguments, 1);
  const auto at = FromBehind ? text.rfind(separator) : text.find(separator);
  if (at == std::string::npos) {
    for (int i = 0; i < 3; ++i) results.emplace_back(i == (FromBehind ? 2 : 0) ? text : std::string());
    return;
  }
  results.emplace_back(text.substr(0, at));
  results.emplace_back(separator);
  results.emplace_back(text.substr(at + separator.size()));
}

Value join(Arguments arguments) {
  const std::string& separator = text_argument(arguments, 0);
  std::string result;
  bool first = true;
  for (const Value& item : list_argument(arguments, 1).items) {
    if (!item.is_string()) not_supported("an item to join is not a str");
    if (!first) result += separator;
    first = false;
    result += item.to_string();
    if (result.size() > kMaxPlainSize) break;  // refused by the caller as too large
  }
  return result;
}

Value characters(Arguments arguments) {
  std::vector<std::string> pieces;
  for (const char c : text_argument(arguments, 0)) pieces.emplace_back(1, c);
  return text_list(pieces);
}

Value character_at(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t given = int_argument(arguments, 1), place = given < 0 ? given + size : given;
  if (bits(place) >= text.size()) {
    throw Raised("basic_string::at: __n (which is " + std::to_string(bits(place)) +
                 ") >= this->size() (which is " + std::to_string(text.size()) + ")");
  }
  return std::string(1, text[static_cast<std::size_t>(place)]);
}

Value slice_text(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const Slice piece_of = slice_argument(arguments, text.size());
  std::string result;
  for (std::int64_t i = 0; i < piece_of.count; ++i)
    result += text[static_cast<std::size_t>(piece_of.from + i * piece_of.step)];
  return result;
}

// --- padding; widths are neither negative nor too large (plain_call.cpp) ---

std::string fill_argument(Arguments arguments, std::size_t size) {
  if (text_argument(arguments, 2).size() != 1)
    throw Raised("TypeError: The fill character must be exactly one character long");
  return std::string(size, text_argument(arguments, 2)[0]);
}

std::size_t missing(Arguments arguments) {
  const std::size_t size = text_argument(arguments, 0).size();
  const auto width = static_cast<std::size_t>(int_argument(arguments, 1));
  return width > size ? width - size : 0;
}

Value justify_left(Arguments arguments) {
  return text_argument(arguments, 0) + fill_argument(arguments, missing(arguments));
}
Value justify_right(Arguments arguments) {
  return fill_argument(arguments, missing(arguments)) + text_argument(arguments, 0);
}
Value center(Arguments arguments) {
  const std::size_t all = missing(arguments);
  const bool more_on_left = int_argument(arguments, 1) % 2 != 0;
  const std::size_t left = more_on_left ? (all + 1) / 2 : all / 2;
  return fill_argument(arguments, left) + text_argument(arguments, 0) + fill_argument(arguments, all - left);
}
Value fill_with_zeros(Arguments arguments) {
  return std::string(missing(arguments), '0') + text_argument(arguments, 0);
}
Value expand_tabs(Arguments arguments) {
  const auto width = static_cast<std::size_t>(int_argument(arguments, 1));
  std::string result;
  for (const char c : text_argument(arguments, 0)) {
    if (c != '\t') {
      result += c;
    } else if (width != 0) {
      result.append(width - result.size() % width, ' ');
    }
    if (result.size() > kMaxPlainSize) break;  // refused by the caller as too large
  }
  return result;
}

// --- numbers as text ---

template <int Base, char Prefix>
Value in_base(Arguments arguments) {
  const std::int64_t number = int_argument(arguments, 0);
  const std::uint64_t size = number < 0 ? 0 - bits(number) : bits(number);
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, Base).ptr;
  return (std::string(number < 0 ? "-0" : "0") + Prefix).append(digits.data(), end);
}

Value character(Arguments arguments) {
  constexpr std::int64_t kCharacters = 0x110000;
  const std::int64_t number = int_argument(arguments, 0);
  if (number < 0 || number >= kCharacters)
    throw Raised("chr() arg not in range(0x110000), found " + std::to_string(number));
  return std::string(1, static_cast<char>(number));
}

Value code_of(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  if (text.size() != 1)
    throw Raised("String for ord() must be 1 character, found " + std::to_string(text.size()));
  return static_cast<std::int64_t>(static_cast<unsigned char>(text[0]));
}

Value as_text(Arguments arguments) { return printed(argument(arguments, 0)); }

Value format(Arguments arguments) {
  const std::string& form = text_argument(arguments, 0);
  std::ostringstream out;
  out.imbue(std::locale::classic());
  std::size_t from = 0, used = 1;
  for (auto at = form.find("{}"); at != std::string::npos; at = form.find("{}", from)) {
    out << std::string_view(form).substr(from, at - from);
    if (used >= arguments.size()) throw Raised("Too few arguments for format string: " + form);
    print(out, arguments[used++]);
    if (out.view().size() > kMaxPlainSize) break;  // refused by the caller as too large
    from = at + 2;
  }
  out << std::string_view(form).substr(from);
  return out.str();
}

// LibTorch's tags of values, in the order of ValueTag.
constexpr std::array kTags{"None",        "Uninitialized", "Bool",          "Int",
                           "Double",      "ComplexDouble", "String",        "Uninitialized",
                           "GenericList", "GenericDict",   "Tuple",         "Uninitialized",
                           "Enum",        "Device",        "Uninitialized", "Uninitialized"};

const char* tag_of(const Value& value) { return kTags.at(static_cast<std::size_t>(value.kind())); }

// Prints one directive.  Its settings of the stream stay for those after it, as in LibTorch.
void print_directive(std::ostream& out, char key, const Value& value) {
  constexpr int kPrecision = 6;
  const auto need_number = [&] {
    if (!value.is_scalar())
      throw Raised(std::string("%") + key + " requires a number for formatting, but got " + tag_of(value));
    if (!value.is_int() && !value.is_double())
      not_supported("a bool or a complex number is formatted as a number");
  };
  switch (key) {
    case 'd':
    case 'i': {
      need_number();
      if (value.is_int()) {
        out << value.to_int();
        return;
      }
      const double number = value.to_double();
      if (!(number > std::numeric_limits<int>::min() - 1.0 && number < std::numeric_limits<int>::max() + 1.0))
        not_supported("a float formatted as an int does not fit in 32 bits");
      out << static_cast<int>(number);
      return;
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
      need_number();
      out << std::setprecision(kPrecision);
      if (key == 'e' || key == 'E') {
        out << std::scientific;
      } else {
        out << std::fixed;
      }
      if (key == 'E') out << std::uppercase;
      out << (value.is_int() ? static_cast<float>(value.to_int()) : static_cast<float>(value.to_double()));
      return;
    case 'c':
      if (value.is_int()) {
        out << static_cast<char>(value.to_int());
      } else if (value.is_string() && value.to_string().size() == 1) {
        out << value.to_string();
      } else {
        throw Raised(std::string("%c requires an int or char for formatting, but got ") + tag_of(value));
      }
      return;
    case 's':
      return print(out, value);
    default:
      throw Raised(std::string("The specifier %") + key + " is not supported in TorchScript format strings");
  }
}

Value percent_format(Arguments arguments) {
  const std::string& form = text_argument(arguments, 0);
  const Value& given = argument(arguments, 1);
  const Arguments values = given.is_tuple() ? Arguments(given.items()) : arguments.subspan(1, 1);
  std::ostringstream out;
  out.imbue(std::locale::classic());
  std::size_t from = 0, used = 0;
  for (auto at = form.find('%'); at != std::string::npos; at = form.find('%', from)) {
    if (at + 1 == form.size()) throw Raised("Incomplete format specifier");
    out << std::string_view(form).substr(from, at - from);
    const char key = form[at + 1];
    from = at + 2;
    if (key == '%') {
      out << '%';
      continue;
    }
    if (used == values.size()) throw Raised("Too few arguments for format string");
    print_directive(out, key, values[used++]);
    if (out.view().size() > kMaxPlainSize) break;  // refused by the caller as too large
  }
  out << std::string_view(form).substr(from);
  if (used != values.size()) throw Raised("Too many arguments for format string");
  return out.str();
}

// --- numbers from text ---

// Uses strtoll and strtod, as LibTorch does: they skip blanks, and strtod reads hexadecimal numbers.
Value text_to_integer(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const auto wrong = [&] { return Raised("invalid literal for int() with base 10: '" + text + "'"); };
  char* end = nullptr;
  errno = 0;
  constexpr int kDecimal = 10;
  const std::int64_t number = std::strtoll(text.c_str(), &end, kDecimal);
  if (end == text.c_str() || errno == ERANGE) throw Raised("stoll");
  if (end != text.c_str() + text.size()) throw wrong();
  return number;
}

Value text_to_float(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || errno == ERANGE) throw Raised("stod");
  if (end != text.c_str() + text.size()) throw Raised("could not convert string to float: '" + text + "'");
  return number;
}

constexpr PlainRow kTextOperators[] = {
    {"aten::Int.str", gives<text_to_integer>},
    {"aten::Float.str", gives<text_to_float>},
    {"aten::isalnum", gives<all_are<is_alnum>>},
    {"aten::isalpha", gives<all_are<is_alpha>>},
    {"aten::isdecimal aten::isdigit aten::isnumeric", gives<all_are<is_digit>>},
    {"aten::isspace", gives<all_are<is_space>>},
    {"aten::isprintable", gives<all_are<is_printable, true>>},
    {"aten::isidentifier", gives<is_identifier>},
    {"aten::islower", gives<letters_are<is_lower>>},
    {"aten::isupper", gives<letters_are<is_upper>>},
    {"aten::istitle", gives<is_title>},
    {"aten::lower", gives<mapped<to_lower>>},
    {"aten::upper", gives<mapped<to_upper>>},
    {"aten::swapcase", gives<mapped<to_other>>},
    {"aten::capitalize", gives<capitalize>},
    {"aten::title", gives<title>},
    {"aten::find", gives<find>},
    {"aten::rfind", gives<find_last>},
    {"aten::index.str", gives<index_of_text<false>>},
    {"aten::rindex", gives<index_of_text<true>>},
    {"aten::startswith", gives<starts_or_ends<false>>},
    {"aten::endswith", gives<starts_or_ends<true>>},
    {"aten::count", gives<count_text>},
    {"aten::replace", gives<replace>},
    {"aten::strip", gives<strip<true, true>>},
    {"aten::lstrip", gives<strip<true, false>>},
    {"aten::rstrip", gives<strip<false, true>>},
    {"aten::split.str", gives<split>},
    {"aten::rsplit", gives<split_from_behind>},
    {"aten::splitlines", gives<split_lines>},
    {"aten::partition", partition<false>},
    {"aten::rpartition", partition<true>},
    {"aten::join", gives<join>},
    {"aten::list", gives<characters>},
    {"aten::__getitem__.str prim::StringIndex", gives<character_at>},
    {"aten::slice.str", gives<slice_text>},
    {"aten::ljust", gives<justify_left>},
    {"aten::rjust", gives<justify_right>},
    {"aten::center", gives<center>},
    {"aten::zfill", gives<fill_with_zeros>},
    {"aten::expandtabs", gives<expand_tabs>},
    {"aten::bin", gives<in_base<2, 'b'>>},
    {"aten::oct", gives<in_base<8, 'o'>>},
    {"aten::hex", gives<in_base<16, 'x'>>},
    {"aten::chr", gives<character>},
    {"aten::ord", gives<code_of>},
    {"aten::str", gives<as_text>},
    {"aten::format", gives<format>},
    {"aten::percentFormat", gives<percent_format>},
};

}  // namespace

PlainTable text_operators() { return kTextOperators; }

}  // namespace fxtrace::internal::torchscript
