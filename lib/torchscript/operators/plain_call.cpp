#include "torchscript/operators/plain_call.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>

#include "shapes/tensor_options.h"
#include "support/text/words.h"

namespace fxtrace::internal::torchscript {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

using Refused = std::optional<Refusal>;

Refusal raises(std::string why) { return {RefusalKind::kRaised, std::move(why)}; }
Refusal no_answer(std::string why) { return {RefusalKind::kUnsupported, std::move(why)}; }

bool are_ints(Arguments arguments) { return std::ranges::all_of(arguments, &Value::is_int); }
bool is_text(Arguments arguments, std::size_t i) { return i < arguments.size() && arguments[i].is_string(); }
bool is_int(Arguments arguments, std::size_t i) { return i < arguments.size() && arguments[i].is_int(); }

// These functions refuse arguments for which LibTorch's arithmetic would end the process, or not end.  They
// give Python's errors.

Refused check_division(Arguments arguments) {
  if (arguments.size() != 2 || !are_ints(arguments)) return std::nullopt;
  if (arguments[1].to_int() == 0) return raises("ZeroDivisionError: division by zero");
  if (arguments[1].to_int() == -1 && arguments[0].to_int() == kLeast)
    return raises("OverflowError: the quotient has more than 64 bits");
  return std::nullopt;
}

Refused check_shift(Arguments arguments) {
  constexpr std::int64_t kBits = 64;
  if (arguments.size() != 2 || !are_ints(arguments)) return std::nullopt;
  if (arguments[1].to_int() < 0) return raises("ValueError: negative shift count");
  if (arguments[1].to_int() >= kBits) return raises("OverflowError: a shift by 64 bits or more");
  return std::nullopt;
}

Refused check_gcd(Arguments arguments) {
  const auto is_least = [](const Value& value) { return value.is_int() && value.to_int() == kLeast; };
  if (std::ranges::none_of(arguments, is_least)) return std::nullopt;
  return raises("OverflowError: gcd of a number whose negative has more than 64 bits");
}

Refused check_factorial(Arguments arguments) {
  constexpr std::int64_t kLargest = 20;
  if (!is_int(arguments, 0) || arguments[0].to_int() <= kLargest) return std::nullopt;
  return raises("OverflowError: factorial(" + std::to_string(arguments[0].to_int()) +
                ") has more than 64 bits");
}

Refused check_integer(double number) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(number)) return raises("ValueError: cannot convert float NaN to integer");
  if (number >= kLimit || number < -kLimit)
    return raises("OverflowError: the float has more than 64 bits as an integer");
  return std::nullopt;
}

// Refuses floats that cannot be converted to int64.
Refused check_conversion(Arguments arguments) {
  if (arguments.empty() || !arguments[0].is_double()) return std::nullopt;
  return check_integer(arguments[0].to_double());
}

Refused check_power(Arguments arguments) {
  if (arguments.size() != 2 || !are_ints(arguments)) return std::nullopt;
  const double power =
      std::pow(static_cast<double>(arguments[0].to_int()), static_cast<double>(arguments[1].to_int()));
  if (std::isfinite(power)) return check_integer(power);
  return raises("OverflowError: the power has more than 64 bits");
}

Refused check_range(Arguments arguments) {
  constexpr std::size_t kParts = 3;  // from, to, step
  if (arguments.size() != kParts || !are_ints(arguments)) return std::nullopt;
  const std::int64_t step = arguments[2].to_int();
  if (step == 0) return raises("ValueError: range() arg 3 must not be zero");
  std::int64_t distance = 0;
  const bool fits = !__builtin_sub_overflow(arguments[1].to_int(), arguments[0].to_int(), &distance) &&
                    distance != kLeast && step != kLeast;
  return fits ? std::nullopt : Refused(raises("OverflowError: a range of more than 63 bits"));
}

Refused check_search(Arguments arguments) {
  if (search_steps(arguments) <= kMaxSearch) return std::nullopt;
  return Refusal{RefusalKind::kLimit, "the search for a string in a string is too long"};
}

