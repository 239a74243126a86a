// Node names by the rules of PyTorch's torch/fx/graph.py (BSD-3-Clause, see NOTICE).
#include "graph/namespace.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "operators/target.h"
#include "support/text/identifier.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// torch.fx's illegal names (torch/fx/graph.py, _illegal_names): Python's keywords, everything in the
// builtins module of Python 3.11 to 3.13, and the names that generated code imports.
constexpr std::string_view kIllegalNames =
    "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError "
    "BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError "
    "ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning "
    "EnvironmentError Exception ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError "
    "FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError "
    "InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError "
    "ModuleNotFoundError NameError None NoneType NotADirectoryError NotImplemented NotImplementedError "
    "OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError "
    "PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning "
    "StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError "
    "TimeoutError True TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError "
    "UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError "
    "_IncompleteInputError __build_class__ __debug__ __doc__ __import__ __loader__ __name__ __package__ "
    "__spec__ abs aiter all and anext any as ascii assert async await bin bool break breakpoint bytearray "
    "bytes callable chr class classmethod compile complex continue copyright credits def del delattr device "
    "dict dir divmod elif else enumerate eval except exec exit filter finally float for format from "
    "frozenset fx_pytree getattr global globals hasattr hash help hex id if import in inf input int is "
    "isinstance issubclass iter lambda len license list locals map max memoryview min nan next nonlocal not "
    "object oct open or ord pass pow print property pytree quit raise range repr return reversed round set "
    "setattr slice sorted staticmethod str sum super torch try tuple type vars while with yield zip";

bool is_illegal(std::string_view name) {
  static const auto names = words_of(kIllegalNames);
  return names.contains(name);
}

// Character classes of the C locale, whatever the program's locale is.
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Replaces runs of characters that are not allowed in identifiers by one "_"; the result is an identifier.
std::string to_identifier(std::string_view candidate) {
  std::string name;
  name.reserve(candidate.size() + 1);
  bool in_run = false;
  for (const char c : candidate) {
    if (is_word(c)) {
      name.push_back(c);
    } else if (!in_run) {
      name.push_back('_');
    }
    in_run = !is_word(c);
  }
  if (name.empty()) name = "_unnamed";
  if (is_digit(name.front())) name.insert(name.begin(), '_');
  return name;
}

struct Split {
  std::string base;
  std::int64_t number = -1;  // -1: the name has no number
};

// Splits "add_1" into the base "add" and the number 1; "_1" and "add1" have no number.  Numbers of more than
// eighteen digits, which might not fit, are part of the base.
Split split_number(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  const std::size_t length = name.size() - digits;
  if (length == 0 || length > 18 || digits < 2 || name[digits - 1] != '_') return {name, -1};
  return {name.substr(0, digits - 1), std::stoll(name.substr(digits))};
}

// Converts as torch.fx's _snake_case does: an upper-case letter behind a lower-case one gets a "_" before
// it.
std::string snake_case(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 4);
  char previous = '\0';
  for (const char c : text) {
    if (is_upper(c)) {
      if (is_lower(previous)) out.push_back('_');
      out.push_back(static_cast<char>(c - 'A' + 'a'));
    } else {
      out.push_back(c);
    }
    previous = c;
  }
  return out;
}

std::string_view strip_magic(std::string_view name) {
  if (!name.starts_with("__") || !name.ends_with("__")) return name;
  return name.size() > 4 ? name.substr(2, name.size() - 4) : std::string_view{};
}

}  // namespace

std::string Namespace::create(std::string_view candidate) {
  std::string name = to_identifier(candidate);
  auto [base, number] = split_number(name);

  std::int64_t& count = count_.try_emplace(base, -1).first->second;
  const std::int64_t old_count = count;
  if (number < 0 || !used_.insert(name).second) {
    number = std::max<std::int64_t>(old_count, 0);
    if (is_illegal(name)) name = base + "_" + std::to_string(++number);
    while (!used_.insert(name).second) name = base + "_" + std::to_string(++number);
  }

  count = number;
  log_.push_back({name, base.size(), old_count});
  return name;
}

void Namespace::roll_back(std::size_t mark) {
  while (log_.size() > mark) {
    const Entry& entry = log_.back();
    used_.erase(entry.name);
    const std::string base = entry.name.substr(0, entry.base_length);
    if (entry.old_count < 0) {
      count_.erase(base);
    } else {
      count_[base] = entry.old_count;
    }
    log_.pop_back();
  }
}

std::string name_candidate(std::string_view target, bool is_function) {
  return snake_case(strip_magic(is_function ? parse_target(target).name : target));
}

bool is_name_from(std::string_view name, std::string_view target) {
  const std::string base = split_number(std::string(name)).base;
  const std::string candidate = name_candidate(target, true);
  const std::string_view overload = parse_target(target).overload;
  return base == candidate || base == candidate + "_" + snake_case(overload);
}

}  // namespace fxtrace::internal
