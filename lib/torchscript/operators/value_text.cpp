#include "torchscript/operators/value_text.h"

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>

#include "torchscript/operators/plain_call.h"

namespace fxtrace::internal::torchscript {
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