// Refuses an empty pattern, for which LibTorch would search for ever.
Refused check_pattern(Arguments arguments) {
  if (!is_text(arguments, 0) || !is_text(arguments, 1) || !arguments[1].to_string().empty())
    return check_search(arguments);
  return no_answer("the string to search for is empty");
}

Refused check_separator(Arguments arguments) {
  if (is_text(arguments, 1) && arguments[1].to_string().empty()) return raises("ValueError: empty separator");
  return check_search(arguments);
}

// Refuses a negative width, which LibTorch takes for a large one.
Refused check_width(Arguments arguments) {
  if (!is_int(arguments, 1) || arguments[1].to_int() >= 0) return std::nullopt;
  return no_answer("the width is negative");
}

// Returns whether the value, with its nested lists and tuples, may have a NaN; true also when it is too large
// or too deep to be searched.
bool has_nan(const Value& value, std::size_t depth, std::size_t& looked) {
  if (value.is_double()) return std::isnan(value.to_double());
  if (!value.is_list() && !value.is_tuple()) return false;
  if (depth == kMaxValueDepth || ++looked > kMaxPlainSize) return true;
  return std::ranges::any_of(value.items(),
                             [&](const Value& item) { return has_nan(item, depth + 1, looked); });
}

// Refuses lists with NaN, which has no order: std::sort would read beyond the list.
Refused check_order(Arguments arguments) {
  std::size_t looked = 0;
  if (std::ranges::none_of(arguments, [&](const Value& value) { return has_nan(value, 0, looked); }))
    return std::nullopt;
  return no_answer("a list with NaN is sorted");
}

Refused check_dtypes(Arguments arguments) {
  for (const Value& value : arguments) {
    if (value.is_int() && !find_scalar_type(value.to_int()))
      return raises("an argument is not the number of a dtype");
  }
  return std::nullopt;
}

using Check = Refused (*)(Arguments);
struct CheckRow {
  std::string_view names;  // with spaces between them
  Check check;
};

constexpr CheckRow kChecks[] = {
    {"aten::Int aten::ceil aten::floor aten::trunc", check_conversion},
    {"aten::can_cast aten::promote_types", check_dtypes},
    {"aten::factorial", check_factorial},
    {"aten::gcd", check_gcd},
    {"aten::sort aten::sorted", check_order},
    {"aten::count aten::replace", check_pattern},
    {"aten::pow", check_power},
    {"aten::__range_length", check_range},
    {"aten::__contains__ aten::find aten::index aten::lstrip aten::rfind aten::rindex aten::rstrip "
     "aten::strip",
     check_search},
    {"aten::partition aten::rpartition aten::rsplit aten::split", check_separator},
    {"aten::__lshift__ aten::__rshift__", check_shift},
    {"aten::center aten::expandtabs aten::ljust aten::rjust aten::zfill", check_width},
};

// Returns whether the result would be larger than anything that a model has reason to make.
bool is_excessive(std::string_view name, Traits traits, Arguments arguments) {
  std::size_t size = 1;
  std::int64_t number = 1;
  bool numbers_alone = true;
  for (const Value& value : arguments) {
    if (value.is_list()) size = std::max(size, value.items().size());
    if (value.is_string()) size = std::max(size, value.to_string().size());
    if (value.is_int()) number = std::max(number, value.to_int());
    numbers_alone = numbers_alone && !value.is_list() && !value.is_string();
  }
  if ((traits & traits::kRepeats) != 0) {
    if (numbers_alone && name == "aten::mul") return false;
    return static_cast<std::uint64_t>(number) > kMaxPlainSize / size;
  }
  constexpr std::size_t kFactor = 16;
  return (traits & traits::kJoins) != 0 && size > kMaxPlainSize / kFactor;
}

}  // namespace

std::size_t search_steps(Arguments arguments) {
  if (!is_text(arguments, 0) || !is_text(arguments, 1)) return 0;
  return arguments[0].to_string().size() * arguments[1].to_string().size();
}

Refusal too_large() {
  return {RefusalKind::kLimit,
          "a list or string of more than " + std::to_string(kMaxPlainSize) + " elements"};
}

bool is_too_large(const Value& value) {
  return (value.is_string() && value.to_string().size() > kMaxPlainSize) ||
         (value.is_list() && value.items().size() > kMaxPlainSize) ||
         (value.is_dict() && value.to_dict().size() > kMaxPlainSize);
}

std::optional<Refusal> find_refusal(std::string_view base_name, Traits traits, Arguments arguments) {
  if (is_excessive(base_name, traits, arguments)) return too_large();
  if ((traits & traits::kDivides) != 0) {
    if (auto refusal = check_division(arguments)) return refusal;
  }
  static const auto checks = [] {
    std::unordered_map<std::string_view, Check> by_name;
    for (const CheckRow& row : kChecks) {
      for_each_word(row.names, [&](std::string_view name) { by_name.emplace(name, row.check); });
    }
    return by_name;
  }();
  const auto found = checks.find(base_name);
  return found != checks.end() ? found->second(arguments) : std::nullopt;
}

namespace {

void print_float(std::ostream& out, double number) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (number >= -kLimit && number < kLimit) {
    const auto whole = static_cast<std::int64_t>(number);
    if (static_cast<double>(whole) == number) {
      out << whole << '.';
      return;
    }
  }
  const auto precision = out.precision();
  out << std::setprecision(std::numeric_limits<double>::max_digits10) << number
      << std::setprecision(precision);
}

class Printer {
 public:
  explicit Printer(std::ostream& out) : out_(out) {}

  void print(const Value& value) {
    if (depth_ == kMaxValueDepth) throw Raised("a value is nested too deep", RefusalKind::kLimit);
    if (++count_ > kMaxPlainSize) throw Raised("a value is too large to be printed", RefusalKind::kLimit);
    ++depth_;
    print_here(value);
    --depth_;
  }

 private:
  void print_here(const Value& value) {
    switch (value.kind()) {
      case ValueTag::kNone:
        out_ << "None";
        return;
      case ValueTag::kUninitialized:
        out_ << "Uninitialized";
        return;
      case ValueTag::kBool:
        out_ << (value.to_bool() ? "True" : "False");
        return;
      case ValueTag::kInt:
        out_ << value.to_int();
        return;
      case ValueTag::kDouble:
        print_float(out_, value.to_double());
        return;
      case ValueTag::kComplex:
        print_complex(value.to_complex());
        return;
      case ValueTag::kString:
        count_ += value.to_string().size() / kCharacters;
        out_ << value.to_string();
        return;
      case ValueTag::kDevice:
        out_ << value.to_device().text();
        return;
      case ValueTag::kList:
        out_ << '[';
        print_all(value.items());
        out_ << ']';
        return;
      case ValueTag::kTuple:
        out_ << '(';
        print_all(value.items());
        out_ << (value.items().size() == 1 ? ",)" : ")");
        return;
      case ValueTag::kDict:
        return print_dict(value.to_dict());
      case ValueTag::kEnum:
        out_ << "Enum<" << value.to_enum().type->name() << '.' << value.to_enum().name << '>';
        return;
      default:
        not_supported("LibTorch prints the address of this kind of value");
    }
  }

  void print_complex(std::complex<double> number) {
    print_float(out_, number.real());
    out_ << (number.imag() >= 0 ? '+' : '-');
    print_float(out_, std::abs(number.imag()));
    out_ << 'j';
  }

  void print_all(const std::vector<Value>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_ << ", ";
      print(items[i]);
    }
  }

  void print_dict(const DictValue& dict) {
    out_ << '{';
    bool first = true;
    for (const DictValue::Entry& entry : dict.entries()) {
      if (!first) out_ << ", ";
      first = false;
      print(entry.key);
      out_ << ": ";
      print(entry.value);
    }
    out_ << '}';
  }

  static constexpr std::size_t kCharacters = 16;  // of a string, counted as one value
  std::ostream& out_;
  std::size_t depth_ = 0, count_ = 0;
};

}  // namespace

void print(std::ostream& out, const Value& value) { Printer(out).print(value); }

std::string printed(const Value& value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  print(out, value);
  return out.str();
}

}  // namespace fxtrace::internal::torchscript
